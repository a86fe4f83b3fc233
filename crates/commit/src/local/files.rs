//! Small steps with files and directories that the local table is made of.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::disk::{Disk, DiskKind, DiskMetadata};
use super::paths::LocalTable;
use crate::record::Identity;
use crate::{Error, Result, names};

/// How many directories are synced at once: a journal takes several in one turn.
const SYNC_THREADS: usize = 8;
/// How often a directory is made again after those above it.
const MAKE_TRIES: usize = 8;

/// The value of a name that isn't there; any other error as it is.
pub(super) fn missing_is<T>(error: io::Error, value: T, doing: &str, path: &Path) -> Result<T> {
    if is_missing(&error) { Ok(value) } else { Err(Error::io(doing, path, error)) }
}

/// Whether the error says that a name isn't there.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether a name was to go to another file system.
pub(super) fn is_across(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::CrossesDevices
}

/// A small file's content, none if it isn't there.
pub(super) fn read_if_there(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<u8>>> {
    match disk.read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) => missing_is(error, None, "read", path),
    }
}

impl DiskMetadata {
    /// What tells this file from another of the same name.
    pub(super) fn identity(&self) -> Identity {
        Identity { size: self.size, modified_ns: Some(self.modified_ns), etag: None }
    }
}

impl LocalTable {
    /// What is at a path, a link not followed; none if nothing is.
    pub(super) fn find(&self, path: &Path) -> Result<Option<DiskMetadata>> {
        match self.disk.link_metadata(path) {
            Ok(found) => Ok(Some(found)),
            Err(error) => missing_is(error, None, "look at", path),
        }
    }

    /// Whether the file at `path` is the one of this identity. Links are followed: a data file may
    /// be one.
    pub(super) fn is_file(&self, path: &Path, identity: &Identity) -> Result<bool> {
        match self.disk.metadata(path) {
            Ok(found) => Ok(found.kind == DiskKind::File && found.identity() == *identity),
            Err(error) => missing_is(error, false, "look at", path),
        }
    }

    /// Makes a directory and those above it, with the mode and group of `like`; the ones made.
    pub(super) fn make_dirs(
        &self,
        dir: &Path,
        like: Option<&DiskMetadata>,
    ) -> Result<Vec<PathBuf>> {
        let mut made = Vec::new();
        let mut tries = 0;
        loop {
            let error = match self.disk.create_dir(dir) {
                Ok(()) => {
                    self.copy_mode(dir, like)?;
                    made.push(dir.to_path_buf());
                    return Ok(made);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(made),
                Err(error) => error,
            };
            tries += 1;
            match dir.parent() {
                // Others sweep empty directories; but some places take no new ones at all, and say
                // of a parent that is there that it isn't.
                Some(parent) if error.kind() == io::ErrorKind::NotFound && tries < MAKE_TRIES => {
                    made.extend(self.make_dirs(parent, like)?);
                }
                _ => return Err(Error::io("create", dir, error)),
            }
        }
    }

    /// Mode and group as those of `like`, for a file without the execute bits.
    pub(super) fn copy_mode(&self, path: &Path, like: Option<&DiskMetadata>) -> Result<()> {
        let Some(like) = like else { return Ok(()) };
        self.disk.copy_mode(path, like).map_err(|error| Error::io("set the mode of", path, error))
    }

    /// Writes a new file and makes its content durable.
    pub(super) fn write_synced(&self, path: &Path, content: &[u8]) -> Result<()> {
        let write = || -> io::Result<()> {
            let mut file = self.disk.create(path)?;
            file.write(content)?;
            file.sync().map(|_| ())
        };
        write().map_err(|error| {
            if error.kind() != io::ErrorKind::AlreadyExists {
                let _ = self.disk.remove_file(path);
            }
            Error::io("write", path, error)
        })
    }

    /// Puts a file in place of another in one step, durably. One writer at a time does that: what a
    /// crash left of an earlier attempt is in the way and goes.
    pub(super) fn replace_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::internal(format!("{} has no directory", path.display())));
        };
        let temporary = dir.join(format!("{}{}", name.to_string_lossy(), names::NEW));
        self.remove_if_there(&temporary)?;
        self.write_synced(&temporary, content)?;
        if let Err(error) = self.disk.rename(&temporary, path) {
            let _ = self.disk.remove_file(&temporary);
            return Err(Error::io("replace", path, error));
        }
        self.sync(dir)
    }

    /// An empty file that is there afterwards; whether it was made.
    pub(super) fn touch(&self, path: &Path, like: Option<&DiskMetadata>) -> Result<bool> {
        match self.disk.create(path) {
            Ok(_) => {
                let like = like.map(file_mode);
                self.copy_mode(path, like.as_ref())?;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(Error::io("create", path, error)),
        }
    }

    /// Copies a file to a name that isn't there, on another file system: under a hidden name first,
    /// so that it is never seen by half.
    pub(super) fn copy_across(&self, from: &Path, to: &Path) -> Result<()> {
        let (Some(dir), Some(name)) = (to.parent(), to.file_name()) else {
            return Err(Error::internal(format!("{} has no directory", to.display())));
        };
        let hidden = dir.join(names::copying(&name.to_string_lossy()));
        self.remove_if_there(&hidden)?;
        let copied = self.disk.copy(from, &hidden).and_then(|()| self.disk.rename(&hidden, to));
        copied.map_err(|error| {
            let _ = self.disk.remove_file(&hidden);
            Error::io("copy to", to, error)
        })
    }

    pub(super) fn remove_if_there(&self, path: &Path) -> Result<()> {
        match self.disk.remove_file(path) {
            Ok(()) => Ok(()),
            Err(error) => missing_is(error, (), "remove", path),
        }
    }

    /// Makes the names in a directory durable.
    pub(super) fn sync(&self, dir: &Path) -> Result<()> {
        self.disk.sync_dir(dir).map_err(|error| Error::io("sync", dir, error))
    }

    /// The same for many directories, several at once. One that is gone has nothing to keep.
    pub(super) fn sync_all(&self, dirs: &BTreeSet<PathBuf>) -> Result<()> {
        let dirs: Vec<&PathBuf> = dirs.iter().collect();
        let next = AtomicUsize::new(0);
        let work = || -> Result<()> {
            while let Some(dir) = dirs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = self.disk.sync_dir(dir) {
                    missing_is(error, (), "sync", dir)?;
                }
            }
            Ok(())
        };
        let threads = SYNC_THREADS.min(dirs.len());
        // Without a runtime nothing runs beside what is asked for.
        if threads <= 1 || tokio::runtime::Handle::try_current().is_err() {
            return work();
        }
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            running.into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|_| Err(Error::internal("a thread of syncs ended")))
            })
        })
    }

    /// Removes a folder of our own and what is in it, file by file, links not followed.
    pub(super) fn remove_own_tree(&self, dir: &Path) -> Result<()> {
        if self.is_link(dir)? { self.remove_if_there(dir) } else { self.remove_real_tree(dir) }
    }

    fn remove_real_tree(&self, dir: &Path) -> Result<()> {
        let entries = match self.disk.list(dir) {
            Ok(entries) => entries,
            Err(error) => return missing_is(error, (), "list", dir),
        };
        for entry in entries {
            let path = dir.join(&entry.name);
            if entry.kind == DiskKind::Dir {
                self.remove_real_tree(&path)?;
            } else {
                self.remove_if_there(&path)?;
            }
        }
        match self.disk.remove_dir(dir) {
            Ok(()) => Ok(()),
            Err(error) => missing_is(error, (), "remove", dir),
        }
    }
}

/// The mode of a file in a directory: the directory's, nothing executable.
pub(super) fn file_mode(dir: &DiskMetadata) -> DiskMetadata {
    DiskMetadata { mode: dir.mode & 0o666, ..*dir }
}
