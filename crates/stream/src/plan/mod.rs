//! A query's plan, split for batches.
//!
//! ```text
//!              output     projections, HAVING, joins      logical, over the groups' final values
//!   query  ->  groups     the aggregate, taken apart      Partial | PartialReduce | Final
//!              input      filters, joins, projections     logical, over the stream's rows
//! ```
//! Without an aggregate there is only an input. What each output mode allows is in `modes`, which
//! output columns tell rows apart in `columns`.

mod clock;
mod columns;
mod filters;
mod groups;
mod input;
mod meter;
mod modes;
mod path;
mod rows;

pub(crate) use clock::at as at_time;
pub(crate) use columns::ColumnRole;
pub(crate) use groups::Groups;
pub(crate) use input::{Input, TimeColumn};
pub(crate) use meter::Meter;
pub(crate) use path::{StreamScan, resolve};
pub(crate) use rows::PlanTable;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan};
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
    /// The query as text, as it was asked.
    pub asked: Asked,
    /// Whether the rows below the aggregate depend on the time of the batch.
    pub asks_clock: bool,
    /// Its rows, or its groups.
    pub shape: Shape,
}

/// A query as text, before anything is made of it: what an optimizer makes may change from version
/// to version.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// The whole plan.
    pub plan: String,
    /// The group columns, in order.
    pub groups: Vec<String>,
    /// The aggregates, in order.
    pub aggregates: Vec<String>,
}

impl Asked {
    fn of(query: &LogicalPlan) -> Self {
        let text = |exprs: &[Expr]| exprs.iter().map(ToString::to_string).collect();
        let plan = query.display_indent().to_string();
        for node in path::path(query) {
            if let LogicalPlan::Aggregate(found) = node {
                let (groups, aggregates) = (text(&found.group_expr), text(&found.aggr_expr));
                return Self { plan, groups, aggregates };
            }
        }
        Self { plan, ..Self::default() }
    }
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
        let asked = Asked::of(&query);
        StreamScan::find(&query)?;
        clock::check(&query)?;
        let plan = optimized(&clock::without(state.clone()), query)?;
        let scan = StreamScan::find(&plan)?;
        let aggregate = path::check(&plan, mode)?;
        let schema = Arc::new(plan.schema().as_arrow().clone());
        let columns = columns::roles(&plan, aggregate.as_ref());
        let (mode, shape) = match aggregate {
            None => {
                modes::check(mode, scan.stream.watermark(), None)?;
                (OutputMode::Append, Shape::Rows(plan))
            }
            Some(aggregate) => {
                let groups = Groups::new(state, &plan, &aggregate, &scan)?;
                modes::check(mode, scan.stream.watermark(), Some(groups.window.is_some()))?;
                (mode, Shape::Groups(Box::new(groups)))
            }
        };
        let made = Self { scan, mode, schema, columns, asked, asks_clock: false, shape };
        Ok(Self { asks_clock: clock::is_asked(made.input())?, ..made })
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
