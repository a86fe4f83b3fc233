//! `to_char` and `date_format` with patterns as Spark has them, besides chrono's.
//!
//! ```text
//! 'yyyy-MM-dd' --no % in it: Java's letters--> '%Y-%m-%d' -> DataFusion's to_char
//! '%Y-%m-%d'   --chrono's----------------------------------> DataFusion's to_char
//! ```

use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result as DFResult, ScalarValue};
use datafusion::functions::datetime::to_char::ToCharFunc;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ScalarFunctionArgs, ScalarUDFImpl, Signature,
};

use crate::{Error, Result};

/// DataFusion's function behind a translation of its patterns.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ToChar {
    inner: ToCharFunc,
}

impl ScalarUDFImpl for ToChar {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> DFResult<DataType> {
        self.inner.return_type(arg_types)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> DFResult<ColumnarValue> {
        // A duration's formats are names, not patterns.
        if let [value, pattern] = args.args.as_mut_slice()
            && !matches!(value.data_type(), DataType::Duration(_))
        {
            *pattern = translated(pattern)?;
        }
        self.inner.invoke_with_args(args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

fn translated(pattern: &ColumnarValue) -> Result<ColumnarValue> {
    Ok(match pattern {
        ColumnarValue::Scalar(ScalarValue::Utf8(Some(text))) => {
            ColumnarValue::Scalar(ScalarValue::Utf8(Some(chrono_pattern(text)?)))
        }
        ColumnarValue::Array(patterns) if patterns.data_type() == &DataType::Utf8 => {
            let patterns = patterns.as_string::<i32>().iter();
            let patterns = patterns.map(|text| text.map(chrono_pattern).transpose());
            ColumnarValue::Array(Arc::new(patterns.collect::<Result<StringArray>>()?))
        }
        other => other.clone(),
    })
}

/// A pattern in chrono's letters; one with a `%` has them already.
///
/// # Errors
/// A letter that has no counterpart, by its name.
fn chrono_pattern(pattern: &str) -> Result<String> {
    if pattern.contains('%') {
        return Ok(pattern.to_owned());
    }
    let mut translated = String::with_capacity(pattern.len() * 2);
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\'' => quoted(&mut rest, &mut translated),
            c if c.is_ascii_alphabetic() => {
                let mut count = 1;
                while rest.next_if_eq(&c).is_some() {
                    count += 1;
                }
                translated.push_str(field(c, count).ok_or_else(|| unknown(pattern, c, count))?);
            }
            c => translated.push(c),
        }
    }
    Ok(translated)
}

/// Text in quotes stands for itself, and two quotes for one.
fn quoted(rest: &mut Peekable<Chars<'_>>, translated: &mut String) {
    if rest.next_if_eq(&'\'').is_some() {
        return translated.push('\'');
    }
    while let Some(c) = rest.next() {
        if c == '\'' && rest.next_if_eq(&'\'').is_none() {
            return;
        }
        translated.push(c);
    }
}

/// What a run of one letter stands for.
fn field(letter: char, count: usize) -> Option<&'static str> {
    Some(match (letter, count) {
        ('y', 1 | 4) => "%Y",
        ('y', 2) => "%y",
        ('M' | 'L', 1) => "%-m",
        ('M' | 'L', 2) => "%m",
        ('M' | 'L', 3) => "%b",
        ('M' | 'L', 4) => "%B",
        ('d', 1) => "%-d",
        ('d', 2) => "%d",
        ('D', 1) => "%-j",
        ('D', 3) => "%j",
        ('E', 1..=3) => "%a",
        ('E', 4) => "%A",
        ('a', 1) => "%p",
        ('H', 1) => "%-H",
        ('H', 2) => "%H",
        ('h', 1) => "%-I",
        ('h', 2) => "%I",
        ('m', 1) => "%-M",
        ('m', 2) => "%M",
        ('s', 1) => "%-S",
        ('s', 2) => "%S",
        ('S', 3) => "%3f",
        ('S', 6) => "%6f",
        ('S', 9) => "%9f",
        ('Q' | 'q', 1) => "%q",
        ('Q' | 'q', 2) => "0%q",
        ('Q' | 'q', 3) => "Q%q",
        _ => return None,
    })
}

fn unknown(pattern: &str, letter: char, count: usize) -> Error {
    let run = String::from(letter).repeat(count);
    Error::invalid(format!(
        "{run} in the pattern '{pattern}' is not known: use yyyy yy MM MMM dd DDD HH hh mm ss SSS \
         SSSSSS a E EEEE Q, text in quotes, or a pattern like '%Y-%m-%d'"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letters_of_spark_become_those_of_chrono() {
        for (pattern, expected) in [
            ("yyyy-MM-dd HH:mm:ss.SSS", "%Y-%m-%d %H:%M:%S.%3f"),
            ("d.M.yy", "%-d.%-m.%y"),
            ("EEEE, d MMM yyyy h:mm a", "%A, %-d %b %Y %-I:%M %p"),
            ("yyyy-'Q'Q", "%Y-Q%q"),
            ("yyyy'T''x'''", "%YT'x'"),
            ("HH 'o''clock'", "%H o'clock"),
            ("%Y-MM", "%Y-MM"),
            ("-", "-"),
        ] {
            assert_eq!(chrono_pattern(pattern).unwrap(), expected, "{pattern}");
        }
    }

    #[test]
    fn a_letter_without_a_counterpart_is_named() {
        for (pattern, run) in [("YYYY-MM", "YYYY"), ("HH:mm z", "z"), ("ss.SS", "SS")] {
            let error = chrono_pattern(pattern).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{run} in the pattern")), "{error}");
        }
    }
}
