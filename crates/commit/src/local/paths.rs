//! Where a local table and its log folder are, and the small files of the log folder.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use super::disk::{Disk, DiskKind, DiskMetadata};
use super::files::{missing_is, read_if_there};
use crate::backend::{Formatted, Logged, Look, Meta, Published, Slot, from_json, to_json};
use crate::cache::{Cache, RECORD_BYTES_REMEMBERED};
use crate::record::{Outcome, Record, TransactionId};
use crate::{Error, Result, names};

/// Records by their path. A record is put in place as a whole and never changed; another one of the
/// same name is another file.
static RECORDS: LazyLock<Cache<PathBuf, KnownRecord>> =
    LazyLock::new(|| Cache::new(RECORD_BYTES_REMEMBERED));

#[derive(Clone)]
struct KnownRecord {
    file: DiskMetadata,
    record: Arc<Record>,
}

/// A table's directory and log folder, links resolved.
#[derive(Clone, Debug)]
pub(crate) struct LocalTable {
    pub(super) disk: Arc<dyn Disk>,
    /// The table's real directory.
    pub(super) dir: PathBuf,
    /// Its log folder, beside it.
    pub(super) home: PathBuf,
    /// The path as the user named it.
    pub(super) named: PathBuf,
    /// Whether the file system was found to have no swap of two names.
    pub(super) swapless: Arc<AtomicBool>,
    /// Whether it was found to have no second names of files where those would have been of use.
    linkless: Arc<AtomicBool>,
}

impl LocalTable {
    /// Resolves links in `dir`: the real path decides where "beside" is.
    pub(crate) fn resolve(disk: Arc<dyn Disk>, dir: &Path) -> Result<Self> {
        let real = real_path(disk.as_ref(), dir)?;
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(Error::unsupported(format!(
                "{} can't be a table: its log stands beside it, and there is no beside",
                dir.display()
            )));
        };
        if real.components().any(|part| part.as_os_str() == names::LOG_HOME) {
            return Err(Error::invalid(format!(
                "{} can't be a table: {} folders are where partwise keeps its logs; name a place \
                 outside of them",
                dir.display(),
                names::LOG_HOME
            )));
        }
        let home = parent.join(names::LOG_HOME).join(name);
        let (swapless, linkless) = (Arc::default(), Arc::default());
        Ok(Self { disk, home, dir: real, named: dir.to_path_buf(), swapless, linkless })
    }

    /// A path relative to the table.
    pub(super) fn live(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.dir.clone() } else { self.dir.join(path) }
    }

    pub(super) fn retained(&self, version: u64, path: &str) -> PathBuf {
        let root = self.home.join(names::RETAINED).join(version.to_string());
        if path.is_empty() { root } else { root.join(path) }
    }

    pub(super) fn staging(&self, txn: &TransactionId) -> PathBuf {
        self.home.join(names::STAGING).join(txn.as_str())
    }

    pub(super) fn log_dir(&self) -> PathBuf {
        self.home.join(names::LOG)
    }

    fn record_path(&self, version: u64) -> PathBuf {
        self.log_dir().join(names::record(version))
    }

    /// The table's name, for the folders beside its log.
    pub(super) fn name(&self) -> String {
        self.home.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    pub(super) fn look_now(&self) -> Result<Look> {
        let meta: Option<Meta> = self.read_json(&self.home.join(names::TABLE))?;
        let marked = match &meta {
            Some(meta) => self.is_there(&self.dir.join(names::marker(&meta.table)))?,
            None => false,
        };
        let published: Option<Published> = self.read_json(&self.home.join(names::PUBLISHED))?;
        let exists = match self.disk.metadata(&self.dir) {
            Ok(found) if found.kind == DiskKind::Dir => true,
            Ok(_) => {
                return Err(Error::invalid(format!("{} is not a directory", self.dir.display())));
            }
            Err(error) => missing_is(error, false, "look at", &self.dir)?,
        };
        let success = exists && self.is_there(&self.dir.join(names::SUCCESS))?;
        Ok(Look { exists, success, meta, marked, published })
    }

    pub(super) fn is_there(&self, path: &Path) -> Result<bool> {
        match self.disk.link_metadata(path) {
            Ok(_) => Ok(true),
            Err(error) => missing_is(error, false, "look at", path),
        }
    }

    fn read_json<T: Formatted>(&self, path: &Path) -> Result<Option<T>> {
        let Some(text) = read_if_there(self.disk.as_ref(), path)? else { return Ok(None) };
        from_json(&text, &path.display().to_string()).map(Some)
    }

    pub(super) fn read_record(&self, version: u64) -> Result<Option<Slot>> {
        let path = self.record_path(version);
        let found = match self.disk.metadata(&path) {
            Ok(found) => found,
            Err(error) => return missing_is(error, None, "look at", &path),
        };
        if let Some(known) = RECORDS.get(&path)
            && known.file == found
        {
            return Ok(Some(Slot::Record(known.record)));
        }
        let Some(record) = self.read_json::<Record>(&path)? else { return Ok(None) };
        if record.version != version {
            return Err(Error::corrupt(format!(
                "{} holds the record of version {}: restore it",
                path.display(),
                record.version
            )));
        }
        let record = Arc::new(record);
        let known = KnownRecord { file: found, record: Arc::clone(&record) };
        RECORDS.put(path, known, usize::try_from(found.size).unwrap_or(usize::MAX));
        Ok(Some(Slot::Record(record)))
    }

    pub(super) fn list_records(&self) -> Result<Vec<u64>> {
        let dir = self.log_dir();
        let entries = match self.disk.list(&dir) {
            Ok(entries) => entries,
            Err(error) => missing_is(error, Vec::new(), "list", &dir)?,
        };
        let version = |name: &std::ffi::OsStr| name.to_str().and_then(names::record_version);
        let mut found: Vec<u64> = entries.iter().filter_map(|e| version(&e.name)).collect();
        found.sort_unstable();
        Ok(found)
    }

    pub(super) fn write_meta(&self, meta: &Meta) -> Result<()> {
        self.make_dirs(&self.log_dir(), self.find(&self.home)?.as_ref())?;
        self.replace_file(&self.home.join(names::TABLE), &to_json(meta)?)?;
        // The log folder is new: so may be those above it.
        self.home.ancestors().skip(1).take(2).try_for_each(|dir| self.sync(dir))
    }

    /// Creates the record in one step: written and synced under another name, then linked, so that
    /// it is never seen half written and never replaces one.
    pub(super) fn create_record(&self, record: &Record) -> Result<Logged> {
        self.refuse_unfinishable(record)?;
        let staged = record.partitions.iter().filter(|partition| !partition.added.is_empty());
        let staged = staged.map(|p| p.staged.as_deref().unwrap_or(&p.path)).collect::<Vec<_>>();
        self.sync_all(&self.staged_dirs(&record.transaction, &staged))?;
        let path = self.record_path(record.version);
        let temporary = self.staging(&record.transaction).join(names::NEW_RECORD);
        self.write_synced(&temporary, &to_json(record)?)?;
        let created = self.disk.link(&temporary, &path);
        let created = match created {
            Err(error) if links_unsupported(&error) => self.disk.rename_new(&temporary, &path),
            other => other,
        };
        // A second name of the record that is left over goes with the staging folder.
        let _ = self.disk.remove_file(&temporary);
        match created {
            Ok(()) => match self.sync(&self.log_dir()) {
                Ok(()) => Ok(Logged::Won),
                Err(error) => Ok(Logged::Unknown(error)),
            },
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Logged::Lost),
            Err(error) => Err(Error::io("create", &path, error)),
        }
    }

    /// What writing found out about the file system, for the user.
    pub(super) fn found_out(&self) -> Option<String> {
        let shown = self.named.display();
        if self.swapless.load(Ordering::Relaxed) {
            return Some(format!(
                "the file system of {shown} can't swap two directories (EXCHANGE), so files were \
                 replaced one by one: other tools may have seen old and new ones together for a \
                 moment"
            ));
        }
        self.linkless.load(Ordering::Relaxed).then(|| {
            format!(
                "the file system of {shown} has no hard links, so files that came back from an \
                 earlier version were copied, and partitions that hold files of other tools were \
                 replaced file by file"
            )
        })
    }

    /// Notes that a second name was refused.
    pub(super) fn note_linkless(&self, error: &io::Error) {
        use rustix::io::Errno;
        // Others tell of this file or this place alone.
        let none = [Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS];
        let none = none.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()));
        self.linkless.fetch_or(none, Ordering::Relaxed);
    }

    pub(super) fn remove_record(&self, version: u64) -> Result<()> {
        self.remove_if_there(&self.record_path(version))
    }

    /// Moves what readers see up to `version`.
    pub(super) fn write_published(&self, version: u64, outcome: Outcome) -> Result<Outcome> {
        let path = self.home.join(names::PUBLISHED);
        if let Some(found) = self.read_json::<Published>(&path)?
            && found.version >= version
        {
            return self.settled_outcome(version, found);
        }
        self.replace_file(&path, &to_json(&Published::new(version, outcome.clone()))?)?;
        Ok(outcome)
    }

    fn settled_outcome(&self, version: u64, found: Published) -> Result<Outcome> {
        if found.version == version {
            return Ok(found.outcome);
        }
        let next = self.read_record(version + 1)?.and_then(Slot::into_record);
        next.and_then(|record| record.previous.clone()).ok_or_else(|| {
            Error::corrupt(format!(
                "{} tells no outcome of version {version}",
                self.record_path(version + 1).display()
            ))
        })
    }
}

/// Whether a file system has no hard links (for this file).
pub(super) fn links_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let unsupported = [Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS, Errno::MLINK, Errno::XDEV];
    unsupported.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// The path with its links resolved, as far as it is there.
fn real_path(disk: &dyn Disk, path: &Path) -> Result<PathBuf> {
    let error = match disk.real_path(path) {
        Ok(real) => return Ok(real),
        Err(error) => error,
    };
    if error.kind() != io::ErrorKind::NotFound {
        return Err(Error::io("resolve", path, error));
    }
    if disk.link_metadata(path).is_ok() {
        return Err(Error::invalid(format!("{} is a link to nothing", path.display())));
    }
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Err(Error::io("resolve", path, error)),
    };
    let Some(name) = path.file_name() else {
        return Err(Error::invalid(format!("{} is not there", path.display())));
    };
    Ok(real_path(disk, parent)?.join(name))
}
