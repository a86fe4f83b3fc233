//! From the log on: a task of its own, which goes on when its caller stops waiting.

use std::sync::Arc;
use std::time::Duration;

use super::plan::Plan;
use crate::backend::{Backend, Hold, Logged};
use crate::keep;
use crate::record::{Outcome, Record};
use crate::recover::{after_publish, complete};
use crate::transaction::{Committed, PartitionChange, Staged};
use crate::{Error, Result};

/// A decided record, and what it takes to make it a version.
pub(super) struct Completion {
    pub(super) backend: Arc<dyn Backend>,
    pub(super) staged: Arc<Staged>,
    pub(super) plan: Box<Plan>,
    pub(super) retention: Duration,
    pub(super) hold: Hold,
}

impl Completion {
    /// Logs the record, brings it in and cleans up; none where another transaction's record took the
    /// version. The record may be in the log from the first call on, so all of it is done in the
    /// background, with the lock and the staged files held, whether or not somebody waits for it.
    pub(super) async fn run(self) -> Result<Option<Committed>> {
        match tokio::spawn(self.log()).await {
            Ok(result) => result,
            Err(error) => Err(Error::internal("a task that commits ended").with_source(error)),
        }
    }

    async fn log(self) -> Result<Option<Committed>> {
        self.staged.lend();
        let logged = self.backend.log(&self.plan.record).await;
        if let Ok(Logged::Lost) | Err(_) = logged {
            self.staged.take_back();
        }
        match logged? {
            Logged::Won => self.bring_in().await.map(Some),
            Logged::Lost => Ok(None),
            Logged::Unknown(error) => Err(unknown(self.backend.as_ref(), error)),
        }
    }

    async fn bring_in(self) -> Result<Committed> {
        let Plan { record, untouched, mut warnings } = *self.plan;
        let finished = finish(self.backend.as_ref(), &record, self.retention).await;
        drop(self.hold);
        finished.map(|(outcome, later)| {
            warnings.extend(later);
            committed(&record, &outcome, untouched, warnings)
        })
    }
}

fn unknown(backend: &dyn Backend, error: Error) -> Error {
    Error::unavailable(format!(
        "this write to {} may be logged: if it is, the next write finishes it; look at the table's \
         history before running it again",
        backend.shown()
    ))
    .with_source(error)
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
