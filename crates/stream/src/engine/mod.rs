//! The order of the steps: plan a batch, write its offsets, run it, give its rows to the sink, write
//! the state, write the commit.
//!
//! An engine that has failed is not used again: its state may be ahead of the checkpoint. A restart
//! opens a new one.

mod batch;
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

use crate::Result;
use crate::checkpoint::{Checkpoint, CommitEntry, Delivered, OffsetsEntry, Runner, blocking};
use crate::definition::OutputMode;
use crate::plan::{Meter, StreamPlan};
use crate::progress::{Progress, Steps};
use crate::sink::{BatchRows, Sink, SinkBatch, SinkQuery, Written};
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
        let Some((batch, entry, replayed)) = self.begin().await? else { return Ok(None) };
        let mut took = Steps { offsets: started.elapsed(), ..Steps::default() };

        self.reached(Step::Run, batch)?;
        let running = Instant::now();
        let meter = Arc::new(Meter::default());
        let result = self.run(&entry, replayed, &meter).await;
        let result = self.or_withdrawn(batch, replayed, result).await?;
        took.run = running.elapsed();

        self.reached(Step::Sink, batch)?;
        let delivering = Instant::now();
        let written = self.deliver(batch, &entry, replayed, result.rows).await;
        let written = self.or_withdrawn(batch, replayed, written).await?;
        took.sink = delivering.elapsed();
        // Where rows flow into the sink, the event times are known now.
        let watermark = self.moved(&meter);

        self.reached(Step::State, batch)?;
        let storing = Instant::now();
        self.store(batch, &result.changed).await?;
        took.state = storing.elapsed();

        self.reached(Step::Commit, batch)?;
        let committing = Instant::now();
        self.commit(batch, &entry, watermark).await?;
        took.commit = committing.elapsed();
        self.reached(Step::Next, batch)?;
        Ok(Some(self.progress(batch, &entry, replayed, &meter, written, took)))
    }

    /// A batch that can't be run as it is, such as one with a damaged file, is planned anew when the
    /// query is started again, on what is there then: its sink has nothing of it. One that began
    /// before a restart isn't: there nobody knows.
    async fn or_withdrawn<T>(&self, batch: u64, replayed: bool, done: Result<T>) -> Result<T> {
        use crate::ErrorKind::{Corrupt, Invalid, Unsupported};
        let Err(error) = done else { return done };
        if !replayed && matches!(error.kind(), Invalid | Corrupt | Unsupported) {
            let checkpoint = Arc::clone(&self.checkpoint);
            blocking(move || checkpoint.withdraw(batch)).await?;
        }
        Err(error)
    }

    fn reached(&self, step: Step, batch: u64) -> Result<()> {
        self.hook.as_ref().map_or(Ok(()), |hook| hook(step, batch))
    }

    /// The batch to run: one that began before, or a new one, its offsets written.
    async fn begin(&mut self) -> Result<Option<(u64, OffsetsEntry, bool)>> {
        if let Some((batch, entry)) = self.pending.pop_front() {
            return Ok(Some((batch, entry, true)));
        }
        let Some(offsets) = self.source.next().await? else { return Ok(None) };
        let batch = self.next;
        self.reached(Step::Offsets, batch)?;
        let entry = OffsetsEntry::new(offsets, self.watermark, &self.runner)?;
        let (checkpoint, written) = (Arc::clone(&self.checkpoint), entry.clone());
        blocking(move || checkpoint.begin(batch, &written)).await?;
        Ok(Some((batch, entry, false)))
    }

    /// Gives the rows to the sink, unless there are none that would change anything.
    async fn deliver(
        &mut self,
        batch: u64,
        entry: &OffsetsEntry,
        replayed: bool,
        rows: BatchRows,
    ) -> Result<Written> {
        if rows.is_empty() && self.plan.mode != OutputMode::Complete {
            return Ok(Written::Rows(0));
        }
        let digest = entry.digest.clone();
        let (query, state) = (Arc::clone(&self.query), self.state.clone());
        let given = SinkBatch { query, batch, digest: digest.clone(), replayed, rows, state };
        let written = self.sink.write(given).await?;
        self.delivered = Some(Delivered { batch, digest });
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

    async fn commit(
        &mut self,
        batch: u64,
        entry: &OffsetsEntry,
        watermark: Option<i64>,
    ) -> Result<()> {
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
        self.source.committed(&entry.offsets).await
    }

    /// The watermark behind what a batch has seen; it never goes back.
    fn moved(&self, meter: &Meter) -> Option<i64> {
        let time = self.plan.scan.stream.event_time()?;
        let seen = meter.newest().map(|newest| newest.saturating_sub(time.delay));
        self.watermark.max(seen)
    }

    fn progress(
        &self,
        batch: u64,
        entry: &OffsetsEntry,
        replayed: bool,
        meter: &Meter,
        written: Written,
        took: Steps,
    ) -> Progress {
        let time = self.plan.scan.stream.event_time();
        let state = self.groups.as_ref().map(|groups| &groups.state);
        Progress {
            query: self.query.name.clone(),
            query_id: self.query.id.clone(),
            batch,
            replayed,
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
