//! What a change adds and removes, by partition.

use std::collections::{BTreeMap, BTreeSet};

use super::Base;
use crate::change::{Change, Operation};
use crate::partition::{PartitionColumn, PartitionKey, partition_path};
use crate::record::{RecordedPartition, RemovedFile};
use crate::snapshot::{DataFile, Levels, PartitionFiles, Snapshot};
use crate::transaction::StagedFile;
use crate::{Result, names};

/// What changes, by partition, sorted by key. Files of partitions `outside` of what the change may
/// touch are left out.
pub(super) fn changes(
    change: &Change,
    base: &Base<'_>,
    snapshot: &Snapshot,
    outside: &BTreeMap<&PartitionKey, u64>,
    directories: &dyn Fn(&PartitionKey) -> Result<String>,
) -> Result<Vec<RecordedPartition>> {
    let replaces = matches!(change.operation, Operation::Overwrite(_) | Operation::Replace);
    let mut added: BTreeMap<&PartitionKey, Vec<&StagedFile>> = BTreeMap::new();
    for file in change.files.iter().filter(|file| !outside.contains_key(&file.partition)) {
        added.entry(&file.partition).or_default().push(file);
    }
    // A replaced table may have had other partition columns: directories that are no partition of
    // the new ones are emptied for themselves.
    let (there, odd): (Vec<_>, Vec<_>) = snapshot
        .partitions
        .iter()
        .partition(|partition| partition.key.values().len() == base.columns.len());
    let there: BTreeMap<&PartitionKey, &PartitionFiles> =
        there.into_iter().map(|partition| (&partition.key, partition)).collect();
    let keys: BTreeSet<&PartitionKey> = added.keys().chain(there.keys()).copied().collect();
    let mut changes = Vec::new();
    for key in keys {
        let files = added.remove(key).unwrap_or_default();
        let old = there.get(key).copied();
        if files.is_empty() && !(replaces && old.is_some()) {
            continue;
        }
        changes.push(change_of(key, files, old, replaces, directories)?);
    }
    for old in odd.into_iter().filter(|_| replaces) {
        changes.push(change_of(&old.key, Vec::new(), Some(old), replaces, directories)?);
    }
    Ok(changes)
}

fn change_of(
    key: &PartitionKey,
    files: Vec<&StagedFile>,
    old: Option<&PartitionFiles>,
    replaces: bool,
    directories: &dyn Fn(&PartitionKey) -> Result<String>,
) -> Result<RecordedPartition> {
    let old_files = old.map(|old| old.files.as_slice()).unwrap_or_default();
    let rows_before: u64 = old_files.iter().filter_map(|file| file.rows).sum();
    let rows_added: u64 = files.iter().map(|file| file.rows).sum();
    // An open upload has its final key already; a file on a disk goes where it is told.
    let uploaded = files.iter().find(|file| file.upload.is_some());
    let path = match (uploaded, old) {
        (Some(file), _) => file.directory.clone(),
        (None, Some(old)) => old.path.clone(),
        (None, None) => directories(key)?,
    };
    let staged = files.first().map(|file| file.directory.clone()).filter(|dir| *dir != path);
    Ok(RecordedPartition {
        path,
        staged,
        key: key.clone(),
        added: files.into_iter().map(|file| file.clone().into_added(None)).collect(),
        removed: if replaces { old_files.iter().map(removed_file).collect() } else { Vec::new() },
        rows_before,
        rows_after: if replaces { rows_added } else { rows_before + rows_added },
    })
}

fn removed_file(file: &DataFile) -> RemovedFile {
    RemovedFile { path: file.path.clone(), identity: file.identity.clone() }
}

/// Where a partition's files go: the directory there is, below the directories there are, else as
/// we spell it.
pub(crate) fn directory_for(
    columns: &[PartitionColumn],
    levels: &Levels,
    key: &PartitionKey,
) -> Result<String> {
    let own = partition_path(columns, key)?;
    let parts: Vec<&str> = own.split('/').filter(|part| !part.is_empty()).collect();
    let mut path = String::new();
    for (level, part) in parts.iter().enumerate() {
        let values = &key.values()[..=level];
        let spelled = names::join(&path, part);
        let found = levels.prefixes.get(values).map(Vec::as_slice).unwrap_or_default();
        let mut there: Vec<&String> =
            found.iter().filter(|dir| names::split(dir).0 == path).collect();
        there.sort_unstable();
        path = match there.first() {
            Some(first) if !there.contains(&&spelled) => (*first).clone(),
            _ => spelled,
        };
    }
    Ok(path)
}
