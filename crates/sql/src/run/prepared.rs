//! EXECUTE as the query that was prepared.

use datafusion::logical_expr::{LogicalPlan, Statement};

use crate::{PartwiseContext, Result};

/// The plan with the query of a prepared statement in place of its EXECUTE, parameters filled in,
/// also under EXPLAIN; any other as it is.
///
/// # Errors
/// A name that wasn't prepared; parameters that don't fit.
pub(super) async fn filled_in(context: &PartwiseContext, plan: LogicalPlan) -> Result<LogicalPlan> {
    match &plan {
        LogicalPlan::Statement(Statement::Execute(_)) => {
            let frame = context.session().execute_logical_plan(plan).await?;
            Ok(frame.into_unoptimized_plan())
        }
        LogicalPlan::Explain(_) | LogicalPlan::Analyze(_) => {
            let mut inputs = Vec::new();
            for input in plan.inputs() {
                inputs.push(Box::pin(filled_in(context, input.clone())).await?);
            }
            Ok(plan.with_new_exprs(plan.expressions(), inputs)?)
        }
        _ => Ok(plan),
    }
}
