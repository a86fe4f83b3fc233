//! `CREATE STREAM`, `DROP STREAM`.

use std::time::Duration;

use datafusion_sql::sqlparser::ast::{ColumnDef, Ident, ObjectName};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

use super::create::parse_options;
use super::needless::begins_with;
use super::{columns, interval};

/// `CREATE [OR REPLACE] STREAM [IF NOT EXISTS] s [(columns, WATERMARK FOR ts AS ts - INTERVAL ..)]
/// FROM kind ['path'] [OPTIONS (..)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateStream {
    /// The stream's name.
    pub name: ObjectName,
    /// `OR REPLACE`.
    pub or_replace: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// The declared columns; empty: the source tells them.
    pub columns: Vec<ColumnDef>,
    /// The column with the event time, and how late a row may be.
    pub watermark: Option<(Ident, Duration)>,
    /// The kind of source: `FILES`, `KAFKA`, `RATE`.
    pub kind: String,
    /// Where the source is, for kinds that are somewhere.
    pub path: Option<String>,
    /// The source's options, as given.
    pub options: Vec<(String, String)>,
}

/// `DROP STREAM [IF EXISTS] s`.
#[derive(Debug, Clone, PartialEq)]
pub struct DropStream {
    /// The stream's name.
    pub name: ObjectName,
    /// Where it isn't there, that is fine.
    pub if_exists: bool,
}

/// Parses a CREATE STREAM; none if something else is created.
pub fn parse_create(p: &mut Parser<'_>) -> Result<Option<CreateStream>, ParserError> {
    let or_replace = begins_with(p, &["CREATE", "OR", "REPLACE", "STREAM"]);
    if !or_replace && !begins_with(p, &["CREATE", "STREAM"]) {
        return Ok(None);
    }
    (0..if or_replace { 4 } else { 2 }).for_each(|_| drop(p.next_token()));
    let if_not_exists = p.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = p.parse_object_name(false)?;
    let (columns, watermark) = match p.peek_token_ref().token {
        Token::LParen => parse_columns(p)?,
        _ => (vec![], None),
    };
    if !p.parse_keyword(Keyword::FROM) {
        let expected = "FROM and where the rows come from, such as FROM FILES 'landing/'";
        return p.expected_ref(expected, p.peek_token_ref());
    }
    let kind = p.parse_identifier()?.value.to_ascii_uppercase();
    let path = match p.peek_token_ref().token {
        Token::SingleQuotedString(_) => Some(p.parse_literal_string()?),
        _ => None,
    };
    let options = match p.parse_keyword(Keyword::OPTIONS) {
        true => parse_options(p)?,
        false => vec![],
    };
    let stream =
        CreateStream { name, or_replace, if_not_exists, columns, watermark, kind, path, options };
    Ok(Some(stream))
}

type Columns = (Vec<ColumnDef>, Option<(Ident, Duration)>);

fn parse_columns(p: &mut Parser<'_>) -> Result<Columns, ParserError> {
    let mut watermark = None;
    let columns = columns::parse(p, |p| {
        let is_watermark = begins_with(p, &["WATERMARK", "FOR"]);
        if is_watermark {
            super::create::once(watermark.is_none(), "WATERMARK")?;
            watermark = Some(parse_watermark(p)?);
        }
        Ok(is_watermark)
    })?;
    Ok((columns, watermark))
}

/// `WATERMARK FOR ts AS ts - INTERVAL '10 minutes'`; `AS ts`: no row may be late.
fn parse_watermark(p: &mut Parser<'_>) -> Result<(Ident, Duration), ParserError> {
    p.next_token();
    p.expect_keyword(Keyword::FOR)?;
    let column = p.parse_identifier()?;
    p.expect_keyword(Keyword::AS)?;
    let start = p.peek_token_ref().clone();
    let same = p.parse_identifier().is_ok_and(|again| is_same(&again, &column));
    if !same {
        let expected =
            format!("{column} - INTERVAL '..', how far behind {column} the watermark is");
        return p.expected(&expected, start);
    }
    let delay = match p.consume_token(&Token::Minus) {
        true => interval::parse(p)?,
        false => Duration::ZERO,
    };
    Ok((column, delay))
}

fn is_same(one: &Ident, other: &Ident) -> bool {
    match one.quote_style.or(other.quote_style) {
        Some(_) => one.value == other.value,
        None => one.value.eq_ignore_ascii_case(&other.value),
    }
}

/// Parses a DROP STREAM; none if something else is dropped.
pub fn parse_drop(p: &mut Parser<'_>) -> Result<Option<DropStream>, ParserError> {
    if !begins_with(p, &["DROP", "STREAM"]) {
        return Ok(None);
    }
    p.next_token();
    p.next_token();
    let if_exists = p.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok(Some(DropStream { name: p.parse_object_name(false)?, if_exists }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Statement, parse};

    fn created(sql: &str) -> CreateStream {
        match parse(sql) {
            Ok(Statement::CreateStream(stream)) => *stream,
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn a_stream_has_columns_a_watermark_and_a_source() {
        let stream = created(
            "CREATE STREAM IF NOT EXISTS clicks (user_id BIGINT, page STRING, ts TIMESTAMP, \
             WATERMARK FOR ts AS ts - INTERVAL '10 minutes') FROM FILES 'landing/' \
             OPTIONS ('format' 'json', 'max_files_per_trigger' = '100');",
        );
        assert!(stream.if_not_exists && !stream.or_replace);
        assert_eq!(stream.columns.len(), 3);
        let (column, delay) = stream.watermark.expect("a watermark");
        assert_eq!((column.value.as_str(), delay), ("ts", Duration::from_secs(600)));
        assert_eq!((stream.kind.as_str(), stream.path.as_deref()), ("FILES", Some("landing/")));
        assert_eq!(stream.options[1], ("max_files_per_trigger".into(), "100".into()));
    }

    #[test]
    fn a_column_may_be_called_as_a_constraint_begins() {
        let stream = created("CREATE STREAM s (key STRING, index INT, unique INT) FROM RATE");
        let names: Vec<&str> = stream.columns.iter().map(|c| c.name.value.as_str()).collect();
        assert_eq!(names, ["key", "index", "unique"]);
    }

    #[test]
    fn what_the_source_tells_needs_not_be_said() {
        let stream = created("create or replace stream s from rate");
        assert!(stream.or_replace && stream.columns.is_empty() && stream.path.is_none());
        assert_eq!(stream.kind, "RATE");
        let stream = created(
            "CREATE STREAM s (WATERMARK FOR \"Ts\" AS \"Ts\" - INTERVAL '2' HOUR) FROM FILES 'in/'",
        );
        assert_eq!(stream.watermark.map(|(_, delay)| delay), Some(Duration::from_secs(7_200)));
    }

    #[test]
    fn what_does_not_fit_is_named_with_what_would() {
        for (sql, words) in [
            ("CREATE STREAM s (a INT)", "FROM FILES 'landing/'"),
            ("CREATE STREAM s (WATERMARK FOR ts AS other) FROM RATE", "ts - INTERVAL '..'"),
            (
                "CREATE STREAM s (WATERMARK FOR ts AS ts - INTERVAL 'x') FROM RATE",
                "'x' is no length",
            ),
            ("CREATE STREAM s (a INT, PRIMARY KEY (a)) FROM RATE", "PRIMARY KEY"),
            (
                "CREATE STREAM s (WATERMARK FOR a AS a, WATERMARK FOR b AS b) FROM RATE",
                "WATERMARK is given twice",
            ),
            ("CREATE STREAM s FROM RATE AS SELECT 1", "AS"),
        ] {
            let error = parse(sql).unwrap_err().to_string();
            assert!(error.contains(words), "{sql}: {error}");
        }
    }

    #[test]
    fn a_stream_is_dropped_by_its_name() {
        let dropped = parse("DROP STREAM IF EXISTS s;").expect("a statement");
        assert!(matches!(dropped, Statement::DropStream(DropStream { if_exists: true, .. })));
    }
}
