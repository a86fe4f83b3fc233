//! Staging on a local disk: files that no reader sees, in a folder whose lock says that its writer
//! lives.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;

use super::disk::{DiskKind, DiskLock, DiskMetadata, DiskWriter};
use super::files::{file_mode, missing_is};
use super::lock::{holder, locks_unsupported};
use super::paths::links_unsupported;
use super::{LocalTable, blocking};
use crate::backend::{StagedBytes, StagedPlace, StagedSink, Staging};
use crate::record::{Identity, TransactionId};
use crate::snapshot::DataFile;
use crate::{Error, Result, names};

/// How often a staging folder is made again because a sweeper took it before it was locked.
const ATTEMPTS: usize = 16;
/// The system's limit to a path, its end included.
const PATH_BYTES: usize = 4096;
/// Smaller writes are gathered to this many bytes.
const WRITE_BYTES: usize = 1 << 20;

/// The staging of one transaction.
pub(super) struct LocalStaging {
    folder: Arc<Folder>,
}

/// Its folder, locked for as long as this lives: the transaction and every file being written.
struct Folder {
    table: LocalTable,
    dir: PathBuf,
    made: Mutex<HashSet<String>>,
    _lock: Box<dyn DiskLock>,
}

impl LocalTable {
    /// Makes and locks the staging folder of a transaction, and finds out whether the file system
    /// can be written.
    pub(super) fn open_staging(&self, txn: &TransactionId) -> Result<LocalStaging> {
        let opened = self.try_open_staging(txn);
        if opened.is_err() {
            // Whatever was made on the way, as far as it goes.
            let _ = self.remove_own_tree(&self.staging(txn));
            self.remove_empty_log();
        }
        opened
    }

    fn try_open_staging(&self, txn: &TransactionId) -> Result<LocalStaging> {
        let dir = self.staging(txn);
        let path = dir.join(names::LOCK);
        for _ in 0..ATTEMPTS {
            self.make_log_home()?;
            self.refuse_links([dir.clone()])?;
            self.make_dirs(&dir, None)?;
            match self.disk.try_lock(&path, &holder("staging")) {
                Ok(Some(lock)) => {
                    self.probe(&dir, &path)?;
                    let (table, made) = (self.clone(), Mutex::default());
                    let folder = Arc::new(Folder { table, dir, made, _lock: lock });
                    return Ok(LocalStaging { folder });
                }
                Ok(None) => {}
                Err(error) if locks_unsupported(&error) => {
                    return Err(self.cannot("locking (flock)").with_source(error));
                }
                Err(error) => missing_is(error, (), "lock", &path)?,
            }
        }
        Err(Error::unavailable(format!("{} is taken away again and again", dir.display())))
    }

    /// Removes the staging folders whose writers are dead: the lock is free, and the newest record
    /// is finished, so none of them is of a logged transaction that waits for its files.
    pub(super) fn sweep_staging(&self, own: &TransactionId) -> Vec<String> {
        let root = self.home.join(names::STAGING);
        if let Err(error) = self.refuse_links([root.clone()]) {
            return vec![error.to_string()];
        }
        let entries = match self.disk.list(&root) {
            Ok(entries) => entries,
            Err(_) => return Vec::new(),
        };
        let others = entries.iter().filter(|entry| entry.name.to_str() != Some(own.as_str()));
        let swept = others.map(|entry| self.sweep_one(&root.join(&entry.name)));
        swept.filter_map(|swept| swept.err().map(|error| error.to_string())).collect()
    }

    /// Removes one staging folder, if its writer is dead. A name that is no folder, and a lock that
    /// is no file, are nobody's.
    pub(super) fn sweep_one(&self, dir: &Path) -> Result<()> {
        if !self.find(dir)?.is_some_and(|found| found.kind == DiskKind::Dir) {
            return self.remove_if_there(dir);
        }
        let path = dir.join(names::LOCK);
        if self.is_link(&path)? {
            self.remove_if_there(&path)?;
        }
        match self.disk.try_lock(&path, &holder("sweeping")) {
            Ok(Some(_lock)) => self.remove_own_tree(dir),
            Ok(None) => Ok(()),
            Err(error) => missing_is(error, (), "lock", &path),
        }
    }

    /// Removes the folders of a log that holds nothing, up to the folder of all logs.
    pub(super) fn remove_empty_log(&self) {
        let _ = self.disk.remove_dir(&self.home.join(names::STAGING));
        let logged = self.is_there(&self.home.join(names::TABLE)).unwrap_or(true);
        if logged {
            return;
        }
        let lock = self.home.join(names::LOCK);
        if let Ok(Some(_held)) = self.disk.try_lock(&lock, &holder("tidying")) {
            let _ = self.disk.remove_file(&lock);
        }
        let _ = self.disk.remove_dir(&self.home);
        if let Some(logs) = self.home.parent() {
            let _ = self.disk.remove_dir(logs);
        }
    }
}

/// Refuses a path that is longer than the system takes. A staged file has the longest of those that
/// it will have.
fn refuse_too_long(path: &Path, directory: &str) -> Result<()> {
    let bytes = path.as_os_str().len();
    if bytes < PATH_BYTES {
        return Ok(());
    }
    let head: String = directory.chars().take(200).collect();
    Err(Error::invalid(format!(
        "a file of the partition {head}... would have a path of {bytes} bytes, and the system takes \
         less than {PATH_BYTES}: use shorter values, or a table nearer to the root"
    )))
}

impl Folder {
    fn path_of(&self, place: &StagedPlace) -> Result<PathBuf> {
        let dir = self.dir.join(&place.directory);
        refuse_too_long(&dir.join(&place.name), &place.directory)?;
        // Held while the directories are made: another task of this transaction waits for them.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.contains(&place.directory) {
            self.table.refuse_links([dir.clone()])?;
            self.table.make_dirs(&dir, None)?;
            made.insert(place.directory.clone());
        }
        drop(made);
        Ok(dir.join(&place.name))
    }

    /// A second name for a file of an earlier version. A link of another tool's making gets a copy.
    fn link(&self, place: &StagedPlace, file: &DataFile) -> Result<Option<Identity>> {
        let Some(source) = self.table.where_is(file)? else { return Ok(None) };
        let path = self.path_of(place)?;
        match self.table.disk.link(&source, &path) {
            Ok(()) => {}
            Err(error) if links_unsupported(&error) => {
                self.table.note_linkless(&error);
                return Ok(None);
            }
            Err(error) => return missing_is(error, None, "link", &source),
        }
        if self.table.is_file(&path, &file.identity)? {
            return Ok(Some(file.identity.clone()));
        }
        self.table.remove_if_there(&path)?;
        Ok(None)
    }

    fn open(&self, place: &StagedPlace) -> Result<(PathBuf, Box<dyn DiskWriter>)> {
        let path = self.path_of(place)?;
        let file =
            self.table.disk.create(&path).map_err(|error| Error::io("create", &path, error))?;
        Ok((path, file))
    }

    fn remove_folder(&self) {
        // What stays is swept before the next commit, once the lock is free.
        let _ = self.table.remove_own_tree(&self.dir);
        self.table.remove_empty_log();
    }
}

#[async_trait]
impl Staging for LocalStaging {
    async fn create(&self, place: StagedPlace) -> Result<Box<dyn StagedSink>> {
        let folder = Arc::clone(&self.folder);
        blocking(move || {
            let (path, file) = folder.open(&place)?;
            let sink = LocalSink {
                folder,
                path,
                directory: place.directory,
                file: Some(file),
                pending: Vec::new(),
            };
            let sink: Box<dyn StagedSink> = Box::new(sink);
            Ok(sink)
        })
        .await
    }

    async fn link(&self, place: StagedPlace, file: &DataFile) -> Result<Option<Identity>> {
        let (folder, file) = (Arc::clone(&self.folder), file.clone());
        blocking(move || folder.link(&place, &file)).await
    }

    async fn intact(&self) -> Result<bool> {
        let folder = Arc::clone(&self.folder);
        blocking(move || folder.table.is_there(&folder.dir.join(names::LOCK))).await
    }

    async fn remove(&self) {
        let folder = Arc::clone(&self.folder);
        // Removing reports nothing.
        let _ = blocking(move || {
            folder.remove_folder();
            Ok(())
        })
        .await;
    }

    fn remove_now(&self) {
        self.folder.remove_folder();
    }
}

/// A staged file being written.
struct LocalSink {
    folder: Arc<Folder>,
    path: PathBuf,
    directory: String,
    file: Option<Box<dyn DiskWriter>>,
    pending: Vec<u8>,
}

impl LocalSink {
    /// Writes what is pending, and does `then` with the file, where it may block.
    async fn flush<T: Send + 'static>(
        &mut self,
        then: impl FnOnce(&mut dyn DiskWriter) -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let path = self.path.clone();
        let Some(mut file) = self.file.take() else {
            return Err(Error::internal(format!("{} failed before", path.display())));
        };
        let pending = std::mem::take(&mut self.pending);
        let (file, result) = blocking(move || {
            file.write(&pending)
                .and_then(|()| then(file.as_mut()))
                .map(|result| (file, result))
                .map_err(|error| Error::io("write", &path, error))
        })
        .await?;
        self.file = Some(file);
        Ok(result)
    }
}

#[async_trait]
impl StagedSink for LocalSink {
    async fn write(&mut self, data: Bytes) -> Result<()> {
        self.pending.extend_from_slice(&data);
        if self.pending.len() >= WRITE_BYTES { self.flush(|_| Ok(())).await } else { Ok(()) }
    }

    async fn finish(&mut self) -> Result<StagedBytes> {
        let (table, path) = (self.folder.table.clone(), self.path.clone());
        let found = self.flush(|file| file.sync()).await?;
        self.file = None;
        blocking(move || table.match_mode(&path, &found)).await?;
        Ok(StagedBytes {
            directory: self.directory.clone(),
            identity: found.identity(),
            upload: None,
        })
    }

    async fn discard(&mut self) {
        self.file = None;
        let (table, path) = (self.folder.table.clone(), self.path.clone());
        // What stays is swept with the transaction.
        let _ = blocking(move || table.remove_if_there(&path)).await;
    }
}

impl LocalTable {
    /// Gives a new data file the mode and group of the table's directory, if that is there.
    fn match_mode(&self, path: &Path, file: &DiskMetadata) -> Result<()> {
        let Some(dir) = self.find(&self.dir)?.filter(|found| found.kind == DiskKind::Dir) else {
            return Ok(());
        };
        let wanted = file_mode(&dir);
        if wanted.mode & 0o777 == file.mode & 0o777 && wanted.group == file.group {
            return Ok(());
        }
        self.copy_mode(path, Some(&wanted))
    }

    /// The directories of a transaction's staged files, and those above them in its folder.
    pub(super) fn staged_dirs(&self, txn: &TransactionId, dirs: &[&str]) -> BTreeSet<PathBuf> {
        let root = self.staging(txn);
        let above = [self.home.clone(), self.home.join(names::STAGING), root.clone()];
        let mut all = BTreeSet::from(above);
        for dir in dirs {
            let mut path = root.clone();
            for part in dir.split('/').filter(|part| !part.is_empty()) {
                path.push(part);
                all.insert(path.clone());
            }
        }
        all
    }
}
