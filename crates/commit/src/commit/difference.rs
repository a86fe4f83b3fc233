//! What tells a table now from the same table at an earlier version, by partition.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::partition::{PartitionColumn, PartitionKey};
use crate::record::{Identity, RecordedPartition, RemovedFile};
use crate::snapshot::{DataFile, PartitionFiles, Past, Snapshot};

/// What the files that restores brought back are other names of.
pub(super) struct Origins(HashMap<String, RemovedFile>);

impl Origins {
    pub(super) fn of(past: &Past) -> Self {
        let mut origins = HashMap::new();
        for partition in past.later.iter().flat_map(|record| &record.partitions) {
            for file in &partition.added {
                if let Some(origin) = &file.origin {
                    origins.insert(file.path_in(&partition.path), origin.clone());
                }
            }
        }
        Self(origins)
    }

    /// The file that stands at the beginning.
    fn origin(&self, file: &DataFile) -> (String, Identity) {
        let mut found = RemovedFile { path: file.path.clone(), identity: file.identity.clone() };
        // An origin is of an earlier version than the file, so this ends.
        while let Some(origin) = self.0.get(&found.path) {
            found = origin.clone();
        }
        (found.path, found.identity)
    }
}

/// What tells one partition now from the same one then.
pub(super) struct Difference {
    pub(super) key: PartitionKey,
    /// The directory that what is brought back goes to.
    pub(super) path: String,
    /// Files of then that aren't there.
    pub(super) gone: Vec<DataFile>,
    /// Files that weren't there then.
    come: Vec<DataFile>,
    rows_before: u64,
    rows_kept: u64,
}

impl Difference {
    /// What is recorded, before anything is brought back.
    pub(super) fn recorded(self) -> RecordedPartition {
        let removed = |file: DataFile| RemovedFile { path: file.path, identity: file.identity };
        RecordedPartition {
            path: self.path,
            staged: None,
            key: self.key,
            added: Vec::new(),
            removed: self.come.into_iter().map(removed).collect(),
            rows_before: self.rows_before,
            rows_after: self.rows_kept,
        }
    }
}

/// Every partition of now and then, sorted by key; none for one that is the same.
pub(super) fn differences(
    columns: &[PartitionColumn],
    now: Snapshot,
    then: Snapshot,
    origins: &Origins,
) -> Vec<Option<Difference>> {
    type Both = (Option<PartitionFiles>, Option<PartitionFiles>);
    let place = |partition: &PartitionFiles| {
        let odd = partition.key.values().len() != columns.len();
        (partition.key.clone(), if odd { partition.path.clone() } else { String::new() })
    };
    let mut both: BTreeMap<(PartitionKey, String), Both> = BTreeMap::new();
    for partition in now.partitions {
        let place = place(&partition);
        both.entry(place).or_default().0 = Some(partition);
    }
    for partition in then.partitions {
        let place = place(&partition);
        both.entry(place).or_default().1 = Some(partition);
    }
    let compare = |((key, _), (now, then))| difference(key, now, then, origins);
    both.into_iter().map(compare).collect()
}

fn difference(
    key: PartitionKey,
    now: Option<PartitionFiles>,
    then: Option<PartitionFiles>,
    origins: &Origins,
) -> Option<Difference> {
    let path = now.as_ref().or(then.as_ref()).map(|partition| partition.path.clone());
    let files = |partition: Option<PartitionFiles>| partition.map(|p| p.files).unwrap_or_default();
    let (now, then) = (files(now), files(then));
    let of =
        |files: &[DataFile]| -> HashSet<_> { files.iter().map(|f| origins.origin(f)).collect() };
    let (there, wanted) = (of(&now), of(&then));
    let rows_before = now.iter().filter_map(|file| file.rows).sum();
    let (kept, come): (Vec<_>, Vec<_>) =
        now.into_iter().partition(|file| wanted.contains(&origins.origin(file)));
    let gone = then.into_iter().filter(|file| !there.contains(&origins.origin(file)));
    let gone: Vec<DataFile> = gone.collect();
    if gone.is_empty() && come.is_empty() {
        return None;
    }
    let rows_kept = kept.iter().filter_map(|file| file.rows).sum();
    Some(Difference { key, path: path.unwrap_or_default(), gone, come, rows_before, rows_kept })
}
