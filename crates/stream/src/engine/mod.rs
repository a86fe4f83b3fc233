//! The order of the steps: plan a batch, write its offsets, run it, give its rows to the sink, write
//! the state, write the commit.
//!
//! An engine that has failed is not used again: its state may be ahead of the checkpoint. A restart
//! opens a new one.

mod batch;
mod begun;
mod keys;
mod open;
mod run;

pub(crate) use open::Opening;
pub(crate) use run::run;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::context::SessionState;

use begun::Begun;

use crate::Result;
use crate::checkpoint::{Checkpoint, CommitEntry, Delivered, OffsetsEntry, Runner, blocking};
use crate::definition::OutputMode;
use crate::plan::StreamPlan;
use crate::progress::{Progress, Steps};
use crate::sink::{BatchRows, Sink, SinkQuery, Written};
use crate::source::Source;
use crate::state::{State, StateFiles};

/// A step of a batch, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Writing the batch's offsets.
    Offsets,
    /// Reading and aggregating its rows.
    Run,
    /// Giving the result to the sink.
    Sink,
    /// Writing the state.
    State,
    /// Writing the commit.
    Commit,
    /// Going on to the next batch.
    Next,
}

impl Step {
    /// All steps, in order.
    pub const ALL: [Self; 6] =
        [Self::Offsets, Self::Run, Self::Sink, Self::State, Self::Commit, Self::Next];
}

/// Called before each step of each batch; an error stops the query there.
pub type StepHook = Arc<dyn Fn(Step, u64) -> Result<()> + Send + Sync>;

/// A query, ready to run batches.
pub(crate) struct Engine {
    state: SessionState,
    plan: StreamPlan,
    checkpoint: Arc<Checkpoint>,
    source: Box<dyn Source>,
    sink: Arc<dyn Sink>,
    query: Arc<SinkQuery>,
    runner: Runner,
    groups: Option<Remembered>,
    /// Batches that were planned before this run.
    pending: VecDeque<(u64, OffsetsEntry)>,
    next: u64,
    watermark: Option<i64>,
    delivered: Option<Delivered>,
    hook: Option<StepHook>,
}

/// The groups between batches.
#[derive(Debug)]
struct Remembered {
    state: State,
    files: StateFiles,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Engine({}, batch {})", self.query.name, self.next)
    }
}

impl Engine {
    /// The query, as its sink knows it.
    pub fn query(&self) -> &SinkQuery {
        &self.query
    }

    /// Where its rows go.
    pub fn sink(&self) -> &dyn Sink {
        self.sink.as_ref()
    }

    /// From here on, only what the source has now counts.
    pub async fn available_now(&mut self) -> Result<()> {
        self.source.available_now().await
    }

    /// Runs the next batch; none where nothing is new.
    pub async fn step(&mut self) -> Result<Option<Progress>> {
        let started = Instant::now();
        let Some(begun) = self.begin().await? else { return Ok(None) };
        let batch = begun.batch;
        let mut took = Steps { offsets: started.elapsed(), ..Steps::default() };

        self.reached(Step::Run, batch)?;
        let running = Instant::now();
        let result = self.run(&begun).await;
        let result = self.or_withdrawn(&begun, result).await?;
        took.run = running.elapsed();

        self.reached(Step::Sink, batch)?;
        let delivering = Instant::now();
        let written = self.deliver(&begun, result.rows).await;
        let written = self.or_withdrawn(&begun, written).await?;
        took.sink = delivering.elapsed();
        // Where rows flow into the sink, the event times are known now.
        let watermark = self.moved(&begun);

        self.reached(Step::State, batch)?;
        let storing = Instant::now();
        self.store(batch, &result.changed).await?;
        took.state = storing.elapsed();

        self.reached(Step::Commit, batch)?;
        let committing = Instant::now();
        self.commit(&begun, watermark).await?;
        took.commit = committing.elapsed();
        self.reached(Step::Next, batch)?;
        Ok(Some(self.progress(&begun, written, took)))
    }

    fn reached(&self, step: Step, batch: u64) -> Result<()> {
        self.hook.as_ref().map_or(Ok(()), |hook| hook(step, batch))
    }

    /// The batch to run: one that began before, or a new one, its offsets written.
    async fn begin(&mut self) -> Result<Option<Begun>> {
        if let Some((batch, entry)) = self.pending.pop_front() {
            return Ok(Some(Begun::new(batch, entry, true, &self.state)));
        }
        let Some(offsets) = self.source.next().await? else { return Ok(None) };
        let batch = self.next;
        self.reached(Step::Offsets, batch)?;
        let delay = self.plan.scan.stream.event_time().map(|time| time.delay);
        let tasks = self.state.config().target_partitions();
        let entry = OffsetsEntry::new(offsets, (self.watermark, delay), tasks, &self.runner)?;
        let (checkpoint, written) = (Arc::clone(&self.checkpoint), entry.clone());
        blocking(move || checkpoint.begin(batch, &written)).await?;
        Ok(Some(Begun::new(batch, entry, false, &self.state)))
    }

    /// Gives the rows to the sink, unless there are none that would change anything.
    async fn deliver(&mut self, begun: &Begun, rows: BatchRows) -> Result<Written> {
        if rows.is_empty() && self.plan.mode != OutputMode::Complete {
            return Ok(Written::Rows(0));
        }
        let written = self.sink.write(self.for_sink(begun, rows)).await?;
        let digest = begun.entry.digest.clone();
        self.delivered = Some(Delivered { batch: begun.batch, digest });
        Ok(written)
    }

    async fn store(&mut self, batch: u64, changed: &[RecordBatch]) -> Result<()> {
        let Some(groups) = &mut self.groups else { return Ok(()) };
        let file = groups.files.file(&groups.state, batch, changed)?;
        // Held until the file is written, also where this future is dropped before that.
        let held = Arc::clone(&self.checkpoint);
        blocking(move || {
            let _held = held;
            file.write()
        })
        .await
    }

    async fn commit(&mut self, begun: &Begun, watermark: Option<i64>) -> Result<()> {
        let batch = begun.batch;
        let done = CommitEntry::new(watermark, self.delivered.clone(), &self.runner);
        let checkpoint = Arc::clone(&self.checkpoint);
        let files = self.groups.as_ref().map(|groups| groups.files.clone());
        let sum = Checkpoint::wants_sum(batch).then(|| self.source.remembered());
        blocking(move || {
            checkpoint.commit(batch, &done)?;
            files.map_or(Ok(()), |files| files.tidy(batch))?;
            sum.map_or(Ok(()), |sum| checkpoint.sum_up(batch, &sum))
        })
        .await?;
        (self.watermark, self.next) = (watermark, batch + 1);
        self.source.committed(&begun.entry.offsets).await
    }

    /// The watermark behind what a batch has seen; it never goes back. The delay is that of the time
    /// when the batch began: a repeated one closes the same windows.
    fn moved(&self, begun: &Begun) -> Option<i64> {
        let time = self.plan.scan.stream.event_time()?;
        let delay = begun.entry.delay.unwrap_or(time.delay);
        let seen = begun.meter.newest().map(|newest| newest.saturating_sub(delay));
        self.watermark.max(seen)
    }

    fn progress(&self, begun: &Begun, written: Written, took: Steps) -> Progress {
        let Begun { batch, entry, replayed, meter, .. } = begun;
        let time = self.plan.scan.stream.event_time();
        let state = self.groups.as_ref().map(|groups| &groups.state);
        Progress {
            query: self.query.name.clone(),
            query_id: self.query.id.clone(),
            batch: *batch,
            replayed: *replayed,
            planned_ms: entry.planned_ms,
            input_rows: meter.rows(),
            late_rows: meter.late(),
            bad_rows: self.source.bad_rows(),
            output_rows: match written {
                Written::Rows(rows) => Some(rows),
                Written::Already => None,
            },
            state_rows: state.map_or(0, State::rows),
            state_bytes: state.map_or(0, State::bytes),
            watermark: self.watermark.zip(time).map(|(watermark, time)| time.text(watermark)),
            took,
        }
    }
}
