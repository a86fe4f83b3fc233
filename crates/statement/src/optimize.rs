use datafusion_sql::sqlparser::ast::{Expr, ObjectName};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

use super::is_word;

/// `OPTIMIZE [TABLE] t [WHERE condition]`.
#[derive(Debug, Clone)]
pub struct Optimize {
    /// The table.
    pub table: ObjectName,
    /// The condition on its partition columns; none: all partitions.
    pub condition: Option<Expr>,
}

/// Parses an OPTIMIZE.
pub fn parse(p: &mut Parser<'_>) -> Result<Optimize, ParserError> {
    p.next_token();
    let named_table = matches!(p.peek_nth_token_ref(1).token, Token::EOF | Token::SemiColon);
    if !named_table {
        let _ = p.parse_keyword(Keyword::TABLE);
    }
    let table = p.parse_object_name(false)?;
    let condition = match p.parse_keyword(Keyword::WHERE) {
        true => Some(p.parse_expr()?),
        false => None,
    };
    if is_word(p, "ZORDER") {
        return Err(ParserError::ParserError(
            "OPTIMIZE keeps the table's own order inside files: set it with ALTER TABLE t SET \
             TBLPROPERTIES ('sort_by' = 'a, b')"
                .to_owned(),
        ));
    }
    Ok(Optimize { table, condition })
}
