//! Bringing a table back to an earlier version: one more commit.
//!
//! ```text
//!   files(n), files now --by partition--> gone since: back under a new name (link, or copy)
//!                                         come since: removed
//!                                         the same:   not touched
//! ```
//! What is compared is the file and, of one that a restore brought back, the file it came from: so
//! the same restore twice finds nothing to do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};

use super::completion::Completion;
use super::difference::{Difference, Origins, differences};
use super::plan::{Plan, count_rows};
use super::undone::Undone;
use super::{now_ms, outrun};
use crate::backend::Backend;
use crate::keep;
use crate::record::{FORMAT, Record, RecordedOperation, RecordedPartition, RemovedFile, Totals};
use crate::recover::{Head, jobs_after, settle};
use crate::schema::{RecordedSchema, TableSchema};
use crate::snapshot::{
    AllPartitions, At, DataFile, Past, Snapshot, by_place, counts, take_at, take_for_commit,
};
use crate::table::Table;
use crate::transaction::{Committed, RowCounter, Staged, StagedFile, StagingHandle, Transaction};
use crate::{Error, Result, decide::Touched, names};

/// How many files are brought back at once.
const FILES_AT_ONCE: usize = 8;

/// What to bring back, and how.
#[derive(Clone, Debug)]
pub struct Restore {
    /// The version to go back to.
    pub version: u64,
    /// Name and version of the engine, for the record.
    pub engine: String,
    /// The statement in a few words, for whoever waits for this commit.
    pub statement: String,
    /// How long to wait for another writer's commit.
    pub lock_timeout: Duration,
    /// How long what this commit replaces is kept; none for the table's property `retention`, or
    /// 7 days.
    pub retention: Option<Duration>,
}

impl Restore {
    /// A restore to `version` with a lock timeout of 60 s.
    pub fn to(version: u64) -> Self {
        Self {
            version,
            engine: concat!("partwise ", env!("CARGO_PKG_VERSION")).to_string(),
            statement: format!("RESTORE TO VERSION {version}"),
            lock_timeout: Duration::from_secs(60),
            retention: None,
        }
    }
}

/// What a restore did.
#[derive(Clone, Debug, PartialEq)]
pub struct Restored {
    /// The commit; of a table that was as at that version already, the version there was.
    pub committed: Committed,
    /// What it means for the runs of jobs.
    pub undone: Undone,
    /// The schema that the table has again.
    pub schema: TableSchema,
}

/// Restores until no other writer comes in between.
pub(crate) async fn restore(
    table: &Table,
    backend: Arc<dyn Backend>,
    restore: &Restore,
    rows: &dyn RowCounter,
) -> Result<Restored> {
    let started = Instant::now();
    loop {
        let left = restore.lock_timeout.saturating_sub(started.elapsed());
        let then = table.version_at(At::Version(restore.version)).await?;
        let recorded = RecordedSchema::new(&then.schema, then.properties.clone());
        let begun =
            Transaction::begin(table.clone(), Arc::clone(&backend), then.schema, then.properties);
        let done = begun.await?.restore(restore, left, recorded, rows).await?;
        match done {
            Some(restored) => return Ok(restored),
            None if started.elapsed() < restore.lock_timeout => {}
            None => return Err(outrun(backend.as_ref(), restore.lock_timeout)),
        }
    }
}

/// One attempt, with a transaction of its own.
pub(crate) struct Restoring<'a> {
    pub(crate) table: &'a Table,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) staging: StagingHandle,
    pub(crate) schema: &'a TableSchema,
    pub(crate) recorded: RecordedSchema,
    pub(crate) restore: &'a Restore,
    pub(crate) rows: &'a dyn RowCounter,
    pub(crate) staged: Arc<Staged>,
}

/// What one attempt comes to.
enum Planned {
    Unchanged(Restored),
    Write(Box<Plan>, Undone),
}

impl Restoring<'_> {
    /// None where another writer came first.
    pub(crate) async fn run(&self, left: Duration) -> Result<Option<Restored>> {
        let backend = self.backend.as_ref();
        let retention = keep::retention(self.restore.retention, &self.recorded.properties)?;
        let hold = backend.hold(left, &self.restore.statement).await?;
        let head = settle(backend).await?;
        let mut warnings = backend.sweep(self.staging.transaction()).await;
        self.staging.refuse_lost(backend).await?;
        let planned = match self.plan(&head).await {
            Ok(planned) => planned,
            Err(_) if self.moved_on(&head).await? => None,
            Err(error) => return Err(error),
        };
        let (mut plan, undone) = match planned {
            None => return Ok(None),
            Some(Planned::Unchanged(restored)) => return Ok(Some(restored)),
            Some(Planned::Write(plan, undone)) => (plan, undone),
        };
        plan.warnings.append(&mut warnings);
        let (backend, staged) = (Arc::clone(&self.backend), Arc::clone(&self.staged));
        let committed = Completion { backend, staged, plan, retention, hold }.run().await?;
        Ok(committed.map(|committed| self.restored(committed, undone)))
    }

    fn restored(&self, committed: Committed, undone: Undone) -> Restored {
        Restored { committed, undone, schema: self.schema.clone() }
    }

    async fn moved_on(&self, head: &Head) -> Result<bool> {
        Ok(self.backend.record(head.version() + 1).await?.is_some())
    }

    /// None where the table has moved on from `head`.
    async fn plan(&self, head: &Head) -> Result<Option<Planned>> {
        let backend = self.backend.as_ref();
        let columns = self.schema.partition_columns();
        let at = At::Version(self.restore.version);
        let (then, past) = take_at(backend, at, columns, &AllPartitions).await?;
        if past.newest() != head.version() {
            return Ok(None);
        }
        let now = self.now(head).await?;
        let mut warnings = then.warnings.clone();
        warnings.extend_from_slice(&now.warnings);
        warnings.extend(self.missing(&past, &then));
        warnings.sort();
        warnings.dedup();
        let mut totals = then.totals();
        let rows_now = now.totals().rows;
        let differences = differences(columns, now, then, &Origins::of(&past));
        let untouched = differences.iter().filter(|d| d.is_none()).count();
        let partitions = self.bring_back(differences.into_iter().flatten().collect()).await?;
        totals.rows = rows_now.map(|rows| {
            let changed = partitions.iter().map(|p| (p.rows_after, p.rows_before));
            changed.fold(rows, |rows, (after, before)| (rows + after).saturating_sub(before))
        });
        let undone = Undone::of(&past, head);
        let record = self.record(head, &past, partitions, totals)?;
        let same_jobs = record.jobs == head.jobs();
        if record.partitions.is_empty() && record.schema.is_none() && same_jobs {
            let version = head.version();
            let committed = Committed { version, untouched, warnings, ..Committed::default() };
            return Ok(Some(Planned::Unchanged(self.restored(committed, undone))));
        }
        Ok(Some(Planned::Write(Box::new(Plan { record, untouched, warnings }), undone)))
    }

    /// What another tool removed without a trace can't be brought back.
    fn missing(&self, past: &Past, then: &Snapshot) -> Option<String> {
        let (logged, found) = (past.own.totals.files, then.totals().files);
        (counts(&past.outcome) && found < logged).then(|| {
            format!(
                "version {} had {logged} files by the log and {found} are found: another tool has \
                 removed some, which can't be brought back",
                self.restore.version
            )
        })
    }

    /// The table as it is, by the partitions of then.
    async fn now(&self, head: &Head) -> Result<Snapshot> {
        let schema = match &head.schema {
            Some((_, schema)) => TableSchema::try_from(schema)?,
            None => self.schema.clone(),
        };
        let (columns, newest) = (schema.partition_columns(), head.record.clone());
        let everything = Touched::Matching(&[]);
        let backend = self.backend.as_ref();
        let (mut now, _) = take_for_commit(backend, columns, newest, &everything).await?;
        count_rows(self.table, self.rows, &mut now, false).await?;
        Ok(by_place(self.schema.partition_columns(), now))
    }

    async fn bring_back(&self, differences: Vec<Difference>) -> Result<Vec<RecordedPartition>> {
        let mut brought = Vec::new();
        for (n, difference) in differences.iter().enumerate() {
            for file in &difference.gone {
                brought.push(self.bring_file(n, file, difference));
            }
        }
        let brought: Vec<(usize, StagedFile, RemovedFile)> =
            stream::iter(brought).buffered(FILES_AT_ONCE).try_collect().await?;
        let mut partitions: Vec<RecordedPartition> =
            differences.into_iter().map(Difference::recorded).collect();
        for (n, staged, origin) in brought {
            let partition = &mut partitions[n];
            partition.rows_after += staged.rows;
            partition.added.push(staged.into_added(Some(origin)));
        }
        Ok(partitions)
    }

    async fn bring_file(
        &self,
        n: usize,
        file: &DataFile,
        difference: &Difference,
    ) -> Result<(usize, StagedFile, RemovedFile)> {
        let mut file = file.clone();
        if file.rows.is_none() {
            file.rows = Some(self.rows.count(self.table, &file).await?);
        }
        let staged = self
            .staging
            .bring_back(self.table, &file, &difference.key, &difference.path)
            .await
            .map_err(|error| self.gone(&file, error))?;
        Ok((n, staged, RemovedFile { path: file.path, identity: file.identity }))
    }

    fn gone(&self, file: &DataFile, error: Error) -> Error {
        Error::new(
            error.kind(),
            format!(
                "version {} of {} can't be brought back: {} of it can't be read",
                self.restore.version,
                self.backend.shown(),
                file.path
            ),
        )
        .with_source(error)
    }

    fn record(
        &self,
        head: &Head,
        past: &Past,
        partitions: Vec<RecordedPartition>,
        totals: Totals,
    ) -> Result<Record> {
        let Some(meta) = &head.meta else {
            return Err(Error::internal("a restore of a table without a log"));
        };
        let same_schema = head.schema.as_ref().is_some_and(|(_, now)| *now == self.recorded);
        Ok(Record {
            format: FORMAT,
            table: meta.table.clone(),
            version: head.version() + 1,
            transaction: self.staging.transaction().clone(),
            time_ms: now_ms()?,
            operation: RecordedOperation::Restore,
            scope: None,
            restored: Some(self.restore.version),
            token: None,
            engine: self.restore.engine.clone(),
            previous: head.outcome.clone(),
            schema: (!same_schema).then(|| self.recorded.clone()),
            schema_version: head.schema.as_ref().map(|(version, _)| *version),
            // What comes back may stand in directories that another tool spelled.
            canonical_paths: Vec::new(),
            jobs: jobs_after(&past.own, &past.outcome),
            partitions,
            totals,
        })
    }
}

/// What a brought back file is called after its name: what follows the first dot.
pub(crate) fn suffix_of(path: &str) -> &str {
    let name = names::split(path).1;
    let suffix = name.split_once('.').map_or("", |(_, suffix)| suffix);
    let plain = suffix.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    let valid = plain && !suffix.starts_with('.') && names::is_data(&format!("x.{suffix}"));
    if valid { suffix } else { "parquet" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_ending() {
        assert_eq!(suffix_of("p=a/part-x-0.snappy.parquet"), "snappy.parquet");
        assert_eq!(suffix_of("p=a.b/data_0.parquet"), "parquet");
        assert_eq!(suffix_of("p=a/000000_0"), "parquet");
        assert_eq!(suffix_of("p=a/data 1.0 b.parquet"), "parquet");
    }
}
