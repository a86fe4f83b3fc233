//! Bringing a record's files in: appended files one by one, new partitions whole, replaced ones by
//! a swap.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::LocalTable;
use super::disk::{DiskKind, DiskMetadata};
use super::files::is_across;
use super::paths::links_unsupported;
use super::survey::Placement;
use crate::backend::SuccessMarker;
use crate::record::{Outcome, Record, RecordedPartition};
use crate::{Error, Result, names};

/// Directories whose names changed, to be synced before the version is published.
pub(super) type Changed = BTreeSet<PathBuf>;

impl LocalTable {
    /// Brings the files of a record in, as far as they aren't. Looks at everything before it moves
    /// anything, so that a record which turns out void has moved nothing now.
    pub(super) fn bring_in(&self, record: &Record, marker: SuccessMarker) -> Result<Outcome> {
        self.refuse_links(self.folders_of(record))?;
        let mut skipped = Vec::new();
        let mut waiting = Vec::new();
        for partition in &record.partitions {
            match self.survey(record, partition)? {
                Placement::Skipped => skipped.push(partition),
                Placement::Gone(_) => return Ok(Outcome::Void),
                Placement::Placed => waiting.push((partition, true)),
                Placement::Waiting => waiting.push((partition, false)),
            }
        }
        let mut changed = Changed::new();
        let root = self.open_table(record, &mut changed)?;
        for dir in marker.directories(record) {
            self.remove_if_there(&self.live(dir).join(names::SUCCESS))?;
        }
        for (partition, placed) in waiting {
            if !placed {
                self.place(record, partition, &root, &mut changed)?;
            }
            // Between the look and the swap it may have been replaced after all.
            if !placed && self.is_replaced(record, partition)? {
                skipped.push(partition);
            } else {
                self.settle_retained(record, partition, &mut changed)?;
            }
        }
        for partition in &skipped {
            self.give_back_foreign(record, partition, &mut changed)?;
        }
        self.sync_all(&changed)?;
        if skipped.is_empty() {
            Ok(Outcome::Done)
        } else {
            let mut partitions: Vec<String> = skipped.iter().map(|p| p.path.clone()).collect();
            partitions.sort_unstable();
            Ok(Outcome::Skipped { partitions })
        }
    }

    /// The table's directory with the marker of its log.
    fn open_table(&self, record: &Record, changed: &mut Changed) -> Result<DiskMetadata> {
        for made in self.make_dirs(&self.dir, None)? {
            changed.extend(made.parent().map(PathBuf::from));
        }
        let root = self
            .find(&self.dir)?
            .ok_or_else(|| Error::conflict(format!("{} was removed", self.dir.display())))?;
        let marker = names::marker(&record.table);
        if self.touch(&self.dir.join(&marker), Some(&root))? {
            self.remove_other_markers(&marker)?;
            changed.insert(self.dir.clone());
        }
        Ok(root)
    }

    /// Markers of earlier lives and of the table this one was copied from.
    fn remove_other_markers(&self, own: &str) -> Result<()> {
        let entries = self.disk.list(&self.dir);
        for entry in entries.map_err(|error| Error::io("list", &self.dir, error))? {
            let name = entry.name.to_str().unwrap_or_default();
            if entry.kind == DiskKind::File && names::is_marker(name) && name != own {
                self.remove_if_there(&self.dir.join(name))?;
            }
        }
        Ok(())
    }

    fn place(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        root: &DiskMetadata,
        changed: &mut Changed,
    ) -> Result<()> {
        let placed = self.place_new(record, partition, root, changed)?
            || self.place_by_swap(record, partition, changed)?;
        if placed { Ok(()) } else { self.place_by_file(record, partition, root, changed) }
    }

    /// A partition whose directory isn't there: its staged directory takes the place, if nothing
    /// but the record's files is in it.
    fn place_new(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        root: &DiskMetadata,
        changed: &mut Changed,
    ) -> Result<bool> {
        let live = self.live(&partition.path);
        let staged = self.staged_dir(record, partition);
        if partition.path.is_empty()
            || self.find(&live)?.is_some()
            || !self.holds_only_added(&staged, partition)?
        {
            return Ok(false);
        }
        let Some(parent) = live.parent() else { return Ok(false) };
        for made in self.make_dirs(parent, Some(root))? {
            changed.extend(made.parent().map(PathBuf::from));
        }
        self.copy_mode(&staged, Some(root))?;
        match self.disk.rename_new(&staged, &live) {
            Ok(()) => {
                changed.insert(parent.to_path_buf());
                changed.insert(live);
                Ok(true)
            }
            // Another tool made it in between, or the file system can't: file by file.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) if rename_unsupported(&error) => Ok(false),
            Err(error) => Err(Error::io("rename to", &live, error)),
        }
    }

    /// Whether a staged directory holds exactly the record's files.
    fn holds_only_added(&self, staged: &Path, partition: &RecordedPartition) -> Result<bool> {
        if !self.find(staged)?.is_some_and(|found| found.kind == DiskKind::Dir) {
            return Ok(false);
        }
        let entries = self.disk.list(staged).map_err(|error| Error::io("list", staged, error))?;
        let ours = |name: &str| partition.added.iter().any(|file| file.name == name);
        Ok(entries.len() == partition.added.len()
            && entries
                .iter()
                .all(|e| e.kind == DiskKind::File && e.name.to_str().is_some_and(ours)))
    }

    /// One file after another, by a second name: the staged one stays until the record is cleaned,
    /// so that a redo finds it.
    fn place_by_file(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        root: &DiskMetadata,
        changed: &mut Changed,
    ) -> Result<()> {
        let live = self.live(&partition.path);
        for made in self.make_dirs(&live, Some(root))? {
            changed.extend(made.parent().map(PathBuf::from));
        }
        for file in &partition.added {
            if self.is_placed(partition, file)? {
                continue;
            }
            let target = live.join(&file.name);
            let Some(source) = self.waiting_place(record, partition, file)? else {
                return Err(Error::unavailable(format!("{} is gone", target.display())));
            };
            let linked = match self.disk.link(&source, &target) {
                Err(error) if links_unsupported(&error) => self.disk.rename(&source, &target),
                other => other,
            };
            match linked {
                Err(error) if is_across(&error) => self.copy_across(&source, &target)?,
                linked => linked.map_err(|error| Error::io("bring in", &target, error))?,
            }
        }
        changed.insert(live);
        Ok(())
    }

    /// Writes `_SUCCESS`: all that was committed is in place.
    pub(super) fn write_success(&self, record: &Record, marker: SuccessMarker) -> Result<()> {
        if marker == SuccessMarker::None {
            return Ok(());
        }
        let root = self.find(&self.dir)?;
        for dir in marker.directories(record) {
            self.touch(&self.live(dir).join(names::SUCCESS), root.as_ref())?;
        }
        Ok(())
    }
}

/// Whether the file system has no such rename.
pub(super) fn is_unknown(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let unknown = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP];
    unknown.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Whether a directory can't be renamed or swapped here, for want of the file system's support or of
/// rights to its parent: its files may still be moved one by one.
pub(super) fn rename_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let cannot = [
        Errno::INVAL,
        Errno::NOSYS,
        Errno::OPNOTSUPP,
        Errno::XDEV,
        Errno::BUSY,
        Errno::PERM,
        Errno::ACCESS,
    ];
    cannot.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
