//! The columns that a CREATE declares.

use datafusion_sql::sqlparser::ast::ColumnDef;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

use super::needless::begins_with;

/// Parses `(a INT, b STRING, ..)`; `other` parses what else may stand in a column's place, and says
/// whether it did.
///
/// # Errors
/// A constraint: it would not be enforced.
pub fn parse(
    p: &mut Parser<'_>,
    mut other: impl FnMut(&mut Parser<'_>) -> Result<bool, ParserError>,
) -> Result<Vec<ColumnDef>, ParserError> {
    p.expect_token(&Token::LParen)?;
    let mut columns = Vec::new();
    while !p.consume_token(&Token::RParen) {
        if is_constraint(p) {
            return Err(refused(p));
        }
        if !other(p)? {
            columns.push(p.parse_column_def()?);
        }
        // A comma behind the last one does no harm.
        if !p.consume_token(&Token::Comma) {
            p.expect_token(&Token::RParen)?;
            break;
        }
    }
    Ok(columns)
}

/// Whether a constraint of the table comes next, and no column that is called `key` or `index`.
fn is_constraint(p: &Parser<'_>) -> bool {
    let named = [&["PRIMARY", "KEY"][..], &["FOREIGN", "KEY"], &["CONSTRAINT"]];
    let opens = p.peek_nth_token_ref(1).token == Token::LParen;
    let called = |word: &&str| opens && begins_with(p, &[word]);
    named.iter().any(|words| begins_with(p, words)) || ["UNIQUE", "CHECK"].iter().any(called)
}

fn refused(p: &mut Parser<'_>) -> ParserError {
    match p.parse_optional_table_constraint() {
        Ok(constraint) => {
            let text = constraint.map(|constraint| constraint.to_string()).unwrap_or_default();
            ParserError::ParserError(format!(
                "the constraint {text} would not be enforced: leave it out"
            ))
        }
        Err(error) => error,
    }
}
