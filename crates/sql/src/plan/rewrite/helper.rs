//! Expressions of a statement, planned as a query of their own would plan them.
//!
//! ```text
//! DELETE FROM t AS a WHERE p      SELECT (p) FROM t AS a
//! UPDATE t SET v = e WHERE p      SELECT (p), (e) FROM t          -> expressions, and the FROM they are over
//! MERGE INTO t USING s ON c ..    SELECT (c), .. FROM t, s
//! ```
//! So names, aliases, subqueries and functions mean what they mean in a query.

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::sqlparser::ast::{
    Expr as SQLExpr, Ident, SelectItem, SetExpr, Statement as SQLStatement, TableWithJoins, Value,
    With,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::exactly::exactly;
use crate::plan::assign::{assign, literal_expr};
use crate::statement::syntax;
use crate::{Error, ErrorKind, Result, names};

/// Expressions over the rows of `from`.
pub struct Planned {
    /// One for each that was given.
    pub exprs: Vec<Expr>,
    /// The tables they are over.
    pub from: LogicalPlan,
}

/// Plans expressions over tables.
///
/// # Errors
/// A name that isn't there, or is there twice; an aggregate, which needs rows of its own.
pub async fn planned(
    state: &SessionState,
    with: Option<&With>,
    exprs: &[SQLExpr],
    from: Vec<TableWithJoins>,
) -> Result<Planned> {
    let plan = names::plan(state, query(with, exprs, from)?).await?;
    let LogicalPlan::Projection(projection) = plan else { return Err(aggregates()) };
    if matches!(
        projection.input.as_ref(),
        LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) | LogicalPlan::Unnest(_)
    ) {
        return Err(aggregates());
    }
    let exprs = projection.expr.into_iter().take(exprs.len()).map(Expr::unalias).collect();
    Ok(Planned { exprs, from: projection.input.as_ref().clone() })
}

fn aggregates() -> Error {
    Error::invalid(
        "an aggregate, a window or unnest() needs more than the row that changes: put it into a \
         query in parentheses, (SELECT max(..) FROM ..)",
    )
}

/// `WITH .. SELECT exprs FROM from`.
fn query(with: Option<&With>, exprs: &[SQLExpr], from: Vec<TableWithJoins>) -> Result<DFStatement> {
    let parser = Parser::new(&GenericDialect {}).try_with_sql("SELECT 1");
    let mut query = parser.and_then(|mut parser| parser.parse_query()).map_err(syntax)?;
    query.with = with.cloned();
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Err(Error::new(ErrorKind::Internal, "a SELECT is a SELECT"));
    };
    select.from = from;
    select.projection = exprs.iter().enumerate().map(|(n, expr)| item(n, expr.clone())).collect();
    if exprs.is_empty() {
        select.projection = vec![item(0, SQLExpr::Value(Value::Null.into()))];
    }
    Ok(DFStatement::Statement(Box::new(SQLStatement::Query(query))))
}

fn item(n: usize, expr: SQLExpr) -> SelectItem {
    let alias = Ident::with_quote('"', format!("__partwise_{n}"));
    SelectItem::ExprWithAlias { expr: SQLExpr::Nested(Box::new(expr)), alias }
}

/// Values for columns of a table, by the rules of INSERT: each expression comes with its text.
///
/// # Errors
/// A conversion that needs a CAST.
pub fn assigned(
    state: &SessionState,
    from: &LogicalPlan,
    values: Vec<(Expr, String)>,
    fields: &[FieldRef],
) -> Result<Vec<Expr>> {
    if values.is_empty() {
        return Ok(vec![]);
    }
    let names = distinct(values.iter().map(|(_, text)| text.as_str()));
    let exprs = values.into_iter().zip(&names).map(|((expr, _), name)| expr.alias(name));
    let plan =
        LogicalPlanBuilder::from(from.clone()).project(exprs.collect::<Vec<_>>())?.build()?;
    let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
    let LogicalPlan::Projection(projection) = &plan else {
        return Err(Error::new(ErrorKind::Internal, "a projection stays one"));
    };
    let assigned = fields.iter().enumerate().map(|(index, field)| {
        let value = projection.expr[index].clone().unalias();
        let given = plan.schema().field(index).data_type();
        if is_checked_by_row(given, field.data_type()) && !literal_expr(&value) {
            return Ok(exactly(value, given, field));
        }
        let column = assign(&plan, index, field)?.unalias();
        let put_in = |expr: Expr| {
            Ok(match expr {
                Expr::Column(_) => Transformed::yes(value.clone()),
                other => Transformed::no(other),
            })
        };
        let stored = column.get_type(plan.schema())?;
        let expr = column.transform_up(put_in)?.data;
        Ok(match &stored == field.data_type() {
            true => expr,
            false => exactly(expr, &stored, field),
        })
    });
    assigned.collect()
}

/// `n * 2` has more digits than `n`: what is computed from a decimal is to fit again, row by row.
fn is_checked_by_row(from: &DataType, to: &DataType) -> bool {
    from != to && (from.is_decimal() || from.is_integer()) && matches!(to, DataType::Decimal128(..))
}

/// The texts as names that differ.
fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for text in texts {
        let same = names.iter().filter(|name| name.trim_end() == text).count();
        names.push(format!("{text}{}", " ".repeat(same)));
    }
    names
}
