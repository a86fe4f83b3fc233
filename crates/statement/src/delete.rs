//! `DELETE FROM t WHERE ..`.

use datafusion_sql::sqlparser::ast::{Expr, TableWithJoins, With};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};

use super::target::{Target, parse_where, refuse_returning};

/// `[WITH ..] DELETE FROM t [[AS] a] [USING tables] [WHERE condition]`.
#[derive(Debug, Clone)]
pub struct Delete {
    /// The common table expressions in front.
    pub with: Option<With>,
    /// The table.
    pub target: Target,
    /// Tables that the condition asks besides.
    pub using: Vec<TableWithJoins>,
    /// Which rows go; none: all.
    pub condition: Option<Expr>,
}

/// Parses a DELETE.
pub fn parse(p: &mut Parser<'_>, with: Option<With>) -> Result<Delete, ParserError> {
    p.expect_keyword(Keyword::DELETE)?;
    p.expect_keyword(Keyword::FROM)?;
    let target = Target::parse(p)?;
    let using = match p.parse_keyword(Keyword::USING) {
        true => p.parse_comma_separated(Parser::parse_table_and_joins)?,
        false => vec![],
    };
    let condition = parse_where(p)?;
    refuse_returning(p)?;
    Ok(Delete { with, target, using, condition })
}
