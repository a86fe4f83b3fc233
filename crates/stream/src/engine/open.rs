//! Opening a query: its plan, checkpoint, source, sink and state fit each other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::LogicalPlan;

use super::keys::{Keys, keys_of};
use super::{Engine, Remembered, StepHook};
use crate::checkpoint::{Checkpoint, Fingerprint, Position, Runner, blocking};
use crate::definition::OutputMode;
use crate::plan::StreamPlan;
use crate::sink::{Sink, SinkQuery};
use crate::state::{State, StateFiles};
use crate::{Error, Result};

/// A query to be opened.
pub(crate) struct Opening {
    pub name: String,
    pub mode: OutputMode,
    pub checkpoint: PathBuf,
    pub sink: Arc<dyn Sink>,
    pub state: SessionState,
    pub plan: LogicalPlan,
    pub hook: Option<StepHook>,
}

impl Opening {
    /// Opens it.
    pub async fn open(self) -> Result<Engine> {
        let state = in_order(self.state);
        let plan = StreamPlan::new(&state, self.plan, self.mode)?;
        let keys = keys_of(&plan, self.sink.keys())?;
        keys.check(plan.mode)?;
        check_filters(&plan, self.sink.as_ref())?;
        check_place(&self.checkpoint, plan.scan.stream.source().folder())?;
        let fingerprint = fingerprint(&plan, &keys, self.sink.as_ref());
        let (dir, name) = (self.checkpoint, self.name.clone());
        let (checkpoint, position) = blocking(move || {
            let checkpoint = Checkpoint::open(&dir, &name, &fingerprint)?;
            let position = checkpoint.position()?;
            Ok((Arc::new(checkpoint), position))
        })
        .await?;
        let Position { committed, pending, remembered, since } = position;
        let mut source = plan.scan.stream.source().reader(&state).await?;
        source.resume(remembered, since).await?;
        let last = committed.as_ref().map(|(batch, _)| *batch);
        let commit = committed.map(|(_, commit)| commit);
        let watermark = commit.as_ref().and_then(|commit| commit.watermark);
        let delivered = commit.and_then(|commit| commit.delivered);
        let query = SinkQuery {
            name: self.name,
            id: checkpoint.id().to_owned(),
            mode: plan.mode,
            schema: Arc::clone(&plan.schema),
            keys: keys.keys,
            fixed: keys.fixed,
            delivered: delivered.as_ref().map(|last| (last.batch, last.digest.clone())),
        };
        self.sink.open(&query).await?;
        let groups = remembered_groups(&plan, &checkpoint, last, watermark).await?;
        Ok(Engine {
            state,
            checkpoint,
            source,
            sink: self.sink,
            query: Arc::new(query),
            runner: Runner::this(),
            groups,
            pending: pending.into(),
            next: last.map_or(0, |last| last + 1),
            watermark,
            delivered,
            hook: self.hook,
            plan,
        })
    }
}

/// In an update, a group that a HAVING leaves out from now on would keep its old row.
fn check_filters(plan: &StreamPlan, sink: &dyn Sink) -> Result<()> {
    let filters = plan.groups().is_some_and(|groups| groups.filters_values);
    if plan.mode != OutputMode::Update || !filters || !sink.replaces_rows() {
        return Ok(());
    }
    Err(Error::refused(
        "OUTPUT MODE update gives out the groups that changed, so a group that no longer passes the \
         HAVING (or a WHERE or a join over the aggregate's values) would keep its old row in the \
         sink: use complete, or filter where the sink is read",
    ))
}

/// What a checkpoint writes would be read as the stream's own files.
fn check_place(checkpoint: &Path, source: Option<&Path>) -> Result<()> {
    let shown = checkpoint.display();
    if checkpoint.as_os_str().is_empty() {
        return Err(Error::invalid("CHECKPOINT '' names no folder: CHECKPOINT 'ck/name/'"));
    }
    let absolute = std::path::absolute(checkpoint);
    let absolute = absolute.map_err(|cause| Error::io("find", checkpoint, cause))?;
    match source.filter(|source| absolute.starts_with(source)) {
        None => Ok(()),
        Some(source) => Err(Error::invalid(format!(
            "CHECKPOINT '{shown}' is in {}, which the stream reads with all below it: give a folder \
             of its own",
            source.display()
        ))),
    }
}

/// Rows that are dealt out to tasks as they come, or by their hash for a join, would come in another
/// order when a batch is repeated, and floating-point sums with them.
fn in_order(mut state: SessionState) -> SessionState {
    let optimizer = &mut state.config_mut().options_mut().optimizer;
    optimizer.enable_round_robin_repartition = false;
    optimizer.repartition_joins = false;
    state
}

/// The groups as the last committed batch left them.
async fn remembered_groups(
    plan: &StreamPlan,
    checkpoint: &Checkpoint,
    last: Option<u64>,
    watermark: Option<i64>,
) -> Result<Option<Remembered>> {
    let Some(groups) = plan.groups() else { return Ok(None) };
    let aggregation = &groups.aggregation;
    let schema = Arc::clone(aggregation.state_schema());
    let mut state = State::new(schema, aggregation.group_columns())?;
    let mut files = StateFiles::new(checkpoint.state_dir());
    if let Some(last) = last {
        (state, files) = blocking(move || {
            files.load(&mut state, last)?;
            Ok((state, files))
        })
        .await?;
    }
    if let (Some(window), Some(watermark)) = (&groups.window, watermark)
        && plan.mode != OutputMode::Complete
    {
        state.close(window, watermark)?;
    }
    Ok(Some(Remembered { state, files }))
}

fn fingerprint(plan: &StreamPlan, keys: &Keys, sink: &dyn Sink) -> Fingerprint {
    let stream = &plan.scan.stream;
    let schema = stream.schema_ref();
    let read = plan.scan.projection.iter().map(|at| column(schema.field(*at))).collect();
    Fingerprint {
        source: format!("{} from {}", stream.name(), stream.source().identity()),
        input: read,
        watermark: stream.watermark().map(|watermark| watermark.column.clone()),
        groups: plan.asked.groups.clone(),
        aggregates: plan.asked.aggregates.clone(),
        columns: columns(&plan.schema),
        mode: plan.mode.name().to_owned(),
        sink: sink.identity(),
        keys: keys.keys.clone(),
        plan: plan.asked.plan.clone(),
    }
}

fn columns(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| column(field)).collect()
}

fn column(field: &Field) -> String {
    format!("{} {}", field.name(), field.data_type())
}
