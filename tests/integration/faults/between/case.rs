//! One case: a table, a write of ours on its way, and what is read.

use std::path::{Path, PathBuf};

use super::tools::{Content, content};
use super::{Moment, Ours, sql};
use crate::support::Folder;
use crate::support::commits::{Commits, StopAt, started_until_staged, stopped_at};
use crate::support::process::Process;
use crate::support::session::Session;

/// A table that the tool made and that we have written to once.
pub struct Case {
    pub folder: Folder,
    pub table: PathBuf,
    pub commits: Commits,
    pub ours: Ours,
    pub moment: Moment,
    /// Whether `a` can be swapped as a whole: not when another directory is in it.
    pub swaps: bool,
}

/// Whose files are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The one that the tool made.
    Old,
    /// Ours beside it.
    Both,
    /// Ours alone.
    New,
}

/// Where our write is when the tool acts.
pub enum Brought {
    Held(Process),
    Done,
    /// It was published before it could be stopped.
    TooFar,
}

impl Case {
    /// On a copy of the tree that the tool made.
    pub fn new(tree: &Path, ours: Ours, moment: Moment, swaps: bool) -> Self {
        let folder = Folder::new();
        let table = folder.table("t");
        copy(tree, &table);
        if !swaps {
            std::fs::create_dir(table.join("p=a/_other")).expect("a directory");
        }
        folder.sql("INSERT INTO t SELECT CAST(0 AS BIGINT) AS v, 'z' AS p").ok();
        let commits = Commits::of(&folder, "t");
        Self { folder, table, commits, ours, moment, swaps }
    }

    /// Brings our write to the moment.
    pub fn bring(&self) -> Brought {
        let sql = sql(self.ours);
        let stop = |at| stopped_at(&self.folder, &self.commits, &sql, at);
        let stopped = match self.moment {
            Moment::Staged => Some(started_until_staged(&self.folder, &sql, 2)),
            Moment::Logged | Moment::Killed => stop(StopAt::Record),
            Moment::Placed if self.swaps => stop(StopAt::Swap),
            Moment::Placed => stop(StopAt::File),
            Moment::Switched => stop(StopAt::Switch),
            Moment::Done => {
                self.folder.sql(&sql).ok();
                return Brought::Done;
            }
        };
        stopped.map_or(Brought::TooFar, Brought::Held)
    }

    /// Lets our write end as the moment says; what it said to the user.
    pub fn end(&self, brought: Brought) -> String {
        match brought {
            Brought::Held(mut process)
                if matches!(self.moment, Moment::Staged | Moment::Logged) =>
            {
                process.go_on();
                process.end().ok().err
            }
            Brought::Held(process) => {
                process.kill();
                String::new()
            }
            Brought::Done | Brought::TooFar => String::new(),
        }
    }

    /// What lies in `a` before the tool acts.
    pub fn found(&self, tree: &Path) -> Found {
        let (old, now) = (names(&tree.join("p=a")), names(&self.table.join("p=a")));
        match (now.contains(&old[0]), now.len() > old.len()) {
            (true, false) => Found::Old,
            (true, true) => Found::Both,
            (false, _) => Found::New,
        }
    }

    /// What we read, in a new session.
    pub async fn read(&self) -> Content {
        let rows = Session::open(&self.folder).await.rows("SELECT p, v FROM t").await;
        let rows = rows.iter().filter_map(|row| row.split_once('|'));
        content(rows.map(|(p, v)| (p.to_owned(), v.parse().expect("a number"))))
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

/// The data files in a directory.
fn names(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).expect("a folder").flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".parquet")).collect()
}
