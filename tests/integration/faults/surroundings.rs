//! Disks that are full or closed, and clocks that jump: a clear error, and the table as it was.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::commits::{Commits, number_after};
use crate::support::tree::{staged, tree};
use crate::support::{Folder, Ran, ran};

const CREATE: &str = "CREATE TABLE t USING parquet PARTITIONED BY (p) AS \
    SELECT value AS v, value % 2 AS p FROM generate_series(1, 100)";
const TOTAL: &str = "SELECT count(*), sum(v) FROM t";
const OVERWRITE: &str = "INSERT OVERWRITE t SELECT value * value AS v, value % 3 AS p \
    FROM generate_series(1, 40000)";
const NOBODY: u32 = 65_534;

/// A small file system where the lake is; none where this user can't mount.
struct Mount(PathBuf);

impl Mount {
    fn on(folder: &Folder, skipped: &str) -> Option<Self> {
        fs::create_dir(folder.lake()).expect("the lake");
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
            .arg(folder.lake())
            .output();
        if done.is_ok_and(|done| done.status.success()) {
            return Some(Self(folder.lake()));
        }
        println!("skipped: {skipped}: this user can't mount");
        None
    }

    fn remount(&self, option: &str) {
        let option = format!("remount,{option}");
        let done = Command::new("mount").args(["-o", &option]).arg(&self.0).status();
        assert!(done.expect("mount runs").success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// A write that must fail with these words and leave everything as it was.
fn fails_untouched(folder: &Folder, ran: Ran, before: &str, words: &[&str]) {
    println!("{}", ran.err.trim_end());
    ran.fails(1, words);
    assert_eq!(folder.row(TOTAL), before);
    assert!(staged(&folder.lake()).is_empty(), "{:?}", staged(&folder.lake()));
}

#[test]
fn on_a_full_disk_a_write_says_so_and_succeeds_once_there_is_room() {
    let folder = Folder::new();
    let Some(_mount) = Mount::on(&folder, "a full disk") else { return };
    folder.sql(CREATE).ok();
    let before = folder.row(TOTAL);
    let ballast = folder.lake().join("_ballast");
    for room in [0, 4096, 64 << 10] {
        let fills = fs::write(&ballast, vec![0; 1 << 20]);
        assert_eq!(fills.expect_err("a full disk").kind(), std::io::ErrorKind::StorageFull);
        let size = fs::metadata(&ballast).expect("the ballast").len();
        let file = fs::File::options().write(true).open(&ballast).expect("the ballast");
        file.set_len(size - room).expect("some room");
        let table = tree(&folder.table("t"));
        fails_untouched(&folder, folder.sql(OVERWRITE), &before, &["No space left"]);
        assert!(table == tree(&folder.table("t")), "the directory changed");
    }
    fs::remove_file(&ballast).expect("room");
    folder.sql("INSERT OVERWRITE t PARTITION (p = 0) SELECT 1 AS v").ok();
    assert_eq!(folder.row("SELECT count(*), sum(v) FROM t WHERE p = 0"), "1,1");
}

#[test]
fn on_a_read_only_disk_a_table_is_read_and_a_write_says_why_not() {
    let folder = Folder::new();
    let Some(mount) = Mount::on(&folder, "a read-only disk") else { return };
    folder.sql(CREATE).ok();
    let before = folder.row(TOTAL);
    mount.remount("ro");
    for write in [OVERWRITE, "INSERT INTO t SELECT 1, 1", "CREATE TABLE u AS SELECT 1 AS a"] {
        fails_untouched(&folder, folder.sql(write), &before, &["Read-only file system"]);
    }
    mount.remount("rw");
    folder.sql("INSERT INTO t SELECT 1, 1").ok();
}

/// Lets every user do everything in a tree, but change what is in one of its directories.
fn open_but(root: &Path, closed: &Path) {
    let mode = |path: &Path| match (path == closed, path.is_dir()) {
        (true, _) => 0o555,
        (false, true) => 0o777,
        (false, false) => 0o666,
    };
    fs::set_permissions(root, Permissions::from_mode(mode(root))).expect("a mode");
    if root.is_dir() {
        for entry in fs::read_dir(root).expect("a folder").flatten() {
            open_but(&entry.path(), closed);
        }
    }
}

/// Runs SQL as a user who may not do everything.
fn as_nobody(folder: &Folder, sql: &str) -> Ran {
    let mut command = folder.partwise();
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    ran(command.args(["-c", sql]).output().expect("the binary runs, for every user"))
}

#[test]
fn who_may_not_write_is_told_where_and_changes_nothing() {
    let folder = Folder::new();
    folder.sql(CREATE).ok();
    let before = folder.row(TOTAL);
    let shown = ["lake/_partwise/t", "lake/_partwise/t/log", "lake/t", "lake/t/p=0"];
    for closed in shown {
        open_but(folder.path(), &folder.path().join(closed));
        assert!(as_nobody(&folder, TOTAL).ok().out.contains("100"));
        let table = tree(&folder.table("t"));
        let write = as_nobody(&folder, OVERWRITE);
        fails_untouched(&folder, write, &before, &["Permission denied", closed]);
        assert!(table == tree(&folder.table("t")), "{closed}: the directory changed");
    }
    open_but(folder.path(), Path::new(""));
    as_nobody(&folder, OVERWRITE).ok();
    assert_eq!(folder.row("SELECT count(*) FROM t"), "40000");
}

#[test]
fn a_tree_whose_parent_can_not_be_written_is_read_only() {
    let folder = Folder::new();
    folder.sql(CREATE).ok();
    fs::remove_dir_all(folder.lake().join("_partwise")).expect("no log");
    open_but(folder.path(), &folder.lake());
    assert!(as_nobody(&folder, TOTAL).ok().out.contains("100"));
    let table = tree(&folder.table("t"));
    as_nobody(&folder, OVERWRITE).fails(1, &["read-only for partwise", "Permission denied"]);
    assert!(table == tree(&folder.table("t")), "the directory changed");
}

/// Moves a record's time: what a clock that jumps back since leaves.
fn date(record: &Path, by_ms: u64) {
    let text = fs::read_to_string(record).expect("a record");
    let time = number_after(&text, "\"time_ms\":").expect("its time");
    let moved =
        text.replace(&format!("\"time_ms\":{time}"), &format!("\"time_ms\":{}", time + by_ms));
    fs::write(record, moved).expect("a record");
}

#[test]
fn a_clock_that_jumps_back_loses_nothing() {
    let folder = Folder::new();
    folder.sql(CREATE).ok();
    folder.sql("INSERT OVERWRITE t PARTITION (p = 1) SELECT 7 AS v").ok();
    let commits = Commits::of(&folder, "t");
    for version in [1, 2] {
        date(&commits.record(version), 48 * 3600 * 1000);
    }
    assert_eq!(folder.row(TOTAL), "51,2557");
    folder
        .sql(
            "SET partwise.retention = '1 hour'; INSERT OVERWRITE t PARTITION (p = 1) SELECT 8 AS v",
        )
        .ok();
    assert_eq!(folder.row(TOTAL), "51,2558");
    assert_eq!(folder.row("SELECT count(*), sum(v) FROM at('t', 1)"), "100,5050");
    assert_eq!(folder.rows("SELECT version FROM history('t') ORDER BY version"), ["1", "2", "3"]);
    folder.sql("RESTORE TABLE t TO VERSION 1").ok();
    assert_eq!(folder.row(TOTAL), "100,5050");
}
