//! What a commit records: a pure function of the change, the state and the files that are there.
//!
//! ```text
//!   change  --token--> replayed?
//!           --the partition exists--> existed?
//!           --conflict, existing, outside--> refused?
//!           --partitions: added | removed, rows before -> after--
//!           --guard--> refused?
//!           --> record
//! ```

mod changes;
mod refuse;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};

pub(crate) use changes::directory_for;
pub(crate) use refuse::{counted, declared, guard, shrinks, touches};

use crate::Result;
use crate::change::{Change, Coverage, IfExists, Operation, Scope};
use crate::partition::{PartitionColumn, PartitionKey, PartitionValue};
use crate::record::{
    FORMAT, Outcome, Record, RecordedOperation, RecordedPartition, RecordedScope, Totals,
    TransactionId,
};
use crate::schema::RecordedSchema;
use crate::snapshot::Snapshot;
use crate::token::{JobState, StepState, check};
use crate::transaction::StagedFile;

/// The state a decision builds on: all that was logged is finished.
#[derive(Clone, Debug)]
pub struct Base<'a> {
    /// The table as named in messages.
    pub shown: String,
    /// The table's id.
    pub table: String,
    /// The transaction that commits.
    pub transaction: TransactionId,
    /// Now, milliseconds since 1970.
    pub time_ms: i64,
    /// The newest version, 0 without a log.
    pub version: u64,
    /// How it ended; none without a log.
    pub outcome: Option<Outcome>,
    /// A data file or a record is there.
    pub exists: bool,
    /// The partition columns.
    pub columns: &'a [PartitionColumn],
    /// The schema to record, where this commit sets it.
    pub schema: Option<RecordedSchema>,
    /// The newest version that set the schema.
    pub schema_version: Option<u64>,
    /// Whether all directories of the table are known to be spelled as this crate does.
    pub canonical: bool,
    /// The last run of each job.
    pub jobs: BTreeMap<String, JobState>,
    /// What an older run of the token's job wrote at its step, where the log still holds it.
    pub older_step: Option<StepState>,
    /// Who made the newest version, for a conflict's message.
    pub winner: String,
    /// Totals of the whole table before.
    pub totals: Totals,
}

/// What a change comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The token's write was applied before, as this version: nothing to do.
    Replayed(u64),
    /// The partition exists, and the change is for one that doesn't: nothing to do.
    Existed,
    /// The change changes nothing.
    Unchanged,
    /// This record.
    Write(Box<Record>),
}

/// Which partitions a change touches.
#[derive(Clone, Debug)]
pub enum Touched<'a> {
    /// Those of its files.
    Keys(HashSet<&'a PartitionKey>),
    /// All that a coverage matches.
    Matching(&'a [(usize, PartitionValue)]),
    /// All that a declared scope matches.
    Declared(&'a Scope),
}

impl<'a> Touched<'a> {
    /// The partitions that `change` touches.
    pub fn by(change: &'a Change) -> Self {
        match (&change.operation, &change.scope) {
            (Operation::Overwrite(_), Some(scope)) => Self::Declared(scope),
            (Operation::Append | Operation::Alter | Operation::Overwrite(Coverage::Written), _) => {
                Self::Keys(change.files.iter().map(|file| &file.partition).collect())
            }
            (Operation::Overwrite(Coverage::Matching(values)), None) => Self::Matching(values),
            (Operation::Create | Operation::Replace, _) => Self::Matching(&[]),
        }
    }

    /// Whether it touches the partition `key`.
    pub fn covers(&self, key: &PartitionKey) -> Result<bool> {
        match self {
            Self::Keys(keys) => Ok(keys.contains(key)),
            Self::Matching(values) => {
                Ok(values.iter().all(|(column, value)| key.values().get(*column) == Some(value)))
            }
            Self::Declared(scope) => scope.covers(key),
        }
    }
}

/// Decides what `change` records. `snapshot` holds the touched partitions as they are, with the rows
/// of every file that counts; `directories` says where a partition's files go.
pub fn decide(
    change: &Change,
    base: &Base<'_>,
    snapshot: &Snapshot,
    directories: &dyn Fn(&PartitionKey) -> Result<String>,
) -> Result<Decision> {
    let partitions = match weigh(change, base, snapshot, directories)? {
        Weighed::Replayed(version) => return Ok(Decision::Replayed(version)),
        Weighed::Existed => return Ok(Decision::Existed),
        Weighed::Changes { partitions, outside } => {
            refuse(change, base, &partitions, &outside)?;
            partitions
        }
    };
    if partitions.is_empty() && base.schema.is_none() && change.token.is_none() {
        return Ok(Decision::Unchanged);
    }
    if partitions.is_empty() && base.version == 0 && !sets_table(change) && change.token.is_none() {
        return Ok(Decision::Unchanged);
    }
    Ok(Decision::Write(Box::new(record(change, base, partitions))))
}

/// What a change comes to, before guard and scope have had their say.
pub(crate) enum Weighed<'a> {
    /// See [`Decision::Replayed`].
    Replayed(u64),
    /// See [`Decision::Existed`].
    Existed,
    /// What changes, and the rows of partitions that the change may not touch.
    Changes { partitions: Vec<RecordedPartition>, outside: BTreeMap<&'a PartitionKey, u64> },
}

/// The first half of [`decide`]; the second is [`refuse`].
pub(crate) fn weigh<'a>(
    change: &'a Change,
    base: &Base<'_>,
    snapshot: &Snapshot,
    directories: &dyn Fn(&PartitionKey) -> Result<String>,
) -> Result<Weighed<'a>> {
    if let Some(version) = check(change.token.as_ref(), &base.jobs, base.older_step.as_ref())? {
        return Ok(Weighed::Replayed(version));
    }
    refuse::refuse_partial_name(change, base)?;
    if change.if_exists == IfExists::Keep && !snapshot.partitions.is_empty() {
        return Ok(Weighed::Existed);
    }
    refuse::refuse_conflict(change, base)?;
    refuse::refuse_existing(change, base)?;
    refuse::refuse_gone(change, base)?;
    refuse::refuse_malformed(change, base)?;
    refuse::refuse_unread(change, base, snapshot)?;
    let outside = refuse::outside(change)?;
    let partitions = changes::changes(change, base, snapshot, &outside, directories)?;
    Ok(Weighed::Changes { partitions, outside })
}

/// What guard and scope say of a change.
pub(crate) fn refuse(
    change: &Change,
    base: &Base<'_>,
    partitions: &[RecordedPartition],
    outside: &BTreeMap<&PartitionKey, u64>,
) -> Result<()> {
    refuse::refuse_outside(change, base, outside)?;
    refuse::refuse_other_rows(change, base, partitions)?;
    refuse::refuse_shrink(change, base, partitions)
}

/// Whether a change sets schema and properties of its table.
pub(crate) fn sets_table(change: &Change) -> bool {
    matches!(change.operation, Operation::Create | Operation::Replace | Operation::Alter)
}

fn record(change: &Change, base: &Base<'_>, partitions: Vec<RecordedPartition>) -> Record {
    let totals = totals_after(base, &partitions, &change.files);
    Record {
        format: FORMAT,
        table: base.table.clone(),
        version: base.version + 1,
        transaction: base.transaction.clone(),
        time_ms: base.time_ms,
        operation: change.recorded_as.unwrap_or(match change.operation {
            Operation::Create => RecordedOperation::Create,
            Operation::Replace => RecordedOperation::Replace,
            Operation::Append => RecordedOperation::Append,
            Operation::Overwrite(_) => RecordedOperation::Overwrite,
            Operation::Alter => RecordedOperation::Alter,
        }),
        scope: scope(change, base),
        restored: None,
        token: change.token.clone(),
        engine: change.engine.clone(),
        previous: base.outcome.clone(),
        schema: base.schema.clone(),
        schema_version: base.schema_version,
        canonical_paths: canonical_paths(base),
        jobs: base.jobs.clone(),
        partitions,
        totals,
    }
}

fn canonical_paths(base: &Base<'_>) -> Vec<PartitionColumn> {
    if base.canonical { base.columns.to_vec() } else { Vec::new() }
}

fn scope(change: &Change, base: &Base<'_>) -> Option<RecordedScope> {
    if let Some(scope) = &change.scope {
        return Some(RecordedScope::Declared(scope.text().to_string()));
    }
    let Operation::Overwrite(coverage) = &change.operation else { return None };
    Some(match coverage {
        Coverage::Written => RecordedScope::Written,
        Coverage::Matching(values) => RecordedScope::Matching(
            values
                .iter()
                .filter_map(|(column, value)| {
                    let column = base.columns.get(*column)?;
                    let text = column.ty.format(value).unwrap_or_else(|| "NULL".to_string());
                    Some(format!("{}={text}", column.name))
                })
                .collect(),
        ),
    })
}

fn totals_after(base: &Base<'_>, partitions: &[RecordedPartition], files: &[StagedFile]) -> Totals {
    let mut totals = base.totals;
    for partition in partitions {
        let existed = !partition.removed.is_empty() || partition.rows_before > 0;
        let stays = !partition.added.is_empty() || partition.removed.is_empty();
        match (existed, stays) {
            (false, true) => totals.partitions += 1,
            (true, false) => totals.partitions = totals.partitions.saturating_sub(1),
            _ => {}
        }
        let removed = partition.removed.len() as u64;
        totals.files = (totals.files + partition.added.len() as u64).saturating_sub(removed);
        totals.rows = totals
            .rows
            .map(|rows| (rows + partition.rows_after).saturating_sub(partition.rows_before));
        let bytes_removed: u64 = partition.removed.iter().map(|file| file.identity.size).sum();
        totals.bytes = totals.bytes.map(|bytes| bytes.saturating_sub(bytes_removed));
    }
    let bytes_added: u64 = files.iter().map(StagedFile::bytes).sum();
    totals.bytes = totals.bytes.map(|bytes| bytes + bytes_added);
    totals
}
