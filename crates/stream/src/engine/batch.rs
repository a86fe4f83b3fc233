//! Running a batch: from its offsets to the rows for the sink and the groups that changed.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::physical_plan::collect;

use super::begun::Begun;
use super::{Engine, Remembered};
use crate::Result;
use crate::definition::OutputMode;
use crate::plan::{Groups, Input, PlanTable, Shape, TimeColumn, at_time, physical};
use crate::sink::{BatchRows, under};
use crate::source::ReadRequest;
use crate::state::open_ones;

/// What a batch comes to.
#[derive(Debug)]
pub(super) struct BatchResult {
    /// For the sink.
    pub rows: BatchRows,
    /// The groups that changed and live on.
    pub changed: Vec<RecordBatch>,
}

impl Engine {
    pub(super) async fn run(&mut self, begun: &Begun) -> Result<BatchResult> {
        let input = self.input(begun).await?;
        let mut input = self.plan.scan.replaced(self.plan.input(), input)?;
        if self.plan.asks_clock {
            input = at_time(input, &begun.state, begun.entry.planned_ms)?;
        }
        let rows = physical(&begun.state, &input).await?;
        let (Shape::Groups(groups), Some(_)) = (&self.plan.shape, &self.groups) else {
            return Ok(BatchResult { rows: BatchRows::plan(rows), changed: vec![] });
        };
        let context = begun.state.task_ctx();
        let new = groups.aggregation.states_of(rows, &context).await?;
        let watermark = self.moved(begun);
        let Some(remembered) = &mut self.groups else {
            return Err(crate::Error::internal("groups without a state"));
        };
        // What came first goes first: aggregates without an ORDER BY see rows as they arrived.
        let mut states = remembered.state.touched(&new)?;
        states.extend(new);
        let merged = groups.aggregation.reduce(states, &context).await?;
        let changed = match (&groups.window, watermark, self.plan.mode) {
            (_, _, OutputMode::Complete) | (None, ..) | (_, None, _) => merged.clone(),
            (Some(window), Some(watermark), _) => open_ones(&merged, window, watermark)?,
        };
        let given = given_out(groups, remembered, merged, watermark, self.plan.mode)?;
        let values = groups.aggregation.finish(given, &context).await?;
        let rows = self.output(begun, values).await?;
        let rows = BatchRows::here(Arc::clone(&self.query.schema), rows);
        Ok(BatchResult { rows, changed })
    }

    /// The rows of a batch as a table in the stream's place.
    async fn input(&self, begun: &Begun) -> Result<Arc<dyn TableProvider>> {
        let scan = &self.plan.scan;
        let mut projection = scan.projection.clone();
        let columns = projection.len();
        let drops = self.groups.is_some() && self.plan.mode != OutputMode::Complete;
        let time = scan.stream.event_time().map(|time| {
            let found = projection.iter().position(|column| *column == time.column);
            let column = found.unwrap_or_else(|| {
                projection.push(time.column);
                columns
            });
            TimeColumn {
                column,
                watermark: begun.entry.watermark.filter(|_| drops),
                needed: drops && self.plan.mode == OutputMode::Append,
            }
        });
        let Begun { entry, replayed, state, meter, .. } = begun;
        let request = ReadRequest { state, projection: &projection, replayed: *replayed };
        let rows = self.source.read(&entry.offsets, request).await;
        let rows = rows.inspect_err(|_| meter.fail())?;
        let input = Arc::new(Input::new(rows, time, columns, Arc::clone(meter)));
        let (schema, projection) = (scan.stream.schema_ref(), scan.projection.clone());
        Ok(Arc::new(PlanTable::new(schema, projection, input)))
    }

    /// The query's rows from the final values of groups.
    async fn output(&self, begun: &Begun, values: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
        let Some(groups) = self.plan.groups().filter(|_| !values.is_empty()) else {
            return Ok(vec![]);
        };
        let plan = physical(&begun.state, &groups.output(values)?).await?;
        let rows = collect(plan, begun.state.task_ctx()).await?;
        under(&self.query.schema, rows)
    }
}

/// Puts the merged states where they belong; those whose values the batch gives out.
fn given_out(
    groups: &Groups,
    remembered: &mut Remembered,
    merged: Vec<RecordBatch>,
    watermark: Option<i64>,
    mode: OutputMode,
) -> Result<Vec<RecordBatch>> {
    let state = &mut remembered.state;
    state.put(&merged)?;
    if mode == OutputMode::Complete {
        return state.all();
    }
    let closed = match (&groups.window, watermark) {
        (Some(window), Some(watermark)) => state.close(window, watermark)?,
        _ => vec![],
    };
    Ok(if mode == OutputMode::Append { closed } else { merged })
}
