//! The lock that one writer at a time holds, and what a file system has to offer to be written.

use std::path::Path;
use std::time::{Duration, Instant};

use super::LocalTable;
use super::disk::{DiskKind, DiskMetadata};
use super::files::{file_mode, missing_is, read_if_there};
use super::paths::links_unsupported;
use crate::backend::Hold;
use crate::{Error, Result, names};

/// The longest pause between two attempts at a lock.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

impl LocalTable {
    /// Waits until no other writer holds the table's lock.
    pub(super) async fn wait_for_lock(&self, timeout: Duration, statement: &str) -> Result<Hold> {
        let started = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            let (table, statement) = (self.clone(), statement.to_string());
            if let Some(hold) = super::blocking(move || table.try_hold(&statement)).await? {
                return Ok(hold);
            }
            if started.elapsed() >= timeout {
                return Err(self.held_by_another(timeout));
            }
            tokio::time::sleep(pause.min(timeout.saturating_sub(started.elapsed()))).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn try_hold(&self, statement: &str) -> Result<Option<Hold>> {
        self.make_log_home()?;
        let path = self.home.join(names::LOCK);
        let lock = match self.disk.try_lock(&path, &holder(statement)) {
            Ok(lock) => lock,
            // The log folder was tidied away in between: the next attempt makes it again.
            Err(error) => missing_is(error, None, "lock", &path)?,
        };
        let Some(lock) = lock else { return Ok(None) };
        self.share_lock(&path)?;
        let hold: Hold = Box::new(lock);
        Ok(Some(hold))
    }

    /// Whoever may write the table may take its lock: the mode of the log folder, which has that of
    /// the table's directory.
    fn share_lock(&self, path: &Path) -> Result<()> {
        let (Some(lock), Some(home)) = (self.find(path)?, self.find(&self.home)?) else {
            return Ok(());
        };
        let wanted = file_mode(&home);
        if lock.mode & 0o666 == wanted.mode && lock.group == wanted.group {
            return Ok(());
        }
        // Only its owner may: then it is as that one left it.
        let _ = self.disk.copy_mode(path, &wanted);
        Ok(())
    }

    /// The table's directory, whose mode a new log folder takes.
    fn shared_mode(&self) -> Result<Option<DiskMetadata>> {
        if self.find(&self.home)?.is_some() {
            return Ok(None);
        }
        Ok(self.find(&self.dir)?.filter(|found| found.kind == DiskKind::Dir))
    }

    fn held_by_another(&self, timeout: Duration) -> Error {
        let path = self.home.join(names::LOCK);
        let text = read_if_there(self.disk.as_ref(), &path).ok().flatten().unwrap_or_default();
        let holder = String::from_utf8_lossy(&text);
        let holder = if holder.trim().is_empty() { "another writer" } else { holder.trim() };
        Error::busy(format!(
            "{} is being written by {holder}; waited {} s: try again, or SET \
             partwise.lock_timeout to wait longer",
            self.named.display(),
            timeout.as_secs_f64().round()
        ))
    }

    /// A table may not hold other tables, nor lie in one: an overwrite would take them along, and
    /// its log would stand in the other's tree.
    fn refuse_nesting(&self) -> Result<()> {
        let shown = self.named.display();
        if self.find(&self.dir.join(names::LOG_HOME))?.is_some() {
            return Err(Error::invalid(format!(
                "{shown} is a folder of tables, not a table: name one of the directories in it"
            )));
        }
        let mut above = self.dir.ancestors().skip(1);
        if self.is_partition()? || above.any(|dir| self.has_marker(dir)) {
            return Err(Error::invalid(format!(
                "{shown} lies inside a table: write to that table, with PARTITION (..) for one \
                 partition of it"
            )));
        }
        Ok(())
    }

    /// Whether the directory is, or would be, a partition of a tree that another tool made: it is
    /// named like one, and it or one beside it is no table of ours.
    fn is_partition(&self) -> Result<bool> {
        let name = self.dir.file_name().unwrap_or_default().to_string_lossy();
        let (Some((column, _)), Some(parent)) = (name.split_once('='), self.dir.parent()) else {
            return Ok(false);
        };
        if self.find(&self.dir)?.is_some() && !self.has_marker(&self.dir) {
            return Ok(true);
        }
        let beside = self.disk.list(parent).unwrap_or_default();
        Ok(beside.iter().filter_map(|entry| entry.name.to_str()).any(|other| {
            let same_column = other.split_once('=').is_some_and(|(c, _)| c == column);
            same_column && other != name && !self.has_marker(&parent.join(other))
        }))
    }

    /// Whether a directory is a table of ours.
    pub(super) fn has_marker(&self, dir: &Path) -> bool {
        let entries = self.disk.list(dir).unwrap_or_default();
        entries.iter().any(|entry| entry.name.to_str().is_some_and(names::is_marker))
    }

    /// Makes the log folder. A parent that can't be written, or another file system, makes the
    /// table read-only for us.
    pub(super) fn make_log_home(&self) -> Result<()> {
        self.refuse_nesting()?;
        let read_only = |why: String| {
            Error::unsupported(format!(
                "{} is read-only for partwise: its log stands beside it in {}, and {why}",
                self.named.display(),
                self.home.display()
            ))
        };
        let made = self.make_dirs(&self.home, self.shared_mode()?.as_ref());
        made.map_err(|error| read_only("that can't be written".into()).with_source(error))?;
        let beside = self.find(&self.home)?;
        let table = self.find(&self.dir)?;
        match (beside, table) {
            (Some(beside), Some(table)) if beside.device != table.device => {
                Err(read_only("that is on another file system".into()))
            }
            _ => Ok(()),
        }
    }

    /// What the file system lacks that writing needs.
    pub(super) fn cannot(&self, what: &str) -> Error {
        Error::unsupported(format!(
            "{} can't be written by partwise: {what} doesn't work on the file system of {}; copy the \
             table to a local disk",
            self.named.display(),
            self.home.display()
        ))
    }

    /// Tries in `dir`, where `lock` is held by us, what writing needs: a lock that keeps a second
    /// taker out, and files that are created once.
    pub(super) fn probe(&self, dir: &Path, lock: &Path) -> Result<()> {
        let second = self.disk.try_lock(lock, "probe");
        if second.map_err(|error| Error::io("lock", lock, error))?.is_some() {
            return Err(self.cannot("locking (flock)"));
        }
        let (a, b) = (dir.join("probe.a"), dir.join("probe.b"));
        self.touch(&a, None)?;
        self.touch(&b, None)?;
        let created_once = match self.disk.link(&a, &b) {
            Err(error) if links_unsupported(&error) => is_taken(self.disk.rename_new(&a, &b)),
            linked => is_taken(linked),
        };
        self.remove_if_there(&a)?;
        self.remove_if_there(&b)?;
        if created_once {
            Ok(())
        } else {
            Err(self.cannot("creating a file only once (link, rename)"))
        }
    }
}

/// Whether the file system has no locks.
pub(super) fn locks_unsupported(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let unsupported = [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS, Errno::INVAL];
    unsupported.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Whether a name that is there was refused.
fn is_taken(result: std::io::Result<()>) -> bool {
    result.is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists)
}

/// Who holds a lock, for whoever waits: process, host, statement.
pub(super) fn holder(statement: &str) -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy().into_owned();
    let statement = if statement.is_empty() { "a commit" } else { statement };
    format!("process {} on {host} ({statement})\n", std::process::id())
}
