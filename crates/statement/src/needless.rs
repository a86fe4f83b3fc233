//! Statements that other systems need and a directory's listing makes needless.

use datafusion_sql::sqlparser::ast::ObjectName;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

use super::is_word;

/// `MSCK REPAIR TABLE t`, `REFRESH TABLE t` or `ANALYZE TABLE t COMPUTE STATISTICS`.
#[derive(Debug, Clone)]
pub struct Needless {
    /// The table, which has to be there.
    pub table: ObjectName,
    /// Why there is nothing to do.
    pub why: &'static str,
}

/// The words that each begins with, and why there is nothing to do.
const NEEDLESS: [(&[&str], &str); 3] = [
    (&["MSCK", "REPAIR", "TABLE"], "each statement lists the table's directory anew"),
    (&["REFRESH", "TABLE"], "each statement reads the table as it is"),
    (&["ANALYZE", "TABLE"], "statistics are kept with each commit and in the files"),
];

/// Parses one of them; none if it is another statement. What stands behind the table's name is
/// passed over.
pub fn parse(p: &mut Parser<'_>) -> Result<Option<Needless>, ParserError> {
    let Some((words, why)) = NEEDLESS.into_iter().find(|(words, _)| begins_with(p, words)) else {
        return Ok(None);
    };
    for _ in words {
        p.next_token();
    }
    let table = p.parse_object_name(false)?;
    if words[0] == "ANALYZE" && !is_word(p, "PARTITION") && !p.parse_keyword(Keyword::COMPUTE) {
        return p.expected_ref("COMPUTE STATISTICS", p.peek_token_ref());
    }
    while !matches!(p.peek_token_ref().token, Token::EOF | Token::SemiColon) {
        p.next_token();
    }
    Ok(Some(Needless { table, why }))
}

/// Whether these words come next.
pub(super) fn begins_with(p: &Parser<'_>, words: &[&str]) -> bool {
    words.iter().enumerate().all(|(n, word)| {
        matches!(&p.peek_nth_token_ref(n).token, Token::Word(w) if w.value.eq_ignore_ascii_case(word))
    })
}
