//! `kill -9` at any moment of a query over 60 files, with restart: the report equals the batch job's,
//! to the row and cent.
//!
//! The moments are uniform over the time that the query takes undisturbed; each life begins where
//! the last one ended.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::support::Folder;
use crate::support::process::{LONGEST, Process, within};

/// How many kills; all of them take minutes.
const KILLS: &str = "PARTWISE_STREAM_KILLS";
const FILES: u32 = 60;

const IN_QUARTER: &str =
    "tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01'";

/// Trips and revenue by hour and zone of a table or stream, the hour by this expression.
fn report(from: &str, hour: &str) -> String {
    format!(
        "SELECT \"PULocationID\" AS zone, {hour} AS pickup_hour, count(*) AS trips, \
         sum(total_amount) AS revenue, date_format({hour}, '%Y-%m') AS pickup_month \
         FROM {from} WHERE {IN_QUARTER} GROUP BY ALL"
    )
}

fn query(name: &str) -> String {
    let rows = report("trips", "tumble(tpep_pickup_datetime, INTERVAL '1 hour')");
    format!(
        "CREATE STREAM trips FROM FILES 'landing/' OPTIONS ('max_files_per_trigger' '1'); \
         START QUERY {name} OUTPUT MODE update TRIGGER AVAILABLE NOW CHECKPOINT 'ck/{name}' \
         INTO TABLE {name} PARTITIONED BY (pickup_month) AS {rows}; AWAIT QUERY {name}"
    )
}

/// The quarter in files of as much time each; times outside of it go into the first and the last.
fn split_quarter(folder: &Folder) {
    let seconds = "date_part('epoch', tpep_pickup_datetime)";
    let slice = format!(
        "least(greatest(CAST(floor(({seconds} - 1704067200) / (91 * 86400.0 / {FILES})) AS INT), 0), {})",
        FILES - 1
    );
    let mut sql = format!(
        "CREATE TABLE quarter AS SELECT *, {slice} AS slice FROM '${{data}}/yellow_tripdata_2024-0*.parquet';"
    );
    for file in 0..FILES {
        sql += &format!(
            "COPY (SELECT * EXCEPT (slice) FROM quarter WHERE slice = {file}) \
             TO 'landing/{file:02}.parquet';"
        );
    }
    std::fs::create_dir(folder.path().join("landing")).expect("a folder");
    folder.run(&["--lake", "none", "-q", "--set", &data(), "-c", &sql]).ok();
}

fn data() -> String {
    format!("data={}", crate::support::quarter().display())
}

fn start(folder: &Folder, name: &str) -> Process {
    let mut command = folder.partwise();
    command.args(["-q", "-c", &query(name)]).stdin(Stdio::null());
    Process::start(command)
}

/// How many batches a checkpoint knows of: planned, and done.
fn batches(folder: &Folder, name: &str) -> (usize, usize) {
    let ck = folder.path().join("ck").join(name);
    let count = |folder: &str| {
        let entries = std::fs::read_dir(ck.join(folder)).into_iter().flatten().flatten();
        entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count()
    };
    (count("offsets"), count("commits"))
}

/// Differences of a report from the batch job's, both ways.
fn differences(folder: &Folder, name: &str) -> String {
    let cents = "zone, pickup_hour, trips, CAST(round(revenue * 100) AS BIGINT), pickup_month";
    let minus = |a: &str, b: &str| {
        format!("(SELECT count(*) FROM (SELECT {cents} FROM {a} EXCEPT SELECT {cents} FROM {b}))")
    };
    folder.row(&format!(
        "SELECT (SELECT count(*) FROM {name}) - (SELECT count(*) FROM batch) AS more, {} AS wrong, {} \
         AS missing",
        minus(name, "batch"),
        minus("batch", name)
    ))
}

/// The time that a query takes undisturbed: until it is at its first batch, and all of it.
fn measured(folder: &Folder) -> (Duration, Duration) {
    let started = Instant::now();
    let process = start(folder, "whole");
    within(LONGEST, "the first batch", || batches(folder, "whole").0 > 0);
    let begun = started.elapsed();
    process.end().ok();
    (begun, started.elapsed())
}

#[test]
fn kills_at_any_moment_of_a_query_leave_the_report_of_the_batch_job() {
    let kills = crate::faults::number_or(KILLS, 6);
    let folder = Folder::new();
    split_quarter(&folder);
    let batch = report("'landing/*.parquet'", "date_trunc('hour', tpep_pickup_datetime)");
    folder.sql(&format!("CREATE TABLE batch PARTITIONED BY (pickup_month) AS {batch}")).ok();
    let (begun, whole) = measured(&folder);
    assert_eq!(differences(&folder, "whole"), "0,0,0");
    assert_eq!(batches(&folder, "whole"), (60, 60));

    let seed = 20_240_115;
    let mut random = StdRng::seed_from_u64(seed);
    let mut moments: Vec<f64> = (0..kills).map(|_| random.random()).collect();
    moments.sort_by(f64::total_cmp);
    let (mut last, mut in_batch, mut before, mut done) = (0.0, 0, 0, 0);
    for moment in moments {
        let life = begun + (whole - begun).mul_f64(moment - last);
        last = moment;
        let process = start(&folder, "killed");
        std::thread::sleep(life);
        process.kill();
        let (planned, committed) = batches(&folder, "killed");
        assert!(committed >= done && planned - committed <= 1, "{planned}, {committed}");
        done = committed;
        match (planned, planned > committed) {
            (0, _) => before += 1,
            (_, true) => in_batch += 1,
            (_, false) => {}
        }
    }
    start(&folder, "killed").end().ok();
    println!(
        "{kills} kills over {} ms (the first batch after {} ms), seed {seed}: {in_batch} during a \
         batch, {before} before the first, {} between two or after the last; {done} batches were \
         done by then",
        whole.as_millis(),
        begun.as_millis(),
        kills - in_batch - before
    );
    assert_eq!(batches(&folder, "killed"), (60, 60));
    assert_eq!(differences(&folder, "killed"), "0,0,0");
    let commits =
        "SELECT count(*), count(DISTINCT run) FROM history('killed') WHERE job IS NOT NULL";
    assert_eq!(folder.row(commits), "60,60");
}
