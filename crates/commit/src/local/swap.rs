//! Replacing a partition in one step: the staged directory and the live one change places.
//!
//! ```text
//!   1  link what the live one holds beyond what the record removes into the staged one
//!   2  rename the staged one to retained/<v>/<partition>
//!   3  EXCHANGE it with the live one
//!   4  whatever came to the live one in between goes back there
//! ```
//! After each of them a redo sees where the record's files are and goes on from there.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::LocalTable;
use super::disk::{DiskEntry, DiskKind};
use super::files::{is_across, missing_is};
use super::paths::links_unsupported;
use super::publish::{Changed, is_unknown, rename_unsupported};
use crate::record::{Record, RecordedPartition, RemovedFile};
use crate::{Error, Result, names};

impl LocalTable {
    /// Swaps a partition's staged directory with the live one; false where that can't be done and
    /// the files have to go one by one.
    pub(super) fn place_by_swap(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        changed: &mut Changed,
    ) -> Result<bool> {
        let live = self.live(&partition.path);
        let retained = self.retained(record.version, &partition.path);
        let Some(extras) = self.extras(partition)? else { return Ok(false) };
        let Some(on_its_way) = self.directory_to_swap(record, partition, &extras)? else {
            return Ok(false);
        };
        if !self.link_extras(&live, &on_its_way, &extras)? {
            return Ok(false);
        }
        if on_its_way != retained && !self.move_beside(&on_its_way, &retained, changed)? {
            return Ok(false);
        }
        let mode = self.find(&live)?;
        self.copy_mode(&retained, mode.as_ref())?;
        match self.disk.exchange(&retained, &live) {
            Ok(()) => {}
            Err(error) if rename_unsupported(&error) => {
                self.swapless.fetch_or(is_unknown(&error), Ordering::Relaxed);
                return Ok(false);
            }
            // Another tool removed the directory in between: nothing to swap with.
            Err(error) => return missing_is(error, false, "swap in", &live),
        }
        changed.extend(live.parent().map(PathBuf::from));
        changed.insert(live);
        Ok(true)
    }

    /// The names in the live directory that the record doesn't remove. None where a swap is out of
    /// the question: nothing is replaced, files of other directories or folders are involved, or it
    /// isn't a real directory.
    fn extras(&self, partition: &RecordedPartition) -> Result<Option<Vec<OsString>>> {
        let dir = &partition.path;
        let removed: HashSet<&str> = partition
            .removed
            .iter()
            .map(|f| names::split(&f.path))
            .filter(|(d, _)| d == dir)
            .map(|(_, n)| n)
            .collect();
        let live = self.live(dir);
        let whole = removed.len() == partition.removed.len();
        if dir.is_empty() || removed.is_empty() || partition.added.is_empty() || !whole {
            return Ok(None);
        }
        if !self.find(&live)?.is_some_and(|found| found.kind == DiskKind::Dir) {
            return Ok(None);
        }
        let entries = self.disk.list(&live).map_err(|error| Error::io("list", &live, error))?;
        if entries.iter().any(|entry| entry.kind == DiskKind::Dir) {
            return Ok(None);
        }
        self.not_removed(partition, entries).map(Some)
    }

    fn not_removed(
        &self,
        partition: &RecordedPartition,
        entries: Vec<DiskEntry>,
    ) -> Result<Vec<OsString>> {
        let mut extras = Vec::new();
        for entry in entries {
            let name = entry.name.to_str().unwrap_or_default();
            let path = names::join(&partition.path, name);
            let removed = partition.removed.iter().find(|file| file.path == path);
            let stays = match removed {
                Some(file) => !self.is_live(file)?,
                None => true,
            };
            if stays {
                extras.push(entry.name);
            }
        }
        Ok(extras)
    }

    /// The directory that holds the record's files: the staged one, or the one a redo finds on its
    /// way. None if anything else is in it.
    fn directory_to_swap(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        extras: &[OsString],
    ) -> Result<Option<PathBuf>> {
        let staged = self.staged_dir(record, partition);
        let retained = self.retained(record.version, &partition.path);
        for dir in [staged, retained] {
            let Ok(entries) = self.disk.list(&dir) else { continue };
            let ours = |entry: &DiskEntry| {
                partition.added.iter().any(|file| entry.name.to_str() == Some(&file.name))
            };
            let added = entries.iter().filter(|entry| ours(entry)).count();
            let known = |entry: &DiskEntry| ours(entry) || extras.contains(&entry.name);
            if added == partition.added.len() && entries.iter().all(known) {
                return Ok(Some(dir));
            }
        }
        Ok(None)
    }

    /// Gives every extra a second name in `dir`; false where the file system doesn't allow it.
    fn link_extras(&self, live: &Path, dir: &Path, extras: &[OsString]) -> Result<bool> {
        for name in extras {
            let (from, to) = (live.join(name), dir.join(name));
            match self.disk.link(&from, &to) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if !self.same_file(&from, &to)? {
                        self.remove_if_there(&to)?;
                        return Ok(false);
                    }
                }
                Err(error) if links_unsupported(&error) => {
                    self.note_linkless(&error);
                    return Ok(false);
                }
                // It went in between.
                Err(error) => missing_is(error, (), "link", &from)?,
            }
        }
        Ok(true)
    }

    fn same_file(&self, a: &Path, b: &Path) -> Result<bool> {
        let (a, b) = (self.find(a)?, self.find(b)?);
        Ok(a.zip(b).is_some_and(|(a, b)| (a.device, a.inode) == (b.device, b.inode)))
    }

    fn move_beside(&self, staged: &Path, retained: &Path, changed: &mut Changed) -> Result<bool> {
        let Some(parent) = retained.parent() else { return Ok(false) };
        for made in self.make_dirs(parent, self.find(&self.home)?.as_ref())? {
            changed.extend(made.parent().map(PathBuf::from));
        }
        // An empty directory of an earlier attempt is replaced.
        match self.disk.rename(staged, retained) {
            Ok(()) => {
                changed.insert(parent.to_path_buf());
                Ok(true)
            }
            Err(error) if rename_unsupported(&error) => Ok(false),
            Err(error) => Err(Error::io("rename to", retained, error)),
        }
    }

    /// Takes out of the retained directory what the record doesn't remove: second names of what is
    /// live, and what came to the live directory just before the swap, which goes back there.
    pub(super) fn settle_retained(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        changed: &mut Changed,
    ) -> Result<()> {
        self.give_back_all(record, partition, &|_| false, changed)
    }

    /// Gives back what another tool put in the place of the files that the record removes and a swap
    /// took along; the record's own files stay away.
    pub(super) fn give_back_foreign(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        changed: &mut Changed,
    ) -> Result<()> {
        let ours = |name: &str| partition.added.iter().any(|file| file.name == name);
        self.give_back_all(record, partition, &ours, changed)
    }

    fn give_back_all(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        stays: &dyn Fn(&str) -> bool,
        changed: &mut Changed,
    ) -> Result<()> {
        if partition.path.is_empty() || partition.added.is_empty() || partition.removed.is_empty() {
            return Ok(());
        }
        let dir = self.retained(record.version, &partition.path);
        let entries = match self.disk.list(&dir) {
            Ok(entries) => entries,
            Err(error) => return missing_is(error, (), "list", &dir),
        };
        for entry in entries.iter().filter(|entry| entry.kind != DiskKind::Dir) {
            let name = entry.name.to_str().unwrap_or_default();
            let path = names::join(&partition.path, name);
            let removed = partition.removed.iter().find(|file| file.path == path);
            let retained = match removed {
                Some(file) => self.is_retained(record.version, file)?,
                None => stays(name),
            };
            if retained {
                continue;
            }
            let copying = |file: &RemovedFile| names::copying(names::split(&file.path).1) == name;
            if partition.removed.iter().any(copying) {
                // A copy to retained that a crash cut off: it is made again.
                self.remove_if_there(&dir.join(&entry.name))?;
                continue;
            }
            self.give_back(&dir.join(&entry.name), &self.live(&partition.path), &entry.name)?;
            changed.insert(self.live(&partition.path));
        }
        Ok(())
    }

    /// Of two files of one name, the one that was written last stays at `to`: a tool may have replaced
    /// it just before the swap, or just after.
    fn keep_newer(&self, from: &Path, to: &Path) -> Result<()> {
        let (Some(taken), Some(there)) = (self.find(from)?, self.find(to)?) else { return Ok(()) };
        let same = (taken.device, taken.inode) == (there.device, there.inode);
        if same || taken.modified_ns <= there.modified_ns {
            return Ok(());
        }
        self.disk.rename(from, to).map_err(|error| Error::io("bring back", to, error))
    }

    fn give_back(&self, from: &Path, live: &Path, name: &OsString) -> Result<()> {
        let to = live.join(name);
        let moved = match self.disk.link(from, &to) {
            Err(error) if links_unsupported(&error) => self.disk.rename_new(from, &to),
            other => other,
        };
        match moved {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.keep_newer(from, &to)?;
            }
            Err(error) if is_across(&error) => {
                if !self.is_there(&to)? {
                    self.copy_across(from, &to)?;
                }
            }
            Err(error) => missing_is(error, (), "bring back", &to)?,
        }
        self.remove_if_there(from)
    }
}
