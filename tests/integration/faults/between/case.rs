//! One case: a table, a write of ours on its way, and what is read.

use std::path::{Path, PathBuf};

use super::tools::{Content, content};
use super::{Moment, Ours, sql};
use crate::support::Folder;
use crate::support::commits::{
    Commits, started_until_staged, stopped_when_logged, stopped_when_swapped,
};
use crate::support::process::Process;
use crate::support::session::Session;

/// A table that the tool made and that we have written to once.
pub struct Case {
    pub folder: Folder,
    pub table: PathBuf,
    pub commits: Commits,
    pub ours: Ours,
    pub moment: Moment,
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
    pub fn new(tree: &Path, ours: Ours, moment: Moment) -> Self {
        let folder = Folder::new();
        let table = folder.table("t");
        copy(tree, &table);
        folder.sql("INSERT INTO t SELECT CAST(0 AS BIGINT) AS v, 'z' AS p").ok();
        let commits = Commits::of(&folder, "t");
        Self { folder, table, commits, ours, moment }
    }

    /// Brings our write to the moment.
    pub fn bring(&self) -> Brought {
        let sql = sql(self.ours);
        let stopped = match self.moment {
            Moment::Staged => Some(started_until_staged(&self.folder, &sql, 2)),
            Moment::Logged | Moment::Killed => {
                stopped_when_logged(&self.folder, &self.commits, &sql)
            }
            Moment::Swapped => stopped_when_swapped(&self.folder, &self.commits, &sql),
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

    /// Whether the file of `a` that the tool made has left its place.
    pub fn has_left(&self, tree: &Path) -> bool {
        !self.table.join("p=a").join(only_file(&tree.join("p=a"))).exists()
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

/// The name of the only data file in a directory.
fn only_file(dir: &Path) -> String {
    let names = std::fs::read_dir(dir).expect("a folder").flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".parquet")).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    names.remove(0)
}
