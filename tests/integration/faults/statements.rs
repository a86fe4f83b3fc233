//! `kill -9` in the middle of every kind of write: the table is as before it or as after it, and
//! the next write leaves nothing half done.

use std::thread;
use std::time::{Duration, Instant};

use super::number_or;
use crate::support::Folder;
use crate::support::commits::{Commits, StopAt, stopped_at};
use crate::support::process::Process;
use crate::support::tree::{data_files, staged};

/// How often each statement is killed.
const KILLS: &str = "PARTWISE_STATEMENT_KILLS";

const CREATE: &str = "CREATE TABLE t USING parquet PARTITIONED BY (p) AS \
    SELECT value AS v, value % 3 AS p FROM generate_series(1, 300)";
const REPLACED: &str = "INSERT OVERWRITE t PARTITION (p = 1) SELECT 7 AS v";
/// Changes nothing, but finishes what is logged.
const NOTHING: &str = "INSERT INTO t SELECT * FROM t WHERE false";

/// What was there, and the statement that is killed.
const STATEMENTS: &[(&[&str], &str)] = &[
    (&[], CREATE),
    (
        &[CREATE],
        "CREATE OR REPLACE TABLE t USING parquet PARTITIONED BY (q) AS \
         SELECT value AS w, value % 4 AS q FROM generate_series(1, 200)",
    ),
    (&[CREATE], "CREATE OR REPLACE TABLE t USING parquet AS SELECT 1 AS a"),
    (&[CREATE], "INSERT INTO t SELECT value AS v, value % 5 AS p FROM generate_series(1, 50)"),
    (
        &[CREATE],
        "SET partwise.partition_overwrite_mode = 'static'; SET partwise.max_shrink = 1; \
         INSERT OVERWRITE t SELECT value AS v, 1 + value % 3 AS p FROM generate_series(1, 30)",
    ),
    (&[CREATE], REPLACED),
    (&[CREATE, REPLACED], "RESTORE TABLE t TO VERSION 1"),
    (&[CREATE], "DROP TABLE t PURGE"),
];

fn prepared(before: &[&str]) -> Folder {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.lake()).expect("the lake");
    before.iter().for_each(|sql| drop(folder.sql(sql).ok()));
    folder
}

/// A table's columns and rows; none without the table.
type Look = Option<Vec<String>>;

fn look(folder: &Folder) -> Look {
    let ran = folder.run(&["-q", "--format", "csv", "-c", "SELECT * FROM t"]);
    if ran.status == Some(1) && ran.err.contains("table 't' not found") {
        return None;
    }
    let mut lines: Vec<String> = ran.ok().out.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    Some(lines)
}

/// Kills a statement, at a moment of its time or when its record has appeared.
fn kill(folder: &Folder, sql: &str, at: Duration, at_record: bool) {
    let commits = Commits::of(folder, "t");
    if at_record && commits.logged() > 0 {
        if let Some(process) = stopped_at(folder, &commits, sql, StopAt::Record) {
            process.kill();
        }
    } else {
        let process = Process::sql(folder, sql);
        thread::sleep(at);
        process.kill();
    }
}

/// Whether the statement was found done.
fn check(folder: &Folder, before: &Look, after: &Look) -> bool {
    let seen = look(folder);
    assert!(seen == *before || seen == *after, "{seen:?}");
    let Some(rows) = &seen else {
        let made = folder.sql(CREATE);
        if made.status == Some(0) {
            return seen == *after;
        }
        // The killed one was logged already: whoever comes next finishes it first.
        made.fails(1, &["has data already"]);
        assert_eq!(look(folder), *after);
        return true;
    };
    folder.sql(NOTHING).ok();
    let finished = look(folder);
    let kept = finished == *before && before.as_ref() == Some(rows);
    assert!(finished == *after || kept, "{finished:?}");
    assert!(staged(&folder.lake()).is_empty(), "{:?}", staged(&folder.lake()));
    let listed = folder.rows("SELECT count(*) FROM files('t')");
    assert_eq!(listed, [data_files(&folder.table("t")).len().to_string()]);
    finished == *after
}

/// The table before a statement and after it, and how long it took.
fn run(setup: &[&str], sql: &str) -> (Look, Look, Duration) {
    let folder = prepared(setup);
    let before = look(&folder);
    let started = Instant::now();
    folder.sql(sql).ok();
    let whole = started.elapsed();
    (before, look(&folder), whole)
}

#[test]
fn a_kill_in_any_kind_of_write_leaves_the_table_as_before_or_after() {
    let kills = number_or(KILLS, 4);
    for (setup, sql) in STATEMENTS {
        // The first of two runs is slower than those to come.
        let [first, second] = [(); 2].map(|()| run(setup, sql));
        let (before, after, whole) = (first.0, first.1, first.2.min(second.2));
        assert!(before != after, "{sql}");
        let mut done = 0;
        for n in 0..kills {
            let folder = prepared(setup);
            let at = whole.mul_f64((n as f64 + 0.5) / kills as f64);
            kill(&folder, sql, at, n % 2 == 1);
            done += usize::from(check(&folder, &before, &after));
        }
        println!("{done} of {kills} kills found it done: {sql}");
    }
}
