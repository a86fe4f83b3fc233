//! The files of a snapshot as DataFusion's scan takes them.

use std::cmp::Reverse;
use std::sync::Arc;

use datafusion::datasource::physical_plan::FileGroup;
use datafusion::error::Result;
use datafusion_datasource::PartitionedFile;
use object_store::ObjectMeta;
use object_store::path::Path;
use partwise_commit::{Location, PartitionColumn, PartitionFiles, Table};

use crate::reader::{ScanFile, ScanPartition, modified};
use crate::value::scalar;

/// The files of these partitions, each with its partition's values.
pub(super) fn partitioned_files(
    table: &Table,
    columns: &[PartitionColumn],
    partitions: Vec<PartitionFiles>,
) -> Result<Vec<PartitionedFile>> {
    let mut files = Vec::with_capacity(partitions.iter().map(|p| p.files.len()).sum());
    for partition in partitions {
        let state = Arc::new(ScanPartition::default());
        let values = columns
            .iter()
            .zip(partition.key.values())
            .map(|(column, value)| scalar(&column.ty, value))
            .collect::<Result<Vec<_>>>()?;
        for file in partition.files {
            let file = ScanFile::new(table.clone(), file, Arc::clone(&state));
            files.push(partitioned_file(file).with_partition_values(values.clone()));
        }
    }
    Ok(files)
}

fn partitioned_file(file: ScanFile) -> PartitionedFile {
    let identity = &file.data_file().identity;
    let meta = ObjectMeta {
        location: shown_path(&file),
        last_modified: modified(identity),
        size: identity.size,
        e_tag: identity.etag.clone(),
        version: None,
    };
    PartitionedFile::new_from_meta(meta).with_extension(file)
}

/// The path that plans and metrics show; what is opened is the snapshot's file that it carries.
fn shown_path(file: &ScanFile) -> Path {
    let path = &file.data_file().path;
    let full = match file.table().location() {
        Location::Local { dir, .. } => {
            let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
            format!("{}/{path}", dir.display())
        }
        Location::Store { prefix, .. } => format!("{prefix}/{path}"),
    };
    Path::parse(full.trim_start_matches('/')).unwrap_or_else(|_| Path::from(full))
}

/// At most `target` groups of about the same size; one empty group where there are no files, so
/// that the scan stays in the plan.
pub(super) fn balanced_groups(mut files: Vec<PartitionedFile>, target: usize) -> Vec<FileGroup> {
    let count = target.min(files.len()).max(1);
    // Files keep their order within a group; the biggest are given out first.
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|&index| Reverse(files[index].object_meta.size));
    let mut sizes = vec![0_u64; count];
    let mut group_of = vec![0; files.len()];
    for index in order {
        let lightest = (0..count).min_by_key(|&group| sizes[group]).unwrap_or(0);
        // A file costs something even if it is tiny.
        sizes[lightest] += files[index].object_meta.size + 64 * 1024;
        group_of[index] = lightest;
    }
    let mut groups: Vec<Vec<PartitionedFile>> = vec![Vec::new(); count];
    for (file, group) in files.drain(..).zip(group_of) {
        groups[group].push(file);
    }
    groups.into_iter().map(FileGroup::new).collect()
}

/// The same, of whole partitions in their order: one partition's rows come file by file.
pub(super) fn partition_groups(files: Vec<PartitionedFile>, target: usize) -> Vec<FileGroup> {
    let total: u64 = files.iter().map(|file| file.object_meta.size).sum();
    let share = (total / target.max(1) as u64).max(1);
    let mut groups: Vec<Vec<PartitionedFile>> = vec![Vec::new()];
    let mut taken = 0;
    for file in files {
        let last = groups.last_mut().and_then(|group| group.last());
        let begins = last.is_some_and(|last| last.partition_values != file.partition_values);
        if begins && taken >= share && groups.len() < target {
            groups.push(Vec::new());
            taken = 0;
        }
        taken += file.object_meta.size;
        if let Some(group) = groups.last_mut() {
            group.push(file);
        }
    }
    groups.into_iter().map(FileGroup::new).collect()
}

#[cfg(test)]
mod tests {
    use datafusion::common::ScalarValue;

    use super::*;

    #[test]
    fn a_partition_stays_in_one_group() {
        let file = |n: i32| {
            let file = PartitionedFile::new(format!("{n}.parquet"), 10);
            file.with_partition_values(vec![ScalarValue::from(n / 3)])
        };
        let sizes = |target| -> Vec<usize> {
            let groups = partition_groups((0..12).map(file).collect(), target);
            groups.iter().map(FileGroup::len).collect()
        };
        assert_eq!(sizes(2), [6, 6]);
        assert_eq!(sizes(3), [6, 6]);
        assert_eq!(sizes(4), [3, 3, 3, 3]);
        assert_eq!(sizes(99), [3, 3, 3, 3]);
        assert_eq!(partition_groups(vec![], 4).len(), 1);
    }
}
