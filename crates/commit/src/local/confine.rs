//! Our own folders hold no links: what is written, moved or removed there stays there.
//!
//! A link that somebody plants in the log folder is refused, or removed as the name that it is, and
//! never gone through. Between the look and the step a link can still slip in: whoever can do that
//! can change the table anyway.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::LocalTable;
use super::disk::DiskKind;
use crate::record::{Record, RecordedPartition};
use crate::{Error, Result, names};

impl LocalTable {
    /// Refuses to go on where a folder of the log folder is a link, of those that lead to `dirs`.
    pub(super) fn refuse_links(&self, dirs: impl IntoIterator<Item = PathBuf>) -> Result<()> {
        let Some(link) = self.find_link(dirs)? else { return Ok(()) };
        Err(Error::corrupt(format!(
            "{} is a link, where partwise keeps files of its own: nothing was changed through it; \
             remove it",
            link.display()
        )))
    }

    /// A folder that is a link, of the log folder and those in it that lead to `dirs`.
    pub(super) fn find_link(
        &self,
        dirs: impl IntoIterator<Item = PathBuf>,
    ) -> Result<Option<PathBuf>> {
        let mut seen = BTreeSet::new();
        for dir in dirs {
            for path in dir.ancestors().take_while(|path| path.starts_with(&self.home)) {
                if seen.contains(path) {
                    break;
                }
                if self.is_link(path)? {
                    return Ok(Some(path.to_path_buf()));
                }
                seen.insert(path.to_path_buf());
            }
        }
        Ok(None)
    }

    pub(super) fn is_link(&self, path: &Path) -> Result<bool> {
        Ok(self.find(path)?.is_some_and(|found| found.kind == DiskKind::Link))
    }

    /// The folders of ours that a record's files are moved from and to.
    pub(super) fn folders_of(&self, record: &Record) -> BTreeSet<PathBuf> {
        let removed = |partition: &RecordedPartition| -> BTreeSet<PathBuf> {
            let dirs = partition.removed.iter().map(|file| names::split(&file.path).0);
            dirs.map(|dir| self.retained(record.version, dir)).collect()
        };
        let mut dirs = BTreeSet::from([self.log_dir(), self.staging(&record.transaction)]);
        for partition in &record.partitions {
            dirs.extend(removed(partition));
            if !partition.added.is_empty() {
                dirs.insert(self.retained(record.version, &partition.path));
                dirs.insert(self.staged_dir(record, partition));
            }
        }
        dirs
    }
}
