//! After the switch: what a record removed goes to retained, what its outcome leaves over goes.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::LocalTable;
use super::files::{is_across, missing_is};
use super::publish::{Changed, rename_unsupported};
use crate::record::{Identity, Outcome, Record, RecordedPartition, RemovedFile};
use crate::{Error, Result, names};

impl LocalTable {
    /// Does what is left to do of a published record, and removes its staging folder. Every step
    /// looks at the named file first, so it can be repeated at any time.
    pub(super) fn clean_up(&self, record: &Record, outcome: &Outcome) -> Result<()> {
        self.refuse_links(self.folders_of(record))?;
        let mut changed = Changed::new();
        for partition in &record.partitions {
            match outcome {
                Outcome::Void => self.undo(record, partition, &mut changed)?,
                Outcome::Skipped { partitions } if partitions.contains(&partition.path) => {
                    self.retain_added(record, partition, &mut changed)?;
                }
                Outcome::Done | Outcome::Skipped { .. } => {
                    self.settle_retained(record, partition, &mut changed)?;
                    self.retain_removed(record, partition, &mut changed)?;
                }
            }
        }
        self.sync_all(&changed)?;
        self.remove_own_tree(&self.staging(&record.transaction))
    }

    fn retain_removed(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        changed: &mut Changed,
    ) -> Result<()> {
        let mut dirs: BTreeSet<&str> = BTreeSet::new();
        for file in &partition.removed {
            if self.is_live(file)? {
                self.retain(record.version, &file.path, &file.identity, changed)?;
            }
            dirs.insert(names::split(&file.path).0);
        }
        for dir in dirs {
            self.remove_if_empty(dir, changed)?;
        }
        Ok(())
    }

    /// Moves one live file to retained, if it is still the one meant when it is there.
    fn retain(
        &self,
        version: u64,
        path: &str,
        identity: &Identity,
        changed: &mut Changed,
    ) -> Result<()> {
        let (live, retained) = (self.live(path), self.retained(version, path));
        if let Some(dir) = retained.parent() {
            for made in self.make_dirs(dir, self.find(&self.home)?.as_ref())? {
                changed.extend(made.parent().map(PathBuf::from));
            }
            changed.insert(dir.to_path_buf());
        }
        match self.disk.rename(&live, &retained) {
            Ok(()) => {}
            Err(error) if is_across(&error) => {
                return self.retain_across(&live, &retained, identity, changed);
            }
            Err(error) => return missing_is(error, (), "retain", &live),
        }
        changed.extend(live.parent().map(PathBuf::from));
        if !self.is_file(&retained, identity)? {
            // Another tool put its own file there in between.
            self.move_back(&retained, &live)?;
        }
        Ok(())
    }

    /// The same to another file system. Between the check and the removal another tool can slip in.
    fn retain_across(
        &self,
        live: &Path,
        retained: &Path,
        identity: &Identity,
        changed: &mut Changed,
    ) -> Result<()> {
        if !self.is_file(retained, identity)? {
            self.copy_across(live, retained)?;
        }
        match self.is_file(retained, identity)? {
            true if self.is_file(live, identity)? => self.remove_if_there(live)?,
            true => {}
            // It was another's by then, and stays.
            false => self.remove_if_there(retained)?,
        }
        changed.extend(live.parent().map(PathBuf::from));
        Ok(())
    }

    fn move_back(&self, from: &Path, to: &Path) -> Result<()> {
        match self.disk.rename_new(from, to) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            // Without a rename that replaces nothing: look first.
            Err(error) if rename_unsupported(&error) && !self.is_there(to)? => {
                match self.disk.rename(from, to) {
                    Err(error) if is_across(&error) => {
                        self.copy_across(from, to)?;
                        self.remove_if_there(from)
                    }
                    moved => moved.map_err(|error| Error::io("bring back", to, error)),
                }
            }
            Err(error) => Err(Error::io("bring back", to, error)),
        }
    }

    /// The files of ours in a partition that another tool replaced: they don't count.
    fn retain_added(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        changed: &mut Changed,
    ) -> Result<()> {
        for file in &partition.added {
            if self.is_placed(partition, file)? {
                let path = file.path_in(&partition.path);
                self.retain(record.version, &path, &file.identity, changed)?;
            }
        }
        Ok(())
    }

    /// A void record: what it added goes, what a swap took away comes back.
    fn undo(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        changed: &mut Changed,
    ) -> Result<()> {
        for file in &partition.removed {
            if !self.is_live(file)? && self.is_retained(record.version, file)? {
                self.bring_back(record.version, file, changed)?;
            }
        }
        for file in &partition.added {
            let path = file.path_in(&partition.path);
            if self.is_placed(partition, file)? {
                self.remove_if_there(&self.live(&path))?;
                changed.insert(self.live(&partition.path));
            }
            self.remove_if_there(&self.retained(record.version, &path))?;
        }
        self.settle_retained(record, partition, changed)?;
        self.remove_if_empty(&partition.path, changed)
    }

    fn bring_back(&self, version: u64, file: &RemovedFile, changed: &mut Changed) -> Result<()> {
        let live = self.live(&file.path);
        if let Some(dir) = live.parent() {
            self.make_dirs(dir, self.find(&self.dir)?.as_ref())?;
            changed.insert(dir.to_path_buf());
        }
        self.move_back(&self.retained(version, &file.path), &live)
    }

    /// Removes a partition's directory that holds nothing, and those above it.
    fn remove_if_empty(&self, dir: &str, changed: &mut Changed) -> Result<()> {
        let mut dir = dir;
        while !dir.is_empty() {
            let path = self.live(dir);
            match self.disk.remove_dir(&path) {
                Ok(()) => changed.extend(path.parent().map(PathBuf::from)),
                Err(error) if is_not_empty(&error) => return Ok(()),
                Err(error) => missing_is(error, (), "remove", &path)?,
            }
            dir = names::split(dir).0;
        }
        Ok(())
    }

    /// Removes what a record put to retained, and the folders that are empty then.
    pub(super) fn remove_retained(&self, record: &Record) -> Result<()> {
        self.refuse_links(self.folders_of(record))?;
        let version = record.version;
        let mut dirs: BTreeSet<String> = BTreeSet::new();
        for partition in &record.partitions {
            let added = partition.added.iter().map(|file| file.path_in(&partition.path));
            let removed = partition.removed.iter().map(|file| file.path.clone());
            for path in added.chain(removed) {
                self.remove_if_there(&self.retained(version, &path))?;
                let mut dir = names::split(&path).0;
                while dirs.insert(dir.to_string()) && !dir.is_empty() {
                    dir = names::split(dir).0;
                }
            }
        }
        dirs.insert(String::new());
        // Deepest first: a longer path sorts behind its own beginning.
        for dir in dirs.iter().rev() {
            let path = self.retained(version, dir);
            match self.disk.remove_dir(&path) {
                Ok(()) => {}
                Err(error) if is_not_empty(&error) => {}
                Err(error) => missing_is(error, (), "remove", &path)?,
            }
        }
        Ok(())
    }
}

/// Whether a directory wasn't removed because something is in it, or because it is a link.
pub(super) fn is_not_empty(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let kept = [Errno::NOTEMPTY, Errno::EXIST, Errno::NOTDIR, Errno::BUSY];
    kept.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
