//! What a commit decides on, and the decision.

use std::borrow::Cow;
use std::collections::HashSet;

use futures::{StreamExt, TryStreamExt, stream};

use super::applied::{older_step, replayed};
use super::{Commit, describe, now_ms};
use crate::backend::{Backend, Meta, Slot, Staging};
use crate::change::{Change, Operation};
use crate::decide::{Base, Decision, Touched, decide, directory_for, guard, sets_table, touches};
use crate::partition::PartitionKey;
use crate::record::{Record, Totals};
use crate::recover::{Head, settle};
use crate::schema::{RecordedSchema, TableSchema};
use crate::snapshot::{DataFile, Levels, Snapshot, counts, take_everything, take_for_commit};
use crate::table::Table;
use crate::transaction::{Committed, RowCounter};
use crate::{Error, Result};

/// How many files' rows are counted at once.
const COUNTS_AT_ONCE: usize = 8;

/// What a commit comes to.
pub(super) enum Planned {
    /// Another writer made the log just now: decide again.
    Again,
    /// There is nothing to do.
    Nothing(Committed),
    /// There is a record to log.
    Write(Box<Plan>),
}

/// A record to log, and what to report with it.
pub(super) struct Plan {
    pub(super) record: Record,
    pub(super) untouched: usize,
    pub(super) warnings: Vec<String>,
}

impl Commit<'_> {
    /// Finishes what is logged, looks at what the change touches, and decides.
    pub(super) async fn plan(&self) -> Result<Planned> {
        let backend = self.backend.as_ref();
        let head = settle(backend).await?;
        let mut warnings = backend.sweep(&self.txn).await;
        refuse_lost_staging(self.staged.staging(), backend).await?;
        self.refuse_other_schema(&head)?;
        let (mut snapshot, levels) = self.touched(&head).await?;
        let totals = self.totals(&head, &levels, &snapshot).await?;
        let base =
            Base { canonical: self.canonical(&head, &levels), ..self.base(&head, totals).await? };
        self.count_rows(&mut snapshot).await?;
        warnings.extend_from_slice(&snapshot.warnings);
        let partitions = usize::try_from(base.totals.partitions).unwrap_or(usize::MAX);
        let change = self.since_read(&head).await?;
        match self.decided(&change, &base, &snapshot, &levels)? {
            Decision::Replayed(version) => Ok(Planned::Nothing(replayed(version))),
            decision @ (Decision::Unchanged | Decision::Existed) => {
                Ok(Planned::Nothing(Committed {
                    version: head.version(),
                    untouched: partitions,
                    existed: decision == Decision::Existed,
                    warnings,
                    ..Committed::default()
                }))
            }
            Decision::Write(record) => {
                let properties = self.recorded.properties.clone();
                let meta = Meta { table: record.table.clone(), ..Meta::new(properties) };
                if head.version() == 0 && backend.create_meta(&meta).await?.table != meta.table {
                    return Ok(Planned::Again);
                }
                let untouched = partitions.saturating_sub(touched_of(&record, &snapshot));
                Ok(Planned::Write(Box::new(Plan { record: *record, untouched, warnings })))
            }
        }
    }

    fn decided(
        &self,
        change: &Change,
        base: &Base<'_>,
        snapshot: &Snapshot,
        levels: &Levels,
    ) -> Result<Decision> {
        let columns = self.schema.partition_columns();
        decide(change, base, snapshot, &|key| directory_for(columns, levels, key))
    }

    /// The change as one that read the newest version, where all that came since it read has left
    /// that alone.
    async fn since_read(&self, head: &Head) -> Result<Cow<'_, Change>> {
        let as_it_is = Ok(Cow::Borrowed(&self.change));
        let (Some(read), Some(within)) = (self.change.read_version, &self.change.read_within)
        else {
            return as_it_is;
        };
        for version in read + 1..=head.version() {
            match self.backend.record(version).await?.and_then(Slot::into_record) {
                Some(record) if !touches(&record, within)? => {}
                _ => return as_it_is,
            }
        }
        let read_version = Some(head.version().max(read));
        Ok(Cow::Owned(Change { read_version, ..self.change.clone() }))
    }

    /// A statement planned on other columns than the table has by now can't be committed.
    pub(super) fn refuse_other_schema(&self, head: &Head) -> Result<()> {
        let replaces = matches!(self.change.operation, Operation::Create | Operation::Replace);
        let Some((version, there)) = head.schema.as_ref().filter(|_| !replaces) else {
            return Ok(());
        };
        let names = |schema: &RecordedSchema| -> Vec<String> {
            schema.columns.iter().map(|column| column.name.to_lowercase()).collect()
        };
        let same_keys =
            TableSchema::try_from(there)?.partition_columns() == self.schema.partition_columns();
        let alters = self.change.operation == Operation::Alter;
        if same_keys && (alters || names(there) == names(&self.recorded)) {
            return Ok(());
        }
        Err(Error::conflict(format!(
            "the columns of {} were changed by version {version} since this statement was planned: \
             run it again",
            self.backend.shown()
        )))
    }

    /// The partitions the change touches, as they are.
    async fn touched(&self, head: &Head) -> Result<(Snapshot, Levels)> {
        let columns = self.schema.partition_columns();
        let newest = head.record.clone();
        if self.change.operation == Operation::Replace {
            return take_everything(self.backend.as_ref(), columns, newest).await;
        }
        if self.change.operation == Operation::Create {
            return Ok((Snapshot::default(), Levels::default()));
        }
        take_for_commit(self.backend.as_ref(), columns, newest, &Touched::by(&self.change)).await
    }

    pub(super) async fn base(&self, head: &Head, totals: Totals) -> Result<Base<'_>> {
        let sets = sets_table(&self.change);
        let matters = sets || self.change.was_there;
        let exists = head.version() > 0 || (matters && self.backend.has_data().await?);
        let columns = self.schema.partition_columns();
        let id = match &head.meta {
            Some(meta) => meta.table.clone(),
            None => Meta::new(Default::default()).table,
        };
        let older_step = match &self.change.token {
            Some(token) => older_step(self.table, token, head).await?,
            None => None,
        };
        Ok(Base {
            shown: self.backend.shown(),
            table: id,
            transaction: self.txn.clone(),
            time_ms: now_ms()?,
            version: head.version(),
            outcome: head.outcome.clone(),
            exists,
            columns,
            schema: self.schema_to_record(head),
            schema_version: head.schema.as_ref().map(|(version, _)| *version),
            canonical: false,
            jobs: head.jobs(),
            older_step,
            winner: head.record.as_deref().map(describe).unwrap_or_default(),
            totals,
        })
    }

    /// Schema and properties, where this commit sets them or there are none; altering them to what
    /// they are sets none.
    fn schema_to_record(&self, head: &Head) -> Option<RecordedSchema> {
        let there = head.schema.as_ref().map(|(_, there)| there);
        let records = match self.change.operation {
            Operation::Create | Operation::Replace => true,
            Operation::Alter => there != Some(&self.recorded),
            Operation::Append | Operation::Overwrite(_) => there.is_none(),
        };
        records.then(|| self.recorded.clone())
    }

    /// Whether all directories will be spelled as this crate does: a table made or replaced has no
    /// others, a declared scope leaves those outside of it as the newest record says.
    fn canonical(&self, head: &Head, levels: &Levels) -> bool {
        let columns = self.schema.partition_columns();
        let known = head.record.as_deref().is_some_and(|r| r.canonical_paths == columns);
        let looked_at_all = !matches!(Touched::by(&self.change), Touched::Declared(_));
        !levels.spelled_otherwise && (looked_at_all || known)
    }

    /// Totals before: partitions from the directories there are, where all were listed; the rest as
    /// the log tells, or from a listing of everything where there is no log yet.
    async fn totals(&self, head: &Head, levels: &Levels, snapshot: &Snapshot) -> Result<Totals> {
        let columns = self.schema.partition_columns();
        let known = head.record.as_deref().zip(head.outcome.as_ref());
        let whole = matches!(self.change.operation, Operation::Create | Operation::Replace);
        let mut totals = match known {
            Some((record, outcome)) if counts(outcome) => record.totals,
            _ if whole => snapshot.totals(),
            _ => {
                let backend = self.backend.as_ref();
                take_for_commit(backend, columns, None, &Touched::Matching(&[])).await?.0.totals()
            }
        };
        let listed_all = !matches!(Touched::by(&self.change), Touched::Declared(_));
        if whole || columns.is_empty() {
            totals.partitions = snapshot.partitions.len() as u64;
        } else if listed_all {
            totals.partitions = levels.dirs.values().collect::<HashSet<_>>().len() as u64;
        }
        Ok(totals)
    }

    /// Where the guard applies the rows have to be known; elsewhere a file that can't be read may be
    /// what is to be replaced.
    pub(super) async fn count_rows(&self, snapshot: &mut Snapshot) -> Result<()> {
        count_rows(self.table, self.rows, snapshot, guard(&self.change).is_some()).await
    }
}

/// Fills in the rows of files that no record tells about; a file that can't be read is an error if
/// its rows are `needed`.
pub(super) async fn count_rows(
    table: &Table,
    rows: &dyn RowCounter,
    snapshot: &mut Snapshot,
    needed: bool,
) -> Result<()> {
    let files = snapshot.partitions.iter_mut().flat_map(|partition| &mut partition.files);
    let unknown = files.filter(|file| file.rows.is_none());
    let counts: Vec<_> = unknown.map(|file| count(table, rows, file, needed)).collect();
    stream::iter(counts).buffer_unordered(COUNTS_AT_ONCE).try_collect::<()>().await
}

async fn count(
    table: &Table,
    rows: &dyn RowCounter,
    file: &mut DataFile,
    needed: bool,
) -> Result<()> {
    match rows.count(table, file).await {
        Ok(rows) => file.rows = Some(rows),
        Err(error) if needed => return Err(error),
        Err(_) => {}
    }
    Ok(())
}

/// What was staged has to be there still.
pub(crate) async fn refuse_lost_staging(
    staging: &dyn Staging,
    backend: &dyn Backend,
) -> Result<()> {
    if staging.intact().await? {
        return Ok(());
    }
    Err(Error::conflict(format!(
        "the staged files of this write to {} were taken away (the table was dropped, or its \
         staging swept): run it again",
        backend.shown()
    )))
}

/// How many of the partitions that were there a record touches.
fn touched_of(record: &Record, snapshot: &Snapshot) -> usize {
    let changed: HashSet<&PartitionKey> = record.partitions.iter().map(|p| &p.key).collect();
    snapshot.partitions.iter().filter(|partition| changed.contains(&partition.key)).count()
}
