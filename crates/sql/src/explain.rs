//! EXPLAIN around statements of ours, and the flag that makes scans count what they leave out.

use std::str::FromStr;

use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{ExplainFormat, ExplainOption, LogicalPlan, LogicalPlanBuilder};
use partwise_table::CountTotals;

use crate::Result;
use crate::session::with_extension;
use crate::statement::Explain;

/// A state whose scans count the whole table, so that EXPLAIN can show `partitions=1/91`.
pub fn counting(state: &SessionState) -> SessionState {
    with_extension(state, CountTotals)
}

/// Puts the explanation around a plan.
///
/// # Errors
/// A format that isn't known.
pub fn around(state: &SessionState, explain: &Explain, plan: LogicalPlan) -> Result<LogicalPlan> {
    let format = match &explain.format {
        Some(format) => ExplainFormat::from_str(format)?,
        None => state.config_options().explain.format.clone(),
    };
    let option = ExplainOption {
        verbose: explain.verbose,
        analyze: explain.analyze,
        format,
        ..ExplainOption::default()
    };
    Ok(LogicalPlanBuilder::from(plan).explain_option_format(option)?.build()?)
}
