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
