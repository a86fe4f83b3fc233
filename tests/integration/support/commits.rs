//! How far the commits of a table have come, as its log folder tells; and commits held on the way.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::Folder;
use super::process::{LONGEST, Process, within};
use super::tree::staged;
use super::watch::Watch;

/// The log folder of a table.
pub struct Commits {
    home: PathBuf,
    table: PathBuf,
}

/// What there is of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// No record.
    Staging,
    /// A record, and readers are still on the version before.
    Logged,
    /// Readers are on it.
    Published,
}

/// Keeps all writers of a table from committing for as long as it is held.
pub struct Lock(#[expect(dead_code, reason = "held, not read")] File);

impl Commits {
    pub fn of(folder: &Folder, table: &str) -> Self {
        Self { home: folder.lake().join("_partwise").join(table), table: folder.table(table) }
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    pub fn record(&self, version: u64) -> PathBuf {
        self.home.join(format!("log/{version:020}.json"))
    }

    /// The version that readers are on; 0 without one.
    pub fn published(&self) -> u64 {
        let text = std::fs::read_to_string(self.home.join("published")).unwrap_or_default();
        number_after(&text, "\"version\":").unwrap_or(0)
    }

    /// The newest version in the log; 0 without one.
    pub fn logged(&self) -> u64 {
        let names = std::fs::read_dir(self.home.join("log")).into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| name.strip_suffix(".json")?.parse().ok()).max().unwrap_or(0)
    }

    pub fn stage_of(&self, version: u64) -> Stage {
        match (self.published() >= version, self.record(version).exists()) {
            (true, _) => Stage::Published,
            (false, true) => Stage::Logged,
            (false, false) => Stage::Staging,
        }
    }

    /// Takes the lock of the writers.
    pub fn lock(&self) -> Lock {
        let path = self.home.join("lock");
        let file = File::options().write(true).create(true).truncate(false).open(path);
        let file = file.expect("the lock file");
        flock(&file, FlockOperation::LockExclusive).expect("the lock");
        Lock(file)
    }

    /// Says when a version's record appears.
    pub fn watch_log(&self) -> Watch {
        Watch::on(&self.home.join("log"))
    }

    /// Says when readers are switched to another version.
    pub fn watch_published(&self) -> Watch {
        Watch::on(&self.home)
    }
}

/// A place of a commit where a process can be stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopAt {
    /// Its record is in the log, and readers are still on the version before.
    Record,
    /// A partition of the table has been swapped for its own, and readers are still on the version
    /// before.
    Swap,
    /// One of its files lies in the partition `p=a` of the table, and readers are still on the
    /// version before.
    File,
    /// Readers are on it, and what it replaced may not be put away yet.
    Switch,
}

impl StopAt {
    fn watch(self, commits: &Commits) -> (Watch, fn(&str) -> bool) {
        match self {
            Self::Record => (commits.watch_log(), |name| name.ends_with(".json")),
            Self::Swap => (Watch::on(&commits.table), |name| name.contains('=')),
            Self::File => (Watch::on(&commits.table.join("p=a")), |name| name.starts_with("part-")),
            Self::Switch => (commits.watch_published(), |name| name == "published"),
        }
    }

    fn stage(self) -> Stage {
        if self == Self::Switch { Stage::Published } else { Stage::Logged }
    }
}

/// Starts a write and stops it as soon as that has happened. None if it came too far.
pub fn stopped_at(
    folder: &Folder,
    commits: &Commits,
    sql: &str,
    stop_at: StopAt,
) -> Option<Process> {
    let version = commits.logged() + 1;
    let (watch, wanted) = stop_at.watch(commits);
    let mut process = Process::sql(folder, sql);
    if watch.wait_for(&mut process, wanted) {
        process.stop();
    }
    if commits.stage_of(version) == stop_at.stage() && process.is_running() {
        return Some(process);
    }
    process.go_on();
    process.end().ok();
    None
}

/// Starts a write while the lock is taken; returns when it has staged `files` files.
pub fn started_until_staged(folder: &Folder, sql: &str, files: usize) -> Process {
    let parquet = || staged(&folder.lake()).iter().filter(|n| n.ends_with(".parquet")).count();
    let wanted = parquet() + files;
    let mut process = Process::sql(folder, sql);
    within(LONGEST, "all files are staged", || {
        assert!(process.is_running(), "the writer ended early");
        parquet() >= wanted
    });
    process
}

/// The whole number behind the first place where a text says this.
pub fn number_after(text: &str, key: &str) -> Option<u64> {
    let (_, rest) = text.split_once(key)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}
