//! What stops a change: a conflict, data that is there, rows outside, the guard.

use std::collections::{BTreeMap, HashSet};

use super::{Base, Touched};
use crate::change::{Change, Coverage, IfExists, Operation, Scope};
use crate::partition::PartitionKey;
use crate::record::{Record, RecordedOperation, RecordedPartition};
use crate::snapshot::Snapshot;
use crate::{Error, Result};

/// How many partitions the guard names.
const SHRUNK_NAMED: usize = 10;
/// How many partitions outside of a scope are named.
const OUTSIDE_NAMED: usize = 100;

/// A later version than the one the statement read is a conflict, whoever made it; where only columns
/// and properties are changed, one that set them.
pub(super) fn refuse_conflict(change: &Change, base: &Base<'_>) -> Result<()> {
    let newest = match change.operation {
        Operation::Alter => base.schema_version.unwrap_or_default(),
        _ => base.version,
    };
    match change.read_version {
        Some(read) if read < newest => Err(Error::conflict(format!(
            "the statement read version {read} of {}; since then {} was committed: run it again",
            base.shown, base.winner
        ))),
        _ => Ok(()),
    }
}

/// An overwrite of what the statement read removes nothing that came after its scans: another tool
/// puts files there without a version of its own, and their rows would be lost.
pub(super) fn refuse_unread(change: &Change, base: &Base<'_>, snapshot: &Snapshot) -> Result<()> {
    let replaces = matches!(change.operation, Operation::Overwrite(_) | Operation::Replace);
    if !replaces || change.reads.is_empty() {
        return Ok(());
    }
    for file in snapshot.partitions.iter().flat_map(|partition| &partition.files) {
        for reads in &change.reads {
            if reads.missed(file)? {
                return Err(Error::conflict(format!(
                    "the statement read {} before another tool put {} there, and would remove it: \
                     run it again",
                    base.shown, file.path
                )));
            }
        }
    }
    Ok(())
}

pub(super) fn refuse_existing(change: &Change, base: &Base<'_>) -> Result<()> {
    if change.operation == Operation::Create && base.exists {
        return Err(Error::invalid(format!(
            "{} has data already: append to it or overwrite it (INSERT INTO, INSERT OVERWRITE), \
             replace it (CREATE OR REPLACE TABLE), or leave it (CREATE TABLE IF NOT EXISTS)",
            base.shown
        )));
    }
    Ok(())
}

/// Whether a record may have changed what a statement read that read only partitions of `within`.
pub(crate) fn touches(record: &Record, within: &Scope) -> Result<bool> {
    for partition in &record.partitions {
        if within.covers(&partition.key)? {
            return Ok(true);
        }
    }
    Ok(record.schema.is_some())
}

/// What is altered, or was there when the statement was planned, has to be there.
pub(super) fn refuse_gone(change: &Change, base: &Base<'_>) -> Result<()> {
    if (change.operation == Operation::Alter || change.was_there) && !base.exists {
        return Err(Error::conflict(format!(
            "{} was dropped or renamed since this statement was planned: run it again",
            base.shown
        )));
    }
    Ok(())
}

/// The same rows in fewer files: another number of them is a defect, found before it is logged.
pub(super) fn refuse_other_rows(
    change: &Change,
    base: &Base<'_>,
    partitions: &[RecordedPartition],
) -> Result<()> {
    let rows = |count: fn(&RecordedPartition) -> u64| partitions.iter().map(count).sum::<u64>();
    let (before, after) = (rows(|p| p.rows_before), rows(|p| p.rows_after));
    if change.recorded_as == Some(RecordedOperation::Update) && before != after {
        return Err(Error::internal(format!(
            "updating {} would make {} of its {}; nothing was changed",
            base.shown,
            counted(after),
            counted(before)
        )));
    }
    if change.recorded_as != Some(RecordedOperation::Optimize) {
        return Ok(());
    }
    match partitions.iter().find(|partition| partition.rows_before != partition.rows_after) {
        None => Ok(()),
        Some(other) => Err(Error::internal(format!(
            "optimizing {} of {} would make {} of its {}; nothing was changed",
            other.key.display(base.columns),
            base.shown,
            counted(other.rows_after),
            counted(other.rows_before)
        ))),
    }
}

/// `IF NOT EXISTS` needs to know which partition is meant.
pub(super) fn refuse_partial_name(change: &Change, base: &Base<'_>) -> Result<()> {
    if change.if_exists == IfExists::Replace {
        return Ok(());
    }
    let named = match &change.operation {
        Operation::Overwrite(Coverage::Matching(values)) if change.scope.is_none() => values.len(),
        _ => 0,
    };
    if named == base.columns.len() && named > 0 {
        return Ok(());
    }
    let columns = base.columns.iter().map(|column| format!("{} = ...", column.name));
    Err(Error::invalid(format!(
        "IF NOT EXISTS is for one partition of {}, with a constant for every partition column: \
         PARTITION ({})",
        base.shown,
        columns.collect::<Vec<_>>().join(", ")
    )))
}

/// Rows of partitions that a change may not touch.
pub(super) fn outside(change: &Change) -> Result<BTreeMap<&PartitionKey, u64>> {
    let touched = match &change.scope {
        Some(scope) => Touched::Declared(scope),
        None => Touched::by(change),
    };
    let mut outside: BTreeMap<&PartitionKey, u64> = BTreeMap::new();
    for file in &change.files {
        if !touched.covers(&file.partition)? {
            *outside.entry(&file.partition).or_default() += file.rows;
        }
    }
    Ok(outside)
}

/// Files outside of what a change covers.
pub(super) fn refuse_outside(
    change: &Change,
    base: &Base<'_>,
    outside: &BTreeMap<&PartitionKey, u64>,
) -> Result<()> {
    if outside.is_empty() {
        return Ok(());
    }
    let named = outside
        .iter()
        .map(|(key, rows)| format!("{}: {}", key.display(base.columns), counted(*rows)));
    Err(Error::refused(format!(
        "rows outside {}: {}; nothing was changed",
        declared(change),
        listed(named.collect(), OUTSIDE_NAMED)
    )))
}

/// What a change covers, in words.
pub(crate) fn declared(change: &Change) -> String {
    match &change.scope {
        Some(scope) => format!("the declared scope ({})", scope.text()),
        None => "the declared partitions".to_string(),
    }
}

/// A scope without partition columns, files of a change that touches none, and files named twice.
pub(super) fn refuse_malformed(change: &Change, base: &Base<'_>) -> Result<()> {
    if change.operation == Operation::Alter && !change.files.is_empty() {
        return Err(Error::internal("files were staged for a change of columns"));
    }
    if change.scope.is_some() && base.columns.is_empty() {
        return Err(Error::invalid(format!(
            "{} has no partition columns: a scope can't be declared on it",
            base.shown
        )));
    }
    let mut named = HashSet::new();
    match change.files.iter().find(|file| !named.insert((&file.directory, &file.name))) {
        Some(file) => Err(Error::internal(format!("{} was staged twice", file.name))),
        None => Ok(()),
    }
}

/// `1 row`, `1,234 rows`.
pub(crate) fn counted(rows: u64) -> String {
    format!("{} {}", grouped(rows), if rows == 1 { "row" } else { "rows" })
}

/// The guard: a partition that a dynamic overwrite doesn't name may lose `max_shrink` of its rows.
pub(super) fn refuse_shrink(
    change: &Change,
    base: &Base<'_>,
    partitions: &[RecordedPartition],
) -> Result<()> {
    let Some(max_shrink) = guard(change) else { return Ok(()) };
    let shrunk: Vec<String> = partitions
        .iter()
        .filter(|partition| shrinks(partition, max_shrink))
        .map(|partition| {
            format!(
                "{} ({} -> {})",
                partition.key.display(base.columns),
                grouped(partition.rows_before),
                counted(partition.rows_after)
            )
        })
        .collect();
    if shrunk.is_empty() {
        return Ok(());
    }
    Err(Error::refused(format!(
        "the overwrite would shrink {} (a partition it doesn't name may lose at most \
         partwise.max_shrink = {max_shrink} of its rows); nothing was changed. If it is meant, \
         declare the scope with PARTITION (...), or SET partwise.max_shrink = 1",
        listed(shrunk, SHRUNK_NAMED)
    )))
}

/// Whether a partition loses more than the guard allows.
pub(crate) fn shrinks(partition: &RecordedPartition, max_shrink: f64) -> bool {
    let lost = partition.rows_before.saturating_sub(partition.rows_after);
    // Rows are counts far below 2^52: exact as a float.
    lost as f64 > max_shrink * partition.rows_before as f64
}

/// The fraction the guard allows; none where it doesn't apply.
pub(crate) fn guard(change: &Change) -> Option<f64> {
    let dynamic =
        change.operation == Operation::Overwrite(Coverage::Written) && change.scope.is_none();
    change.max_shrink.filter(|max_shrink| dynamic && *max_shrink < 1.0)
}

/// 77530 as `77,530`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn listed(mut named: Vec<String>, at_most: usize) -> String {
    let more = named.len().saturating_sub(at_most);
    named.truncate(at_most);
    let list = named.join(", ");
    if more == 0 { list } else { format!("{list} and {more} more") }
}
