//! What each version did, as the log tells it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::Result;
use crate::backend::{Backend, Life, Slot};
use crate::record::{Outcome, Record, RecordedOperation, RecordedScope, TransactionId};
use crate::snapshot::counts;
use crate::token::Token;

/// What one version did.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    /// The version.
    pub version: u64,
    /// When it was decided, milliseconds since 1970, UTC.
    pub time_ms: i64,
    /// The transaction that made it.
    pub transaction: TransactionId,
    /// What was done.
    pub operation: RecordedOperation,
    /// Which partitions an overwrite covered; of an append, its declared scope.
    pub scope: Option<RecordedScope>,
    /// For a restore, the version it brought back.
    pub restored: Option<u64>,
    /// The token of the write.
    pub token: Option<Token>,
    /// Partitions changed.
    pub partitions: usize,
    /// Rows of the files added.
    pub rows_added: u64,
    /// Rows of the files removed.
    pub rows_removed: u64,
    /// Files added.
    pub files_added: usize,
    /// Files removed.
    pub files_removed: usize,
    /// Bytes of the files added.
    pub bytes_added: u64,
    /// Name and version of the engine that made it.
    pub engine: String,
}

impl HistoryEntry {
    /// How the partitions of an overwrite were told: `dynamic`, `static`, `scope`; none for other
    /// operations without a declared scope.
    pub fn mode(&self) -> Option<&'static str> {
        self.scope.as_ref().map(|scope| match scope {
            RecordedScope::Written => "dynamic",
            RecordedScope::Matching(_) => "static",
            RecordedScope::Declared(_) => "scope",
        })
    }

    /// Partitions that another tool replaced in between are left out.
    fn of(record: &Record, outcome: Option<&Outcome>) -> Self {
        let skipped = match outcome {
            Some(Outcome::Skipped { partitions }) => partitions.as_slice(),
            _ => &[],
        };
        let mut entry = Self {
            version: record.version,
            time_ms: record.time_ms,
            transaction: record.transaction.clone(),
            operation: record.operation,
            scope: record.scope.clone(),
            restored: record.restored,
            token: record.token.clone(),
            partitions: 0,
            rows_added: 0,
            rows_removed: 0,
            files_added: 0,
            files_removed: 0,
            bytes_added: 0,
            engine: record.engine.clone(),
        };
        for partition in record.partitions.iter().filter(|p| !skipped.contains(&p.path)) {
            entry.partitions += 1;
            entry.rows_added += partition.rows_added();
            entry.rows_removed += partition.rows_removed();
            entry.files_added += partition.added.len();
            entry.files_removed += partition.removed.len();
            entry.bytes_added += partition.bytes_added();
        }
        entry
    }
}

/// What each version that counts did, newest first.
pub(crate) async fn history(backend: &dyn Backend) -> Result<Vec<HistoryEntry>> {
    let records = records(backend).await?;
    Ok(records.iter().map(|(record, outcome)| HistoryEntry::of(record, outcome.as_ref())).collect())
}

/// The records that count, up to the published version, newest first, and how they ended where the
/// log still tells.
pub(crate) async fn records(backend: &dyn Backend) -> Result<Vec<(Arc<Record>, Option<Outcome>)>> {
    let Life::Ours(_, published) = backend.look().await?.life() else { return Ok(Vec::new()) };
    let mut records = Vec::new();
    let mut held = VecDeque::from(backend.record_versions().await?);
    held.retain(|version| *version <= published.version);
    let mut outcome = Some(published.outcome);
    let mut schema_version = None;
    while let Some(version) = held.pop_back() {
        let Some(record) = backend.record(version).await?.and_then(Slot::into_record) else {
            // What is older was trimmed too, but for what set the schema.
            held.retain(|version| Some(*version) == schema_version);
            outcome = None;
            continue;
        };
        schema_version = record.schema_version;
        let previous = record.previous.clone();
        if outcome.as_ref().is_none_or(counts) {
            records.push((record, outcome));
        }
        outcome = previous;
    }
    Ok(records)
}
