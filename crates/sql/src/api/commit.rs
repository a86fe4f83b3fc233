//! What a write did.

use std::fmt;
use std::time::Duration;

use partwise_commit::{PartitionChange, PartitionColumn, Token};

use super::PartitionValues;
use crate::Result;
use crate::report::WriteReport;

/// How a write ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It was applied now.
    Applied,
    /// Its token says that it was applied before, as [`Commit::version`]: nothing changed.
    Replayed,
    /// There was data, and [`SaveMode::Ignore`](crate::SaveMode::Ignore) left it: the query wasn't
    /// run.
    Skipped,
}

/// What a write did, once it is visible to every reader. Its `Display` is the line that the prompt
/// shows: `version 12: replaced 1 partition (pickup_month=2024-02: 74,376 -> 74,376 rows), ..`.
///
/// ```
/// use partwise::datafusion::prelude::SessionContext;
/// use partwise::WritePartitioned;
///
/// # #[tokio::main]
/// # async fn main() -> partwise::Result<()> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("lake/report");
/// # let session = SessionContext::new();
/// let rows = session.sql("SELECT 7 AS zone, '2024-01' AS month").await?;
/// let commit = rows.write_partitioned(path).partition_by(["month"]).save().await?;
/// println!("{commit}");
/// for changed in &commit.partitions {
///     println!("{}: {} -> {}", changed.values, changed.rows_before, changed.rows_after);
/// }
/// assert_eq!(commit.partitions[0].values.get("month"), Some(&"2024-01".into()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Commit {
    /// How it ended.
    pub outcome: CommitOutcome,
    /// The version it made; where nothing changed, the one there is; 0 for a table without a log.
    pub version: u64,
    /// The partitions that changed, in the order of their values.
    pub partitions: Vec<ChangedPartition>,
    /// Partitions that stayed as they were.
    pub untouched: usize,
    /// Rows added.
    pub rows_added: u64,
    /// Rows removed.
    pub rows_removed: u64,
    /// Files added.
    pub files_added: usize,
    /// Bytes added.
    pub bytes_added: u64,
    /// The token it carried.
    pub token: Option<Token>,
    /// What was passed over, and what went wrong once the data was in place.
    pub warnings: Vec<String>,
    /// From the call to the published version.
    pub elapsed: Duration,
    line: String,
}

/// What a write did to one partition.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChangedPartition {
    /// Its values; empty for a table without partition columns.
    pub values: PartitionValues,
    /// Its directory, relative to the table.
    pub path: String,
    /// Rows before.
    pub rows_before: u64,
    /// Rows after.
    pub rows_after: u64,
    /// Files added.
    pub files_added: usize,
    /// Files removed.
    pub files_removed: usize,
}

impl ChangedPartition {
    fn new(columns: &[PartitionColumn], change: PartitionChange) -> Result<Self> {
        Ok(Self {
            values: PartitionValues::new(columns, &change.key)?,
            path: change.path,
            rows_before: change.rows_before,
            rows_after: change.rows_after,
            files_added: change.files_added,
            files_removed: change.files_removed,
        })
    }
}

impl Commit {
    /// A write that left what is there.
    pub(crate) fn skipped(target: &str, version: Option<u64>, elapsed: Duration) -> Self {
        Self {
            outcome: CommitOutcome::Skipped,
            version: version.unwrap_or(0),
            partitions: vec![],
            untouched: 0,
            rows_added: 0,
            rows_removed: 0,
            files_added: 0,
            bytes_added: 0,
            token: None,
            warnings: vec![],
            elapsed,
            line: format!("{target} has data, left as it is"),
        }
    }

    /// Whether the token's write had been applied before.
    pub fn is_replayed(&self) -> bool {
        self.outcome == CommitOutcome::Replayed
    }
}

impl TryFrom<WriteReport> for Commit {
    type Error = crate::Error;

    fn try_from(report: WriteReport) -> Result<Self> {
        let line = report.line();
        let WriteReport { committed, partition_columns, token, elapsed, .. } = report;
        let changed = committed.partitions.into_iter();
        let partitions = changed.map(|change| ChangedPartition::new(&partition_columns, change));
        Ok(Self {
            outcome: match committed.replayed {
                true => CommitOutcome::Replayed,
                false => CommitOutcome::Applied,
            },
            version: committed.version,
            partitions: partitions.collect::<Result<_>>()?,
            untouched: committed.untouched,
            rows_added: committed.rows_added,
            rows_removed: committed.rows_removed,
            files_added: committed.files_added,
            bytes_added: committed.bytes_added,
            token,
            warnings: committed.warnings,
            elapsed,
            line,
        })
    }
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line)
    }
}
