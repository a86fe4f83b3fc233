//! A query's plan, split for batches.
//!
//! ```text
//!              output     projections, HAVING, joins      logical, over the groups' final values
//!   query  ->  groups     the aggregate, taken apart      Partial | PartialReduce | Final
//!              input      filters, joins, projections     logical, over the stream's rows
//! ```
//! Without an aggregate there is only an input. What each output mode allows is in `modes`, which
//! output columns tell rows apart in `columns`.

mod columns;
mod groups;
mod input;
mod meter;
mod modes;
mod path;
mod rows;

pub(crate) use columns::ColumnRole;
pub(crate) use groups::Groups;
pub(crate) use input::{Input, TimeColumn};
pub(crate) use meter::Meter;
pub(crate) use path::{StreamScan, resolve};
pub(crate) use rows::PlanTable;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::Optimizer;
use std::sync::Arc;

use crate::definition::OutputMode;
use crate::{Error, Result};

/// A query, ready for batches.
#[derive(Debug)]
pub(crate) struct StreamPlan {
    /// The scan of the stream.
    pub scan: StreamScan,
    /// What each batch gives out: the mode asked for, or append where there is no aggregate.
    pub mode: OutputMode,
    /// The output's columns.
    pub schema: SchemaRef,
    /// What each output column is.
    pub columns: Vec<ColumnRole>,
    /// The plan as text, as it was asked.
    pub text: String,
    /// Its rows, or its groups.
    pub shape: Shape,
}

/// Whether a query aggregates.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Each row for itself.
    Rows(LogicalPlan),
    /// Groups that live on between batches.
    Groups(Box<Groups>),
}

impl StreamPlan {
    /// Splits a query.
    ///
    /// # Errors
    /// No stream in it, or more than one; a part that has no meaning over a stream, or none in this
    /// output mode, with the reason.
    pub fn new(state: &SessionState, query: LogicalPlan, mode: OutputMode) -> Result<Self> {
        let config = state.config_options();
        let query = state.analyzer().execute_and_check(query, config, |_, _| {})?;
        let text = query.display_indent().to_string();
        StreamScan::find(&query)?;
        let plan = optimized(state, query)?;
        let scan = StreamScan::find(&plan)?;
        let aggregate = path::check(&plan, mode)?;
        let schema = Arc::new(plan.schema().as_arrow().clone());
        let columns = columns::roles(&plan, aggregate.as_ref());
        let Some(aggregate) = aggregate else {
            modes::check(mode, scan.stream.watermark(), None)?;
            let mode = OutputMode::Append;
            return Ok(Self { scan, mode, schema, columns, text, shape: Shape::Rows(plan) });
        };
        let groups = Groups::new(state, &plan, &aggregate, &scan)?;
        modes::check(mode, scan.stream.watermark(), Some(groups.window.is_some()))?;
        Ok(Self { scan, mode, schema, columns, text, shape: Shape::Groups(Box::new(groups)) })
    }

    /// The groups, where the query aggregates.
    pub fn groups(&self) -> Option<&Groups> {
        match &self.shape {
            Shape::Groups(groups) => Some(groups),
            Shape::Rows(_) => None,
        }
    }

    /// The logical plan over the stream's rows.
    pub fn input(&self) -> &LogicalPlan {
        match &self.shape {
            Shape::Rows(plan) => plan,
            Shape::Groups(groups) => &groups.input,
        }
    }
}

/// The rule that makes two aggregates of one with DISTINCT: a state holds one.
const SPLITS_DISTINCT: &str = "single_distinct_aggregation_to_group_by";

fn optimized(state: &SessionState, plan: LogicalPlan) -> Result<LogicalPlan> {
    let rules = state.optimizers().iter().filter(|rule| rule.name() != SPLITS_DISTINCT);
    let optimizer = Optimizer::with_rules(rules.cloned().collect());
    Ok(optimizer.optimize(plan, state, |_, _| {})?)
}

/// The physical plan of an optimized logical one.
pub(crate) async fn physical(
    state: &SessionState,
    plan: &LogicalPlan,
) -> Result<Arc<dyn datafusion::physical_plan::ExecutionPlan>> {
    Ok(state.query_planner().create_physical_plan(plan, state).await?)
}

/// What a stream can't do.
fn refused(what: &str, why: &str) -> Error {
    Error::unsupported(format!("{what} over a stream: {why}"))
}
