//! `RESTORE TABLE t TO VERSION n`, `TO TIMESTAMP '..'`.

use datafusion_sql::sqlparser::ast::ObjectName;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};

use super::is_word;

/// `RESTORE [TABLE] t TO VERSION [AS OF] n`, or `TO TIMESTAMP [AS OF] '..'`.
#[derive(Debug, Clone)]
pub struct Restore {
    /// The table brought back.
    pub table: ObjectName,
    /// What it is brought back to.
    pub to: RestorePoint,
}

/// A version, or the one there was at a time.
#[derive(Debug, Clone, PartialEq)]
pub enum RestorePoint {
    /// By its number.
    Version(u64),
    /// By a date and time as text, UTC unless it says another zone.
    Time(String),
}

/// Parses a RESTORE.
pub fn parse(p: &mut Parser<'_>) -> Result<Restore, ParserError> {
    p.next_token();
    let _ = p.parse_keyword(Keyword::TABLE);
    let table = p.parse_object_name(false)?;
    p.expect_keyword(Keyword::TO)?;
    let by_time = p.parse_keyword(Keyword::TIMESTAMP);
    if !by_time && !is_word(p, "VERSION") {
        let expected = "VERSION and its number, or TIMESTAMP and a time, after TO";
        return p.expected_ref(expected, p.peek_token_ref());
    }
    if !by_time {
        p.next_token();
    }
    let _ = p.parse_keywords(&[Keyword::AS, Keyword::OF]);
    let to = match by_time {
        true => RestorePoint::Time(p.parse_literal_string()?),
        false => RestorePoint::Version(p.parse_literal_uint()?),
    };
    Ok(Restore { table, to })
}
