//! Names in SQL.

use std::fmt;

use partwise_stream::{Error, Result};

/// The schema of a table that is named without one.
const SCHEMA: &str = "public";
/// Bytes of a name; the server cuts longer ones off.
const LONGEST: usize = 63;

/// A name as it stands in SQL, whatever is in it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Names in a row, as they stand in SQL.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

/// Checks that the server doesn't cut a name off.
///
/// # Errors
/// A name that is too long.
pub(crate) fn check_length(name: &str) -> Result<()> {
    match name.len() {
        1..=LONGEST => Ok(()),
        _ => Err(Error::invalid(format!(
            "PostgreSQL's names have 1 to {LONGEST} bytes: give {name:?} a shorter one with AS"
        ))),
    }
}

/// A table by schema and name, each as the server keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableName {
    pub schema: String,
    pub name: String,
}

impl TableName {
    /// Reads `name`, `schema.name` and `"Any "".. name"`; what isn't quoted is taken in lower case.
    ///
    /// # Errors
    /// What is no name.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = || {
            Error::invalid(format!(
                "the option 'table' is {text:?}: it is schema.name, with \"..\" around what isn't \
                 plain"
            ))
        };
        let mut parts = Vec::new();
        let mut rest = text.trim();
        loop {
            let (part, after) = part(rest).ok_or_else(bad)?;
            check_length(&part)?;
            parts.push(part);
            match after.strip_prefix('.') {
                Some(after) => rest = after,
                None if after.is_empty() => break,
                None => return Err(bad()),
            }
        }
        let mut parts = parts.into_iter();
        match (parts.next(), parts.next(), parts.next()) {
            (Some(name), None, _) => Ok(Self { schema: SCHEMA.to_owned(), name }),
            (Some(schema), Some(name), None) => Ok(Self { schema, name }),
            _ => Err(bad()),
        }
    }

    /// Another table of the same schema.
    pub fn beside(&self, name: &str) -> Self {
        Self { schema: self.schema.clone(), name: name.to_owned() }
    }
}

/// A name at the beginning, and what comes behind it.
fn part(text: &str) -> Option<(String, &str)> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let end = text.find(|c| !plain(c)).unwrap_or(text.len());
        let digit = text.starts_with(|c: char| c.is_ascii_digit());
        return (end > 0 && !digit).then(|| (text[..end].to_lowercase(), &text[end..]));
    };
    let mut name = String::new();
    loop {
        let (before, after) = rest.split_once('"')?;
        name.push_str(before);
        match after.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return (!name.is_empty()).then_some((name, after)),
        }
    }
}

/// As it stands in SQL.
impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", quoted(&self.schema), quoted(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_sql_reads_them() {
        let read = |text: &str| {
            TableName::parse(text).map(|name| name.to_string()).map_err(|error| error.to_string())
        };
        assert_eq!(read("Trips").unwrap(), r#""public"."trips""#);
        assert_eq!(read(" Mart.Größe_2 ").unwrap(), r#""mart"."größe_2""#);
        assert_eq!(read(r#""My ""odd"" schema"."a.b""#).unwrap(), r#""My ""odd"" schema"."a.b""#);
        for bad in ["", ".", "a.", "a b", "a.b.c", "\"a", "\"\"", "1a", "a;DROP TABLE b"] {
            assert!(read(bad).unwrap_err().contains("'table'"), "{bad}");
        }
        assert!(read(&"x".repeat(64)).unwrap_err().contains("63 bytes"));
    }
}
