//! `UPDATE t SET .. WHERE ..`.

use datafusion_sql::sqlparser::ast::{Expr, TableWithJoins, With};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};

use super::target::{Setting, Target, parse_settings, parse_where, refuse_returning};

/// `[WITH ..] UPDATE t [[AS] a] SET column = value, .. [FROM tables] [WHERE condition]`.
#[derive(Debug, Clone)]
pub struct Update {
    /// The common table expressions in front.
    pub with: Option<With>,
    /// The table.
    pub target: Target,
    /// What is set.
    pub settings: Vec<Setting>,
    /// Tables that values and condition ask besides.
    pub from: Vec<TableWithJoins>,
    /// Which rows change; none: all.
    pub condition: Option<Expr>,
}

/// Parses an UPDATE.
pub fn parse(p: &mut Parser<'_>, with: Option<With>) -> Result<Update, ParserError> {
    p.expect_keyword(Keyword::UPDATE)?;
    let target = Target::parse(p)?;
    p.expect_keyword(Keyword::SET)?;
    let settings = parse_settings(p)?;
    let from = match p.parse_keyword(Keyword::FROM) {
        true => p.parse_comma_separated(Parser::parse_table_and_joins)?,
        false => vec![],
    };
    let condition = parse_where(p)?;
    refuse_returning(p)?;
    Ok(Update { with, target, settings, from, condition })
}
