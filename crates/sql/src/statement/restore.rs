//! `RESTORE TABLE t TO VERSION n`.

use datafusion::sql::sqlparser::ast::ObjectName;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use super::is_word;

/// `RESTORE [TABLE] t TO VERSION [AS OF] n`.
#[derive(Debug, Clone)]
pub struct Restore {
    /// The table brought back.
    pub table: ObjectName,
    /// The version it is brought back to.
    pub version: u64,
}

/// Parses a RESTORE.
pub fn parse(p: &mut Parser<'_>) -> Result<Restore, ParserError> {
    p.next_token();
    let _ = p.parse_keyword(Keyword::TABLE);
    let table = p.parse_object_name(false)?;
    p.expect_keyword(Keyword::TO)?;
    if !is_word(p, "VERSION") {
        return p.expected_ref("VERSION and its number after TO", p.peek_token_ref());
    }
    p.next_token();
    let _ = p.parse_keywords(&[Keyword::AS, Keyword::OF]);
    Ok(Restore { table, version: p.parse_literal_uint()? })
}
