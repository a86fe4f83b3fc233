//! What would keep a logged record from being brought in, found while it can still be refused.

use std::collections::BTreeSet;
use std::path::Path;

use super::LocalTable;
use super::disk::DiskKind;
use super::files::is_missing;
use crate::record::{Record, RecordedPartition};
use crate::{Error, Result, names};

impl LocalTable {
    /// Looks for all of it.
    ///
    /// # Errors
    /// The first that is found, with the path; nothing has been logged.
    pub(super) fn refuse_unfinishable(&self, record: &Record) -> Result<()> {
        self.refuse_links(self.folders_of(record))?;
        self.refuse_unwritable(record)?;
        self.refuse_relative_links(record)?;
        self.refuse_folders_as_markers(record)?;
        self.refuse_taken(record.version)
    }

    /// `_SUCCESS` is a file to be removed and written.
    fn refuse_folders_as_markers(&self, record: &Record) -> Result<()> {
        let partitions = record.partitions.iter().map(|partition| partition.path.as_str());
        for dir in partitions.chain([""]) {
            let marker = self.live(dir).join(names::SUCCESS);
            if self.find(&marker)?.is_some_and(|found| found.kind == DiskKind::Dir) {
                return Err(Error::unsupported(format!(
                    "{} is a folder, where an empty file says that all is in place: remove it",
                    marker.display()
                )));
            }
        }
        Ok(())
    }

    /// A file to be kept in retained that is a link by a relative path: there it would lead nowhere,
    /// and what it stands for would count as removed by somebody else.
    fn refuse_relative_links(&self, record: &Record) -> Result<()> {
        for file in record.partitions.iter().flat_map(|partition| &partition.removed) {
            let path = self.live(&file.path);
            let is_link =
                matches!(self.disk.link_metadata(&path), Ok(found) if found.kind == DiskKind::Link);
            if is_link && self.disk.read_link(&path).is_ok_and(|to| to.is_relative()) {
                return Err(Error::unsupported(format!(
                    "{} is a link by a relative path, which can't be kept for undo: put the file itself \
                     there, or a link by an absolute path",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// What another history of the table has kept under this version would be mixed with what this
    /// one keeps.
    fn refuse_taken(&self, version: u64) -> Result<()> {
        let kept = self.retained(version, "");
        match self.is_there(&kept)? {
            false => Ok(()),
            true => Err(Error::corrupt(format!(
                "{} is there already, from another history of this table (a log that was restored?): \
                 move it away, then run the statement again",
                kept.display()
            ))),
        }
    }

    /// What would keep a logged record from being brought in, as long as it can still be refused:
    /// directories that this user can't change.
    fn refuse_unwritable(&self, record: &Record) -> Result<()> {
        let removed = |partition: &RecordedPartition| -> Vec<String> {
            partition.removed.iter().map(|f| names::split(&f.path).0.to_string()).collect()
        };
        let dirs = record.partitions.iter();
        let dirs: BTreeSet<String> = dirs
            .flat_map(|partition| [removed(partition), vec![partition.path.clone()]].concat())
            .collect();
        self.is_writable(&self.home)?;
        self.is_writable(&self.home.join(names::RETAINED))?;
        dirs.iter().try_for_each(|dir| self.check_writable(dir))
    }

    /// Whether names can be changed in a directory of the table, or in the one that it will be made
    /// in.
    fn check_writable(&self, dir: &str) -> Result<()> {
        let mut dir = dir;
        while !self.is_writable(&self.live(dir))? && !dir.is_empty() {
            dir = names::split(dir).0;
        }
        Ok(())
    }

    /// Whether there is a directory; an error if this user can't change names in it.
    fn is_writable(&self, path: &Path) -> Result<bool> {
        match self.disk.check_writable(path) {
            Ok(()) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => {
                let text = format!(
                    "{} can't be changed by this user, so nothing was: make it writable",
                    path.display()
                );
                Err(Error::unavailable(text).with_source(error))
            }
        }
    }
}
