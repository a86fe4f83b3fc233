use std::time::Duration;

use datafusion_sql::sqlparser::ast::ObjectName;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};

use super::is_word;

/// `VACUUM [TABLE] t [RETAIN n HOURS] [DRY RUN]`.
#[derive(Debug, Clone)]
pub struct Vacuum {
    /// The table.
    pub table: ObjectName,
    /// What is younger stays; none: as the table's retention says.
    pub retain: Option<Duration>,
    /// Only say what would be removed.
    pub dry_run: bool,
}

const SECONDS_PER_HOUR: u64 = 3_600;

/// Parses a VACUUM.
pub fn parse(p: &mut Parser<'_>) -> Result<Vacuum, ParserError> {
    p.next_token();
    let _ = p.parse_keyword(Keyword::TABLE);
    let table = p.parse_object_name(false)?;
    let retain = match is_word(p, "RETAIN") {
        true => Some(parse_retain(p)?),
        false => None,
    };
    let dry_run = is_word(p, "DRY");
    if dry_run {
        p.next_token();
        expect_word(p, "RUN")?;
    }
    Ok(Vacuum { table, retain, dry_run })
}

fn parse_retain(p: &mut Parser<'_>) -> Result<Duration, ParserError> {
    p.next_token();
    let hours = p.parse_literal_uint()?;
    if is_word(p, "HOUR") {
        p.next_token();
    } else {
        expect_word(p, "HOURS")?;
    }
    Ok(Duration::from_secs(hours.saturating_mul(SECONDS_PER_HOUR)))
}

fn expect_word(p: &mut Parser<'_>, word: &str) -> Result<(), ParserError> {
    if !is_word(p, word) {
        return p.expected_ref(word, p.peek_token_ref());
    }
    p.next_token();
    Ok(())
}
