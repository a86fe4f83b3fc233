//! One commit, start to end.
//!
//! ```text
//!   hold -> settle what is logged -> decide -> log -> complete -> publish -> clean -> _SUCCESS
//!                                              ^commit point      ^switch
//! ```

mod applied;
mod difference;
mod plan;
mod preview;
mod restore;
mod undone;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub(crate) use plan::refuse_lost_staging;
use plan::{Plan, Planned};
pub use preview::{PartitionAction, PartitionPreview, Preview, Stopped};
pub use restore::{Restore, Restored};
pub(crate) use restore::{Restoring, restore, suffix_of};
pub use undone::Undone;

use crate::backend::{Backend, Hold, Logged, Staging};
use crate::change::Change;
use crate::keep;
use crate::partition::parse_partition_path;
use crate::record::{Outcome, Record, TransactionId};
use crate::recover::{after_publish, complete};
use crate::schema::{RecordedSchema, TableSchema};
use crate::table::Table;
use crate::transaction::{Committed, PartitionChange, RowCounter};
use crate::{Error, Result, names};

/// What a transaction brings to its commit.
pub(crate) struct Commit<'a> {
    pub(crate) table: &'a Table,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) staging: Arc<dyn Staging>,
    pub(crate) txn: TransactionId,
    pub(crate) schema: TableSchema,
    pub(crate) recorded: RecordedSchema,
    pub(crate) change: Change,
    pub(crate) rows: &'a dyn RowCounter,
    /// Whether what was staged is the transaction's to remove: not from the moment on that its
    /// record may be in the log, as whoever finishes that needs it.
    pub(crate) owned: &'a AtomicBool,
}

impl Commit<'_> {
    pub(crate) async fn run(&self) -> Result<Committed> {
        let retention = self.check()?;
        let started = Instant::now();
        loop {
            let left = self.change.lock_timeout.saturating_sub(started.elapsed());
            let hold = self.backend.hold(left, &self.change.statement).await?;
            let plan = match self.plan().await? {
                Planned::Nothing(committed) => return Ok(committed),
                Planned::Again => continue,
                Planned::Write(plan) => plan,
            };
            self.owned.store(false, Ordering::SeqCst);
            let logged = self.backend.log(&plan.record).await;
            self.owned.store(matches!(logged, Ok(Logged::Lost) | Err(_)), Ordering::SeqCst);
            match logged? {
                Logged::Won => {
                    return bring_in(Arc::clone(&self.backend), plan, retention, hold).await;
                }
                Logged::Lost if started.elapsed() < self.change.lock_timeout => {}
                Logged::Lost => {
                    return Err(outrun(self.backend.as_ref(), self.change.lock_timeout));
                }
                Logged::Unknown(error) => return Err(unknown(self.backend.as_ref(), error)),
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

fn unknown(backend: &dyn Backend, error: Error) -> Error {
    Error::unavailable(format!(
        "this write to {} may be logged: if it is, the next write finishes it; look at the table's \
         history before running it again",
        backend.shown()
    ))
    .with_source(error)
}

/// After the commit point, in a task of its own: it goes on when the caller stops waiting.
async fn bring_in(
    backend: Arc<dyn Backend>,
    plan: Box<Plan>,
    retention: Duration,
    hold: Hold,
) -> Result<Committed> {
    let finished = tokio::spawn(async move {
        let Plan { record, untouched, mut warnings } = *plan;
        let finished = finish(backend.as_ref(), &record, retention).await;
        drop(hold);
        finished.map(|(outcome, later)| {
            warnings.extend(later);
            committed(&record, &outcome, untouched, warnings)
        })
    });
    match finished.await {
        Ok(result) => result,
        Err(error) => Err(Error::internal("a task that publishes ended").with_source(error)),
    }
}

/// Publishes an own record. Success only once `published` says so; after that a failure is a
/// warning.
async fn finish(
    backend: &dyn Backend,
    record: &Record,
    retention: Duration,
) -> Result<(Outcome, Vec<String>)> {
    let outcome = complete(backend, record).await.map_err(|error| {
        Error::new(
            error.kind(),
            format!(
                "version {} of {} is logged but could not be brought in yet: the next write \
                 finishes it",
                record.version,
                backend.shown()
            ),
        )
        .with_source(error)
    })?;
    let mut warnings: Vec<String> = backend.found_out().into_iter().collect();
    if let Err(error) = after_publish(backend, record, &outcome).await {
        warnings.push(format!("cleaning up is left to the next write: {error}"));
    } else if let Err(error) = keep::house(backend, record, retention).await {
        warnings.push(format!("old versions could not be removed: {error}"));
    }
    if outcome == Outcome::Void {
        return Err(Error::conflict(format!(
            "staged files of version {} of {} were gone before it was published, so nothing of it \
             counts: run the statement again",
            record.version,
            backend.shown()
        )));
    }
    if let Outcome::Skipped { partitions } = &outcome {
        warnings.push(format!(
            "another tool replaced {} in the meantime: its content stands",
            partitions.join(", ")
        ));
    }
    Ok((outcome, warnings))
}

fn committed(
    record: &Record,
    outcome: &Outcome,
    untouched: usize,
    warnings: Vec<String>,
) -> Committed {
    let skipped = match outcome {
        Outcome::Skipped { partitions } => partitions.as_slice(),
        _ => &[],
    };
    let (version, operation) = (record.version, Some(record.operation));
    let mut committed =
        Committed { version, operation, untouched, warnings, ..Committed::default() };
    for partition in record.partitions.iter().filter(|p| !skipped.contains(&p.path)) {
        committed.files_added += partition.added.len();
        committed.bytes_added += partition.bytes_added();
        committed.rows_added += partition.rows_added();
        committed.rows_removed += partition.rows_removed();
        committed.partitions.push(PartitionChange {
            key: partition.key.clone(),
            path: partition.path.clone(),
            rows_before: partition.rows_before,
            rows_after: partition.rows_after,
            files_added: partition.added.len(),
            files_removed: partition.removed.len(),
        });
    }
    committed
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
