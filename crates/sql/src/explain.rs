//! EXPLAIN around statements of ours, and the flag that makes scans count what they leave out.

use std::str::FromStr;

use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{ExplainFormat, ExplainOption, LogicalPlan, LogicalPlanBuilder};
use partwise_table::CountTotals;

use crate::session::with_extension;
use crate::statement::{Explain, Statement};
use crate::{Error, Result};

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
        // All plans, and one with its figures, have no other form.
        None if explain.verbose || explain.analyze => ExplainFormat::Indent,
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

/// Refuses to explain what acts while it is planned, or has no plan.
///
/// # Errors
/// Any statement but those that write the rows of a query.
pub fn check(statement: &Statement) -> Result<()> {
    match statement {
        Statement::Insert(_)
        | Statement::Copy(_)
        | Statement::Optimize(_)
        | Statement::Rewrite(_) => Ok(()),
        Statement::CreateTable(create) if create.query.is_some() => Ok(()),
        Statement::StartQuery(_) => Err(Error::unsupported(
            "START QUERY has no plan of its own to explain: each batch is planned over the rows it \
             finds. EXPLAIN its SELECT over a table of the stream's columns; query_history('q') \
             tells how long the steps of each batch took",
        )),
        _ => Err(no_plan()),
    }
}

/// The error of a statement without a plan.
pub fn no_plan() -> Error {
    Error::unsupported(
        "this statement has no plan to explain: EXPLAIN goes with queries, INSERT, DELETE, UPDATE, \
         MERGE, COPY, CREATE TABLE .. AS and OPTIMIZE",
    )
}
