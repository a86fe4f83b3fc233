//! Where the files of a record are, before anything is moved.

use std::path::{Path, PathBuf};

use super::LocalTable;
use super::disk::DiskKind;
use crate::Result;
use crate::record::{AddedFile, Record, RecordedPartition, RemovedFile};

/// What is left to do for one partition of a record that isn't published.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// Another tool replaced it after the commit point: its content stands.
    Skipped,
    /// A staged file is gone: the record is void.
    Gone(PathBuf),
    /// All its files are in place.
    Placed,
    /// Files wait to be brought in.
    Waiting,
}

impl LocalTable {
    pub(super) fn survey(
        &self,
        record: &Record,
        partition: &RecordedPartition,
    ) -> Result<Placement> {
        if self.is_replaced(record, partition)? {
            return Ok(Placement::Skipped);
        }
        let mut placed = true;
        for file in &partition.added {
            if self.is_placed(partition, file)? {
                continue;
            }
            placed = false;
            if self.waiting_place(record, partition, file)?.is_none() {
                return self.survey_missing(record, partition, file);
            }
        }
        Ok(if placed { Placement::Placed } else { Placement::Waiting })
    }

    /// Whether another tool replaced a partition after the commit point: a file that the record
    /// removes is neither there nor retained.
    pub(super) fn is_replaced(
        &self,
        record: &Record,
        partition: &RecordedPartition,
    ) -> Result<bool> {
        for file in &partition.removed {
            if !self.is_live(file)? && !self.is_retained(record.version, file)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// An added file is nowhere. If all that it replaces went to retained, the swap was done, and
    /// another tool has been at the partition since; otherwise the staged file is gone.
    fn survey_missing(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        file: &AddedFile,
    ) -> Result<Placement> {
        let mut swapped = !partition.removed.is_empty();
        for removed in &partition.removed {
            swapped &= self.is_retained(record.version, removed)? && !self.is_live(removed)?;
        }
        Ok(if swapped {
            Placement::Placed
        } else {
            Placement::Gone(self.staged_dir(record, partition).join(&file.name))
        })
    }

    pub(super) fn is_live(&self, file: &RemovedFile) -> Result<bool> {
        self.is_file(&self.live(&file.path), &file.identity)
    }

    pub(super) fn is_retained(&self, version: u64, file: &RemovedFile) -> Result<bool> {
        self.is_file(&self.retained(version, &file.path), &file.identity)
    }

    /// Whether an added file is at its place: its name is added by one record ever.
    pub(super) fn is_placed(
        &self,
        partition: &RecordedPartition,
        file: &AddedFile,
    ) -> Result<bool> {
        let found = self.find(&self.live(&file.path_in(&partition.path)))?;
        Ok(found.is_some_and(|f| f.kind == DiskKind::File && f.size == file.identity.size))
    }

    /// Where an added file waits: in staging, or in the directory on its way to be swapped in.
    /// A link or another file of that name doesn't count.
    pub(super) fn waiting_place(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        file: &AddedFile,
    ) -> Result<Option<PathBuf>> {
        let staged = self.staged_dir(record, partition).join(&file.name);
        let retained = self.retained(record.version, &file.path_in(&partition.path));
        for path in [staged, retained] {
            if self.is_own_file(&path, file)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    fn is_own_file(&self, path: &Path, file: &AddedFile) -> Result<bool> {
        let found = self.find(path)?;
        Ok(found.is_some_and(|f| f.kind == DiskKind::File && f.identity() == file.identity))
    }

    /// The directory that a partition's files were staged in.
    pub(super) fn staged_dir(&self, record: &Record, partition: &RecordedPartition) -> PathBuf {
        let dir = partition.staged.as_deref().unwrap_or(&partition.path);
        let root = self.staging(&record.transaction);
        if dir.is_empty() { root } else { root.join(dir) }
    }
}
