//! What DELETE, UPDATE and MERGE have in common: the table they change, and what they set.

use datafusion_sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, Ident, ObjectName, ObjectNamePart, TableFactor,
    TableWithJoins,
};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

/// The table that a statement changes.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name.
    pub name: ObjectName,
    /// Name and alias, as they stand in a FROM.
    pub factor: TableFactor,
}

impl Target {
    /// Parses `t [[AS] alias]`.
    pub fn parse(p: &mut Parser<'_>) -> Result<Self, ParserError> {
        let start = p.peek_token_ref().clone();
        let factor = p.parse_table_factor()?;
        match &factor {
            TableFactor::Table { name, alias, args: None, sample: None, .. }
                if alias.as_ref().is_none_or(|alias| alias.columns.is_empty()) =>
            {
                Ok(Self { name: name.clone(), factor })
            }
            _ => p.expected("the name of a table, and an alias for it", start),
        }
    }

    /// The table as the only one of a FROM.
    pub fn from(&self) -> TableWithJoins {
        alone(self.factor.clone())
    }
}

/// A table as an item of a FROM.
pub fn alone(relation: TableFactor) -> TableWithJoins {
    TableWithJoins { relation, joins: vec![] }
}

/// What a column is set to.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The column.
    pub column: Ident,
    /// Its value; none: the default, NULL.
    pub value: Option<Expr>,
}

/// Parses `a = 1, t.b = c + 1, (d, e) = (2, DEFAULT)`.
pub fn parse_settings(p: &mut Parser<'_>) -> Result<Vec<Setting>, ParserError> {
    let mut settings = Vec::new();
    for Assignment { target, value } in p.parse_comma_separated(Parser::parse_assignment)? {
        match (target, value) {
            (AssignmentTarget::ColumnName(name), value) => {
                settings.push(Setting { column: column(name)?, value: or_default(value) });
            }
            (AssignmentTarget::Tuple(names), Expr::Tuple(values))
                if names.len() == values.len() =>
            {
                for (name, value) in names.into_iter().zip(values) {
                    settings.push(Setting { column: column(name)?, value: or_default(value) });
                }
            }
            (AssignmentTarget::Tuple(names), _) => {
                return Err(ParserError::ParserError(format!(
                    "{} columns are set at once: write as many values in parentheses, or set each \
                     column by itself",
                    names.len()
                )));
            }
        }
    }
    Ok(settings)
}

/// `DEFAULT` is no column.
pub fn or_default(value: Expr) -> Option<Expr> {
    match &value {
        Expr::Identifier(name)
            if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default") =>
        {
            None
        }
        _ => Some(value),
    }
}

/// The column of a name that may have the table's in front.
pub fn column(name: ObjectName) -> Result<Ident, ParserError> {
    match name.0.last() {
        Some(ObjectNamePart::Identifier(column)) => Ok(column.clone()),
        _ => Err(ParserError::ParserError(format!("{name} is not the name of a column"))),
    }
}

/// Refuses `RETURNING`, which would need the rows back.
pub fn refuse_returning(p: &mut Parser<'_>) -> Result<(), ParserError> {
    match p.parse_one_of_keywords(&[Keyword::RETURNING, Keyword::OUTPUT]) {
        Some(_) => Err(ParserError::ParserError(
            "RETURNING gives no rows here: leave it out, and ask for the rows before or after"
                .into(),
        )),
        None => Ok(()),
    }
}

/// A condition behind `WHERE`; none without one.
pub fn parse_where(p: &mut Parser<'_>) -> Result<Option<Expr>, ParserError> {
    match p.parse_keyword(Keyword::WHERE) {
        true => Ok(Some(p.parse_expr()?)),
        false => Ok(None),
    }
}

/// Whether a `*` comes next; it is taken.
pub fn parse_star(p: &mut Parser<'_>) -> bool {
    p.consume_token(&Token::Mul)
}
