//! One commit, start to end.
//!
//! ```text
//!   hold -> settle what is logged -> decide -> log -> complete -> publish -> clean -> _SUCCESS
//!                                              ^commit point      ^switch
//! ```

mod applied;
mod completion;
mod difference;
mod plan;
mod preview;
mod restore;
mod undone;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use completion::Completion;
use plan::Planned;
pub(crate) use plan::refuse_lost_staging;
pub use preview::{PartitionAction, PartitionPreview, Preview, Stopped};
pub use restore::{Restore, Restored};
pub(crate) use restore::{Restoring, restore, suffix_of};
pub use undone::Undone;

use crate::backend::Backend;
use crate::change::Change;
use crate::keep;
use crate::partition::parse_partition_path;
use crate::record::{Record, TransactionId};
use crate::schema::{RecordedSchema, TableSchema};
use crate::table::Table;
use crate::transaction::{Committed, RowCounter, Staged};
use crate::{Error, Result, names};

/// What a transaction brings to its commit.
pub(crate) struct Commit<'a> {
    pub(crate) table: &'a Table,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) staged: Arc<Staged>,
    pub(crate) txn: TransactionId,
    pub(crate) schema: TableSchema,
    pub(crate) recorded: RecordedSchema,
    pub(crate) change: Change,
    pub(crate) rows: &'a dyn RowCounter,
}

impl Commit<'_> {
    pub(crate) async fn run(&self) -> Result<Committed> {
        let retention = self.check()?;
        let started = Instant::now();
        loop {
            let left = self.change.lock_timeout.saturating_sub(started.elapsed());
            let hold = match &self.change.turn {
                Some(turn) => turn.hold(),
                None => self.backend.hold(left, &self.change.statement).await?,
            };
            let plan = match self.plan().await? {
                Planned::Nothing(committed) => return Ok(committed),
                Planned::Again => continue,
                Planned::Write(plan) => plan,
            };
            let (backend, staged) = (Arc::clone(&self.backend), Arc::clone(&self.staged));
            let completion = Completion { backend, staged, plan, retention, hold };
            match completion.run().await? {
                Some(committed) => return Ok(committed),
                None if started.elapsed() < self.change.lock_timeout => {}
                None => return Err(outrun(self.backend.as_ref(), self.change.lock_timeout)),
            }
        }
    }

    /// What can be told before anything is locked: that the files are this transaction's, in the
    /// directories of their partitions, and that the retention is one.
    fn check(&self) -> Result<Duration> {
        let columns = self.schema.partition_columns();
        for file in &self.change.files {
            let ours = names::transaction_of(&file.name) == Some(self.txn.as_str());
            let key = parse_partition_path(columns, &file.directory);
            if !ours || file.name.contains('/') || !key.is_ok_and(|key| key == file.partition) {
                return Err(Error::invalid(format!(
                    "{}/{} is no staged file of this transaction for {}",
                    file.directory,
                    file.name,
                    file.partition.display(columns)
                )));
            }
        }
        keep::retention(self.change.retention, &self.recorded.properties)
    }
}

fn outrun(backend: &dyn Backend, waited: Duration) -> Error {
    Error::busy(format!(
        "other writers kept committing to {} first for {} s: try again",
        backend.shown(),
        waited.as_secs_f64()
    ))
}

/// Who made a version, for whoever lost against it.
fn describe(record: &Record) -> String {
    let job = record.token.as_ref();
    let job = job.map(|token| format!(", job '{}' run {}", token.job, token.run));
    format!(
        "version {} ({} by {}{}, transaction {})",
        record.version,
        record.operation.as_str(),
        record.engine,
        job.unwrap_or_default(),
        record.transaction
    )
}

/// Now, milliseconds since 1970.
pub(crate) fn now_ms() -> Result<i64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_err(|error| {
        Error::unavailable("this machine's clock is before 1970: set it").with_source(error)
    })?;
    i64::try_from(now.as_millis()).map_err(|error| {
        Error::unavailable("this machine's clock is out of range: set it").with_source(error)
    })
}
