//! What a query may ask of the clock: the time of the batch, which a repeated batch has again.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{Optimizer, OptimizerContext};

use super::refused;
use crate::{Error, Result};

/// The state with a clock that stands still nowhere: what is planned with it keeps `now()`.
pub(super) fn without(mut state: SessionState) -> SessionState {
    state.execution_props_mut().query_execution_start_time = None;
    state
}

/// Refuses what would give other rows when a batch is repeated.
///
/// # Errors
/// A function that gives something else with each call.
pub(super) fn check(query: &LogicalPlan) -> Result<()> {
    match first(query, Volatility::Volatile)? {
        None => Ok(()),
        Some(call) => Err(refused(
            &call,
            "a batch that is run again after a crash must give the same rows, and this would be \
             another value: take a column of the stream, or a hash of its columns, md5(..)",
        )),
    }
}

/// Refuses the clock in a group's life, which goes over many batches.
///
/// # Errors
/// `now()` and its like in these expressions or in this plan above them.
pub(super) fn check_groups(exprs: &[&[Expr]], above: &LogicalPlan) -> Result<()> {
    let mut found = first(above, Volatility::Stable)?;
    for expr in exprs.iter().flat_map(|exprs| exprs.iter()) {
        found = found.or(call_in(expr, Volatility::Stable)?);
    }
    match found {
        None => Ok(()),
        Some(call) => Err(refused(
            &format!("{call} with an aggregate"),
            "a group lives on over many batches, each with another time: group by a column of the \
             stream; or, for the time a row has come in, by a column of FROM (SELECT *, now() AS \
             arrived FROM ..)",
        )),
    }
}

/// Whether a plan asks the clock.
pub(super) fn is_asked(plan: &LogicalPlan) -> Result<bool> {
    Ok(first(plan, Volatility::Stable)?.is_some())
}

/// The plan at a time, milliseconds since 1970.
pub(crate) fn at(plan: LogicalPlan, state: &SessionState, time_ms: i64) -> Result<LogicalPlan> {
    let time: DateTime<Utc> = DateTime::from_timestamp_millis(time_ms)
        .ok_or_else(|| Error::corrupt(format!("a batch that was planned at {time_ms} ms")))?;
    let options = Arc::clone(state.config_options());
    let context =
        OptimizerContext::new_with_config_options(options).with_query_execution_start_time(time);
    let optimizer = Optimizer::with_rules(vec![Arc::new(SimplifyExpressions::new())]);
    Ok(optimizer.optimize(plan, &context, |_, _| {})?)
}

/// The first call of such a function in a plan, as text.
fn first(plan: &LogicalPlan, volatility: Volatility) -> Result<Option<String>> {
    let mut found = None;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found = call_in(expr, volatility)?;
            Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}

fn call_in(
    expr: &Expr,
    volatility: Volatility,
) -> Result<Option<String>, datafusion::common::DataFusionError> {
    let mut found = None;
    expr.apply(|expr| match expr {
        Expr::ScalarFunction(call) if call.func.signature().volatility == volatility => {
            found = Some(expr.to_string());
            Ok(TreeNodeRecursion::Stop)
        }
        _ => Ok(TreeNodeRecursion::Continue),
    })?;
    Ok(found)
}
