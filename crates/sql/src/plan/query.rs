//! Planning the rows of a write: always as a query of their own.

use std::collections::HashSet;

use datafusion::execution::context::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SetExpr, Statement as SQLStatement,
};

use crate::{Result, names};

/// Plans a query alone. DataFusion's insert planner would type every nested VALUES by the target
/// and refuse `SELECT 7, 'd7', 7`; here unnamed expressions get an alias first.
pub async fn plan_query(state: &SessionState, mut query: Query) -> Result<LogicalPlan> {
    alias_unnamed(&mut query.body);
    plan_as_is(state, query).await
}

/// Plans a query whose column names matter, with the names it has. The types are final: those of a
/// UNION, say, are settled by DataFusion's analyzer alone.
pub async fn plan_as_is(state: &SessionState, query: Query) -> Result<LogicalPlan> {
    let statement = SQLStatement::Query(Box::new(query));
    let plan = names::plan(state, DFStatement::Statement(Box::new(statement))).await?;
    Ok(state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?)
}

fn alias_unnamed(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => alias_items(select),
        SetExpr::Query(query) => alias_unnamed(&mut query.body),
        SetExpr::SetOperation { left, right, .. } => {
            alias_unnamed(left);
            alias_unnamed(right);
        }
        _ => {}
    }
}

fn alias_items(select: &mut Select) {
    let mut seen = HashSet::new();
    for (n, item) in select.projection.iter_mut().enumerate() {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        let column = match expr {
            Expr::Identifier(name) => Some(name.value.clone()),
            Expr::CompoundIdentifier(names) => names.last().map(|name| name.value.clone()),
            _ => None,
        };
        if column.is_none_or(|name| !seen.insert(name)) {
            let alias = Ident::new(format!("_c{n}"));
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}
