//! What lies in staging: complete files that nobody logged are never published, and a living
//! writer's are never swept, however slow it is.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::support::Folder;
use crate::support::commits::{Commits, StopAt, started_until_staged, stopped_at};
use crate::support::tree::{data_files, staged, tree};

const ROWS: &str = "SELECT p, v FROM t ORDER BY p, v";
const OVERWRITE: &str = "INSERT OVERWRITE t VALUES (10, 'a'), (20, 'b')";
const DEAD: &str = "01a22c04-660e-75ee-bd63-8c9ce6622f36";

fn prepared() -> (Folder, Commits) {
    let folder = Folder::new();
    folder.sql("CREATE TABLE t (v BIGINT, p STRING) USING parquet PARTITIONED BY (p)").ok();
    folder.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')").ok();
    folder.sql("CREATE TABLE bad USING parquet AS SELECT CAST(666 AS BIGINT) AS v").ok();
    let commits = Commits::of(&folder, "t");
    (folder, commits)
}

/// Puts a complete Parquet file of the table's schema there.
fn plant(folder: &Folder, path: &Path) {
    let bad = folder.table("bad");
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::copy(bad.join(&data_files(&bad)[0]), path).expect("a planted file");
}

/// The staging folder of the only transaction there.
fn only_staging(commits: &Commits) -> PathBuf {
    let staging = fs::read_dir(commits.home().join("staging")).expect("staging").flatten();
    let folders: Vec<PathBuf> = staging.map(|entry| entry.path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders[0].clone()
}

/// Beside the files of a transaction: one with the name of a further file of it, and another.
fn plant_beside(folder: &Folder, staging: &Path) {
    let id = staging.file_name().expect("an id").to_string_lossy().into_owned();
    for partition in ["p=a", "p=b", "p=c"] {
        plant(folder, &staging.join(partition).join(format!("part-{id}-9.snappy.parquet")));
        plant(folder, &staging.join(partition).join("planted.parquet"));
    }
    plant(folder, &staging.join("planted.parquet"));
}

/// Nothing of what was planted is in the table, nor left.
fn check_clean(folder: &Folder, rows: &[&str]) {
    assert_eq!(folder.rows(ROWS), rows);
    let files = data_files(&folder.table("t"));
    assert_eq!(files.len(), rows.len(), "{files:?}");
    assert!(staged(&folder.lake()).is_empty(), "{:?}", staged(&folder.lake()));
}

#[test]
fn complete_files_of_a_dead_transaction_are_not_published() {
    let (folder, commits) = prepared();
    let dead = commits.home().join("staging").join(DEAD);
    plant_beside(&folder, &dead);
    fs::write(dead.join("lock"), "process 1 on a host that is gone\n").expect("a free lock");
    plant_beside(&folder, &commits.home().join("staging/no-transaction"));
    assert_eq!(folder.rows(ROWS), ["a,1", "b,2"]);
    folder.sql(OVERWRITE).ok();
    check_clean(&folder, &["a,10", "b,20"]);
    folder.sql("INSERT INTO t VALUES (3, 'c')").ok();
    check_clean(&folder, &["a,10", "b,20", "c,3"]);
}

#[test]
fn files_planted_beside_those_of_a_living_writer_are_not_published() {
    let (folder, commits) = prepared();
    for (statement, rows) in [
        (OVERWRITE, &["a,10", "b,20"][..]),
        ("INSERT INTO t VALUES (30, 'a'), (40, 'c')", &["a,10", "a,30", "b,20", "c,40"]),
    ] {
        let lock = commits.lock();
        let writer = started_until_staged(&folder, statement, 2);
        plant_beside(&folder, &only_staging(&commits));
        drop(lock);
        writer.end().ok();
        check_clean(&folder, rows);
    }
}

#[test]
fn files_planted_beside_those_of_a_killed_commit_are_not_published() {
    let (folder, commits) = prepared();
    let mut stopped =
        (0..20).filter_map(|_| stopped_at(&folder, &commits, OVERWRITE, StopAt::Record));
    let writer = stopped.next().expect("a process that stopped in time");
    let rows = folder.rows(ROWS);
    writer.kill();
    plant_beside(&folder, &only_staging(&commits));
    assert_eq!(folder.rows(ROWS), rows);
    folder.sql("INSERT INTO t VALUES (3, 'c')").ok();
    check_clean(&folder, &["a,10", "b,20", "c,3"]);
}

/// Dates a folder of staging back, the locks in it too; a file that was written keeps its time,
/// which is part of what it is.
fn date_back(dir: &Path, by: Duration) {
    let times = FileTimes::new().set_modified(SystemTime::now() - by);
    for entry in fs::read_dir(dir).expect("staging").flatten() {
        match entry.path() {
            path if path.is_dir() => date_back(&path, by),
            path if path.ends_with("lock") => {
                let lock = File::options().append(true).open(path).expect("a lock");
                lock.set_times(times).expect("another time");
            }
            _ => {}
        }
    }
    File::open(dir).expect("a folder").set_times(times).expect("another time");
}

#[test]
fn a_slow_writer_is_not_swept_and_commits_in_the_end() {
    let (folder, commits) = prepared();
    let lock = commits.lock();
    let mut slow = started_until_staged(&folder, OVERWRITE, 2);
    slow.stop();
    drop(lock);
    let staging = only_staging(&commits);
    date_back(&staging, Duration::from_secs(48 * 3600));
    let before = tree(&staging);
    for value in 3..6 {
        let overwrite = format!("INSERT OVERWRITE t VALUES ({value}, 'a'), ({value}, 'c')");
        folder.sql(&format!("SET partwise.retention = '0'; {overwrite}")).ok();
        folder.sql("VACUUM t RETAIN 0 HOURS").ok();
        assert!(tree(&staging) == before, "a living writer's files were touched");
    }
    assert_eq!(folder.rows(ROWS), ["a,5", "b,2", "c,5"]);
    slow.go_on();
    slow.end().ok();
    check_clean(&folder, &["a,10", "b,20", "c,5"]);
}
