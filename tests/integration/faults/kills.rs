//! `kill -9` at any moment of an overwrite of all partitions, while readers read on.
//!
//! The moments are uniform over the time that an overwrite takes, made longer by a delay at the
//! commit point: the test stops the writer when its record appears. How far it came is told
//! afterwards by what is on disk.

use std::ops::AddAssign;
use std::time::{Duration, Instant};

use super::number_or;
use super::switching::{DuckDb, Reader, Seen};
use crate::support::Folder;
use crate::support::commits::{Commits, Stage};
use crate::support::process::Process;
use crate::support::tree::{data_files, staged};

/// How many kills; all of them take minutes.
const KILLS: &str = "PARTWISE_KILLS";
/// Of so many kills one falls before the record, and one between it and the switch, at least.
const SHARE: usize = 10;
const ROWS: u64 = 24_000;
const PARTITIONS: u64 = 6;

fn rows(value: u64) -> String {
    format!(
        "SELECT value AS v, CAST({value} AS BIGINT) AS n, value % {PARTITIONS} AS p \
         FROM generate_series(1, {ROWS})"
    )
}

fn overwrite(folder: &Folder, value: u64) -> Process {
    Process::sql(folder, &format!("INSERT OVERWRITE t {}", rows(value)))
}

/// How long an overwrite takes, and its part from the record to the switch.
#[derive(Clone, Copy, Default)]
struct Pace {
    whole: Duration,
    publishing: Duration,
}

impl Pace {
    /// The middle one of three wholes, and the shortest of their parts: later, a stop comes late.
    fn measured(folder: &Folder, commits: &Commits) -> Self {
        let mut three = [(); 3].map(|()| Self::of_one(folder, commits));
        three.sort_by_key(|pace| pace.whole);
        let publishing = three.iter().map(|pace| pace.publishing).min();
        Self { publishing: publishing.unwrap_or_default(), ..three[1] }
    }

    fn of_one(folder: &Folder, commits: &Commits) -> Self {
        let (log, switch) = (commits.watch_log(), commits.watch_published());
        let started = Instant::now();
        let mut process = overwrite(folder, 1);
        assert!(log.wait_for(&mut process, |name| name.ends_with(".json")));
        let logged = started.elapsed();
        assert!(switch.wait_for(&mut process, |name| name == "published"));
        let switched = started.elapsed();
        process.end().ok();
        Self { whole: started.elapsed(), publishing: switched - logged }
    }
}

/// How many kills found the commit where.
#[derive(Default)]
struct Found {
    staging: usize,
    logged: usize,
    published: usize,
}

impl AddAssign<Stage> for Found {
    fn add_assign(&mut self, stage: Stage) {
        *match stage {
            Stage::Staging => &mut self.staging,
            Stage::Logged => &mut self.logged,
            Stage::Published => &mut self.published,
        } += 1;
    }
}

/// Starts a writer and kills it at a moment; once its record has appeared and the pause after it is
/// over, it stands still for the delay.
fn kill_at(
    commits: &Commits,
    start: impl FnOnce() -> Process,
    at: Duration,
    pause: Duration,
    delay: Duration,
) {
    let log = commits.watch_log();
    let started = Instant::now();
    let mut process = start();
    let mut goes_on = None;
    while started.elapsed() < at {
        if goes_on.is_none() && log.has_seen(|name| name.ends_with(".json")) {
            spin(pause);
            process.stop();
            goes_on = Some(started.elapsed() + delay);
        }
        if goes_on.is_some_and(|moment| started.elapsed() >= moment) {
            process.go_on();
            goes_on = Some(Duration::MAX);
        }
        std::thread::yield_now();
    }
    process.kill();
}

/// A pause shorter than any that a sleep keeps.
fn spin(pause: Duration) {
    let started = Instant::now();
    while started.elapsed() < pause {
        std::hint::spin_loop();
    }
}

#[test]
fn kills_at_any_moment_leave_the_old_rows_or_the_new_ones() {
    let kills = number_or(KILLS, 60);
    let folder = Folder::new();
    let commits = Commits::of(&folder, "t");
    let create = format!("CREATE TABLE t USING parquet PARTITIONED BY (p) AS {}", rows(0));
    folder.sql(&create).ok();
    let reader = Reader::start(&folder, PARTITIONS, ROWS);
    let duckdb = DuckDb::start(&folder, PARTITIONS, ROWS);
    let pace = Pace::measured(&folder, &commits);
    let delay = pace.whole / 3;

    let mut values = vec![0, 0, 1, 1, 1];
    let mut found = Found::default();
    for kill in 0..kills {
        let value = values.len() as u64;
        let version = commits.logged() + 1;
        let at = (pace.whole + delay).mul_f64((kill as f64 + 0.5) / kills as f64);
        let pause = pace.publishing.mul_f64([0.0, 0.0, 0.2, 0.4][kill % 4]);
        kill_at(&commits, || overwrite(&folder, value), at, pause, delay);
        let stage = commits.stage_of(version);
        if stage >= Stage::Logged {
            values.push(value);
        }
        found += stage;
        let seen = Seen::now(&folder, PARTITIONS, ROWS);
        let wanted = values[commits.published() as usize];
        assert_eq!(seen, Seen(vec![wanted; PARTITIONS as usize]), "kill {kill}, {stage:?}");
    }

    let (reads, steps) = reader.stop();
    println!(
        "{kills} kills over {} ms (record to switch {} ms) and a delay of {} ms: {} in staging, {} \
         between record and switch, {} after; {reads} reads of ours saw {steps} of the overwrites, \
         {}",
        pace.whole.as_millis(),
        pace.publishing.as_millis(),
        delay.as_millis(),
        found.staging,
        found.logged,
        found.published,
        duckdb.map_or("no DuckDB".to_owned(), |duckdb| duckdb.stop())
    );
    assert!(found.staging >= kills / SHARE && found.logged >= kills / SHARE);
    overwrite(&folder, 7_000).end().ok();
    assert_eq!(Seen::now(&folder, PARTITIONS, ROWS), Seen(vec![7_000; PARTITIONS as usize]));
    assert_eq!(data_files(&folder.table("t")).len() as u64, PARTITIONS);
    assert!(staged(&folder.lake()).is_empty(), "{:?}", staged(&folder.lake()));
    assert!(folder.table("t").join("_SUCCESS").exists());
    let history = folder.row("SELECT count(*), min(version), max(version) FROM history('t')");
    assert_eq!(history, format!("{0},1,{0}", commits.published()));
}
