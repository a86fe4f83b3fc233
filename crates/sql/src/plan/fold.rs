//! Expressions of a `PARTITION (..)` clause: planned, with all that is constant in them evaluated.
//!
//! ```text
//! SQL --no query in it--> planned --operands comparable--> coerced, folded --nothing left that fails--> Expr
//! ```
//! What a clause says decides which partitions are replaced, so it is held to more than a query's
//! condition: nothing is compared across kinds, and what can't be evaluated is found before anything
//! is read.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::sqlparser::ast::{Expr as SQLExpr, ExprWithAlias, visit_expressions};

use super::{assign, compare};
use crate::{Error, Result, distinct};

/// An expression over the columns of `schema` as it was written, not coerced yet.
///
/// # Errors
/// A query or an aggregate in it, an unknown name, an answer that changes each time it is asked,
/// operands that can't be compared.
pub fn planned(state: &SessionState, sql: &SQLExpr, schema: &DFSchema) -> Result<Expr> {
    if holds_query(sql) {
        return Err(Error::invalid(
            "a query in it isn't run: run it first, and write what it gives as constants",
        ));
    }
    let mut sql = sql.clone();
    distinct::as_written(&mut sql);
    let with_alias = ExprWithAlias { expr: sql, alias: None };
    let expr = state.create_logical_expr_from_sql_expr(with_alias, schema)?;
    if expr
        .exists(|part| Ok(matches!(part, Expr::AggregateFunction(_) | Expr::WindowFunction(_))))?
    {
        return Err(Error::invalid("an aggregate needs rows, there are only names of partitions"));
    }
    if expr.is_volatile() {
        return Err(Error::invalid("it answers differently each time it is asked"));
    }
    compare::check(&expr, schema)?;
    Ok(expr)
}

/// The same expression with its types settled and its constants evaluated.
///
/// # Errors
/// A constant that can't be evaluated, such as a text that isn't the date it is compared with.
pub fn folded(state: &SessionState, expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let context = SimplifyContext::builder()
        .with_schema(Arc::new(schema.clone()))
        .with_config_options(Arc::clone(state.config_options()))
        .with_current_time()
        .build();
    let simplifier = ExprSimplifier::new(context);
    let expr = simplifier.simplify(simplifier.coerce(expr, schema)?)?;
    // The simplifier leaves alone what fails.
    expr.apply(|part| {
        if matches!(part, Expr::Literal(..)) || !part.column_refs().is_empty() {
            return Ok(TreeNodeRecursion::Continue);
        }
        value(state, part)?;
        Ok(TreeNodeRecursion::Jump)
    })?;
    Ok(expr)
}

/// The value of a folded expression without columns.
///
/// # Errors
/// An expression that fails.
pub fn value(state: &SessionState, expr: &Expr) -> Result<ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Ok(value.clone()),
        other => {
            let physical = state.create_physical_expr(other.clone(), &DFSchema::empty())?;
            assign::value_of(physical.as_ref())
        }
    }
}

fn holds_query(sql: &SQLExpr) -> bool {
    let found = visit_expressions(sql, |part| match part {
        SQLExpr::Subquery(_) | SQLExpr::Exists { .. } | SQLExpr::InSubquery { .. } => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}
