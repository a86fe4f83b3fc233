//! Scripts: several statements in one text, and `${name}` in them.

use std::collections::BTreeMap;

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, Tokenizer, Whitespace};

use crate::{Error, Result};

/// One statement of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptStatement {
    /// The statement without its semicolon, comments inside it kept.
    pub text: String,
    /// The line its first word stands on, counted from 1.
    pub line: usize,
    /// The comment lines since the statement before it, without their `--`.
    pub comments_before: Vec<String>,
}

/// Splits a script at its semicolons; strings, quoted names and comments are left alone.
///
/// # Errors
/// A string or comment that doesn't end, with its line.
pub fn split_statements(sql: &str) -> Result<Vec<ScriptStatement>> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql)
        .tokenize_with_location()
        .map_err(|e| Error::invalid(e.to_string()))?;
    let offsets = LineOffsets::of(sql);
    let mut statements = Vec::new();
    let mut comments = Vec::new();
    let mut first: Option<(usize, usize)> = None;
    for token in &tokens {
        match &token.token {
            Token::SemiColon => {
                if let Some((start, line)) = first.take() {
                    let text = sql[start..offsets.byte(token.span.start)].trim().to_owned();
                    let comments_before = std::mem::take(&mut comments);
                    statements.push(ScriptStatement { text, line, comments_before });
                }
            }
            Token::Whitespace(Whitespace::SingleLineComment { comment, .. }) if first.is_none() => {
                comments.push(comment.trim().to_owned());
            }
            Token::Whitespace(_) | Token::EOF => {}
            _ if first.is_none() => {
                let at = token.span.start;
                first = Some((offsets.byte(at), at.line as usize));
            }
            _ => {}
        }
    }
    if let Some((start, line)) = first {
        let text = sql[start..].trim().to_owned();
        statements.push(ScriptStatement { text, line, comments_before: comments });
    }
    Ok(statements)
}

/// The statement that a PREVIEW or an EXPLAIN is about, as it would stand alone; any other as it is.
pub(crate) fn without_preview(sql: &str) -> &str {
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location() else {
        return sql;
    };
    let is_one_of = |token: &Token, words: &[&str]| match token {
        Token::Word(word) => words.iter().any(|known| word.value.eq_ignore_ascii_case(known)),
        _ => false,
    };
    let mut words = tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_)));
    if !words.next().is_some_and(|first| is_one_of(&first.token, &["PREVIEW", "EXPLAIN"])) {
        return sql;
    }
    let begins = words.find(|t| is_one_of(&t.token, &["INSERT", "WITH", "CREATE", "COPY"]));
    begins.map_or(sql, |token| &sql[LineOffsets::of(sql).byte(token.span.start)..])
}

/// Where each line of a text starts, to turn a tokenizer's line and column into bytes.
struct LineOffsets<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineOffsets<'a> {
    fn of(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1));
        Self { text, starts: starts.collect() }
    }

    fn byte(&self, at: Location) -> usize {
        let Some(&start) = self.starts.get((at.line as usize).saturating_sub(1)) else {
            return self.text.len();
        };
        let rest = &self.text[start..];
        let column = (at.column as usize).saturating_sub(1);
        rest.char_indices().nth(column).map_or(self.text.len(), |(i, _)| start + i)
    }
}

/// Fills `${name}` from `variables`. Inside quotes the value is put as it is with quotes doubled;
/// outside, a number stays a number and anything else becomes a string literal.
///
/// # Errors
/// A name that isn't set, and a `${` that doesn't end.
pub fn substitute(sql: &str, variables: &BTreeMap<String, String>) -> Result<String> {
    fill(sql, |name, quote| match name {
        None => Err(Error::invalid("`${` without its closing `}`")),
        Some(name) => match variables.get(name) {
            Some(value) => Ok(Some(literal(value, quote))),
            None => Err(Error::invalid(format!(
                "${{{name}}} is not set: give it with --set {name}=VALUE"
            ))),
        },
    })
}

/// The same with a name that isn't set, and a `${` that doesn't end, left as they are.
pub fn substitute_set(sql: &str, variables: &BTreeMap<String, String>) -> String {
    let set = |name: Option<&str>, quote| {
        let value = name.and_then(|name| variables.get(name));
        Ok(value.map(|value| literal(value, quote)))
    };
    fill(sql, set).unwrap_or_else(|_| sql.to_owned())
}

/// Puts what `value_of` gives for each `${name}`, and for each `${` that doesn't end; none leaves
/// it.
fn fill(
    sql: &str,
    value_of: impl Fn(Option<&str>, Option<char>) -> Result<Option<String>>,
) -> Result<String> {
    let mut filled = String::with_capacity(sql.len());
    let mut quote: Option<char> = None;
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let mut end = c.len_utf8();
        let mut value = None;
        if quote.is_none() && rest.starts_with("--") {
            end = rest.find('\n').unwrap_or(rest.len());
        } else if let Some(after) = rest.strip_prefix("${") {
            let name = after.split_once('}').map(|(name, _)| name);
            value = value_of(name, quote)?;
            end = name.map_or(end, |name| "${}".len() + name.len());
        } else {
            quote = next_quote(quote, c);
        }
        filled.push_str(value.as_deref().unwrap_or(&rest[..end]));
        rest = &rest[end..];
    }
    Ok(filled)
}

fn next_quote(quote: Option<char>, c: char) -> Option<char> {
    match quote {
        Some(open) if open == c => None,
        None if c == '\'' || c == '"' => Some(c),
        other => other,
    }
}

/// A value as it stands inside quotes, or as a literal of its own.
fn literal(value: &str, quote: Option<char>) -> String {
    match quote {
        Some(open) => value.replace(open, &format!("{open}{open}")),
        None if value.parse::<f64>().is_ok_and(f64::is_finite) => value.to_owned(),
        None => format!("'{}'", value.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_in_strings_and_comments_do_not_split() {
        let script = "-- one; two\nSELECT 'a;b' -- c;d\n;\n\n-- next\nSELECT \"x;y\"; ;\n";
        let found = split_statements(script).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].text, "SELECT 'a;b' -- c;d");
        assert_eq!((found[0].line, found[1].line), (2, 6));
        assert_eq!(found[0].comments_before, vec!["one; two"]);
        assert_eq!(found[1].comments_before, vec!["next"]);
    }

    #[test]
    fn a_statement_is_the_same_behind_preview_and_explain() {
        for sql in [
            "INSERT INTO t SELECT 'EXPLAIN'",
            "PREVIEW INSERT INTO t SELECT 'EXPLAIN'",
            "-- PREVIEW of it\n explain analyze format tree INSERT INTO t SELECT 'EXPLAIN'",
        ] {
            assert_eq!(without_preview(sql), "INSERT INTO t SELECT 'EXPLAIN'");
        }
        assert_eq!(without_preview("SELECT 1 -- INSERT"), "SELECT 1 -- INSERT");
    }

    #[test]
    fn text_beyond_ascii_keeps_its_place() {
        let found = split_statements("SELECT 'é;ü'; SELECT 'ñ'").unwrap();
        assert_eq!(found[0].text, "SELECT 'é;ü'");
        assert_eq!(found[1].text, "SELECT 'ñ'");
    }

    #[test]
    fn a_variable_is_a_literal_where_it_stands_as_one() {
        let set = BTreeMap::from([
            ("day".to_owned(), "2024-01-15".to_owned()),
            ("n".to_owned(), "12".to_owned()),
            ("who".to_owned(), "O'Hara".to_owned()),
        ]);
        let filled = substitute("d = DATE ${day} AND n = ${n} AND w = ${who}", &set).unwrap();
        assert_eq!(filled, "d = DATE '2024-01-15' AND n = 12 AND w = 'O''Hara'");
        let filled = substitute("'${day}/x' '${who}' -- ${nothing}", &set).unwrap();
        assert_eq!(filled, "'2024-01-15/x' 'O''Hara' -- ${nothing}");
        let error = substitute("${nothing}", &set).unwrap_err();
        assert!(error.to_string().contains("--set nothing=VALUE"), "{error}");
    }

    #[test]
    fn what_is_not_set_can_be_left_as_it_is() {
        let set = BTreeMap::from([("day".to_owned(), "2024-01-15".to_owned())]);
        let filled = substitute_set("'${day} ${x}' || '${' -- ${day}", &set);
        assert_eq!(filled, "'2024-01-15 ${x}' || '${' -- ${day}");
    }
}
