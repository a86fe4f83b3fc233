//! A batch that has begun: its input is written down, and what becomes of it after an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::execution::context::SessionState;

use super::Engine;
use crate::checkpoint::{OffsetsEntry, blocking};
use crate::plan::Meter;
use crate::sink::{BatchRows, SinkBatch};
use crate::{Error, ErrorKind, Result};

/// A batch with its offsets.
#[derive(Debug)]
pub(super) struct Begun {
    pub batch: u64,
    pub entry: OffsetsEntry,
    /// It began before a restart.
    pub replayed: bool,
    /// The session it runs in, with as many tasks as when it began first.
    pub state: SessionState,
    /// What is counted of its input.
    pub meter: Arc<Meter>,
    /// Something of it may be out that nothing takes back.
    given_out: Arc<AtomicBool>,
}

impl Begun {
    pub fn new(batch: u64, entry: OffsetsEntry, replayed: bool, state: &SessionState) -> Self {
        let mut state = state.clone();
        if let Some(tasks) = entry.tasks.filter(|tasks| *tasks > 0) {
            state.config_mut().options_mut().execution.target_partitions = tasks;
        }
        let (meter, given_out) = (Arc::default(), Arc::default());
        Self { batch, entry, replayed, state, meter, given_out }
    }
}

impl Engine {
    /// The batch as its sink gets it.
    pub(super) fn for_sink(&self, begun: &Begun, rows: BatchRows) -> SinkBatch {
        let previous = self.delivered.as_ref().map(|last| (last.batch, last.digest.clone()));
        SinkBatch {
            query: Arc::clone(&self.query),
            batch: begun.batch,
            digest: begun.entry.digest.clone(),
            previous,
            replayed: begun.replayed,
            rows,
            state: begun.state.clone(),
            given_out: Arc::clone(&begun.given_out),
        }
    }

    /// A batch that can't be run as it is, such as one with a damaged file, is planned anew when the
    /// query is started again, on what is there then, as long as nothing of it is out.
    pub(super) async fn or_withdrawn<T>(&self, begun: &Begun, done: Result<T>) -> Result<T> {
        let Err(error) = done else { return done };
        if !self.left_no_trace(begun, &error).await {
            return Err(error);
        }
        let (checkpoint, batch) = (Arc::clone(&self.checkpoint), begun.batch);
        blocking(move || checkpoint.withdraw(batch)).await?;
        Err(error)
    }

    /// Whether it is sure that a batch that failed is nowhere.
    async fn left_no_trace(&self, begun: &Begun, error: &Error) -> bool {
        use ErrorKind::{Corrupt, Invalid, Unsupported};
        let input = begun.meter.has_failed();
        if begun.replayed {
            // Before the restart it may have come further than now.
            let batch = self.for_sink(begun, BatchRows::here(self.query.schema.clone(), vec![]));
            return input && self.sink.lacks(&batch).await.unwrap_or(false);
        }
        // A sink that couldn't be reached may have it all the same.
        let told = matches!(error.kind(), Invalid | Corrupt | Unsupported);
        (input || told) && !begun.given_out.load(Ordering::Acquire)
    }
}
