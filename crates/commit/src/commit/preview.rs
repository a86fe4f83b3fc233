//! What a commit would do, without doing it.

use std::collections::BTreeMap;

use super::Commit;
use super::plan::count_rows;
use crate::change::Operation;
use crate::decide::{Base, Touched, Weighed, counted, declared, guard, refuse, shrinks, weigh};
use crate::partition::{PartitionColumn, PartitionKey, partition_path};
use crate::record::{RecordedPartition, Totals};
use crate::recover::{Head, published};
use crate::snapshot::{AllPartitions, PartitionFiles, Snapshot, by_place, take};
use crate::{Error, ErrorKind, Result};

/// How often a preview starts again because the table moved on.
const ATTEMPTS: usize = 10;

/// What a commit would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// The version it builds on, 0 for a table without a log.
    pub version: u64,
    /// Every partition of the table, sorted by key: those it would change and those it would keep.
    pub partitions: Vec<PartitionPreview>,
    /// Why nothing would be changed after all.
    pub stopped: Option<Stopped>,
    /// What was passed over.
    pub warnings: Vec<String>,
}

/// Why a commit would change nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The token's write was applied before, as this version.
    Applied(u64),
    /// The partition exists, and the write is for one that doesn't.
    Existed,
    /// Guard, scope or token would refuse it, with this error.
    Refused(String),
}

/// What a commit would do to one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionPreview {
    /// Its typed values.
    pub key: PartitionKey,
    /// What would be done.
    pub action: PartitionAction,
    /// Rows now.
    pub rows_before: u64,
    /// Rows after the commit.
    pub rows_after: u64,
    /// Data files now.
    pub files_before: usize,
    /// Data files after the commit.
    pub files_after: usize,
    /// What guard or scope would say of this partition; none if nothing.
    pub verdict: Option<String>,
}

/// What is done to a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionAction {
    /// It holds no data file yet.
    Create,
    /// Its whole content is replaced.
    Replace,
    /// Files are added.
    Append,
    /// It is emptied.
    Empty,
    /// It stays as it is.
    Keep,
}

impl PartitionAction {
    /// In one word: `create`, `replace`, `append`, `empty`, `keep`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Empty => "empty",
            Self::Keep => "keep",
        }
    }
}

/// Rows by key, and by directory where that is no partition of the table's columns.
type Rows = BTreeMap<(PartitionKey, String), PartitionPreview>;

impl Commit<'_> {
    pub(crate) async fn preview(&self) -> Result<Preview> {
        self.check()?;
        let (head, mut all) = self.as_published().await?;
        self.refuse_other_schema(&head)?;
        count_rows(self.table, self.rows, &mut all, false).await?;
        let base = self.base(&head, Totals::default()).await?;
        let mut rows = kept(base.columns, &all);
        let mut touched = self.only_touched(&all)?;
        self.count_rows(&mut touched).await?;
        let stopped = self.fill_in(&base, &touched, &mut rows)?;
        Ok(Preview {
            version: head.version(),
            partitions: rows.into_values().collect(),
            stopped,
            warnings: all.warnings,
        })
    }

    /// The published state with every file of the table.
    async fn as_published(&self) -> Result<(Head, Snapshot)> {
        let backend = self.backend.as_ref();
        let columns = self.schema.partition_columns();
        for _ in 0..ATTEMPTS {
            let head = published(backend).await?;
            let all = if self.change.operation == Operation::Replace {
                by_place(columns, take(backend, &[], &AllPartitions).await?)
            } else {
                take(backend, columns, &AllPartitions).await?
            };
            if all.version.unwrap_or(0) == head.version() {
                return Ok((head, all));
            }
        }
        Err(Error::busy(format!("other writers kept committing to {}: try again", backend.shown())))
    }

    fn only_touched(&self, all: &Snapshot) -> Result<Snapshot> {
        let touched = Touched::by(&self.change);
        let mut only = Snapshot { version: all.version, ..Snapshot::default() };
        for partition in &all.partitions {
            let whole = matches!(self.change.operation, Operation::Replace);
            if whole || touched.covers(&partition.key)? {
                only.partitions.push(partition.clone());
            }
        }
        Ok(only)
    }

    fn fill_in(
        &self,
        base: &Base<'_>,
        touched: &Snapshot,
        rows: &mut Rows,
    ) -> Result<Option<Stopped>> {
        let directories = |key: &PartitionKey| partition_path(base.columns, key);
        match weigh(&self.change, base, touched, &directories) {
            Ok(Weighed::Replayed(version)) => Ok(Some(Stopped::Applied(version))),
            Ok(Weighed::Existed) => Ok(Some(Stopped::Existed)),
            Ok(Weighed::Changes { partitions, outside }) => {
                for partition in &partitions {
                    let place = place(base.columns, &partition.key, &partition.path);
                    let row = rows.entry(place).or_insert_with(|| empty(&partition.key));
                    self.change_row(row, partition);
                }
                for (key, count) in &outside {
                    let place = place(base.columns, key, "");
                    let row = rows.entry(place).or_insert_with(|| empty(key));
                    let said = format!("outside {}: {}", declared(&self.change), counted(*count));
                    row.verdict = Some(said);
                }
                stopped(refuse(&self.change, base, &partitions, &outside))
            }
            Err(error) => stopped(Err(error)),
        }
    }

    fn change_row(&self, row: &mut PartitionPreview, partition: &RecordedPartition) {
        let (added, removed) = (partition.added.len(), partition.removed.len());
        row.action = match (added, removed) {
            (0, _) => PartitionAction::Empty,
            (_, 0) if row.files_before == 0 => PartitionAction::Create,
            (_, 0) => PartitionAction::Append,
            _ => PartitionAction::Replace,
        };
        row.rows_after = partition.rows_after;
        row.files_after = (row.files_before + added).saturating_sub(removed);
        let max_shrink = guard(&self.change);
        row.verdict = max_shrink.filter(|max| shrinks(partition, *max)).map(|max| {
            format!(
                "the guard: it may lose at most partwise.max_shrink = {max} of its {}",
                counted(partition.rows_before)
            )
        });
    }
}

/// What refuses a write; any other error is one of the preview too.
fn stopped(said: Result<()>) -> Result<Option<Stopped>> {
    match said {
        Ok(()) => Ok(None),
        Err(error) if error.kind() == ErrorKind::Refused => {
            Ok(Some(Stopped::Refused(error.to_string())))
        }
        Err(error) => Err(error),
    }
}

fn kept(columns: &[PartitionColumn], all: &Snapshot) -> Rows {
    let row = |partition: &PartitionFiles| {
        let rows = partition.files.iter().filter_map(|file| file.rows).sum();
        let files = partition.files.len();
        let row = PartitionPreview {
            rows_before: rows,
            rows_after: rows,
            files_before: files,
            files_after: files,
            ..empty(&partition.key)
        };
        (place(columns, &partition.key, &partition.path), row)
    };
    all.partitions.iter().map(row).collect()
}

fn empty(key: &PartitionKey) -> PartitionPreview {
    PartitionPreview {
        key: key.clone(),
        action: PartitionAction::Keep,
        rows_before: 0,
        rows_after: 0,
        files_before: 0,
        files_after: 0,
        verdict: None,
    }
}

fn place(columns: &[PartitionColumn], key: &PartitionKey, path: &str) -> (PartitionKey, String) {
    let odd = key.values().len() != columns.len();
    (key.clone(), if odd { path.to_string() } else { String::new() })
}
