//! Two writers at once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use datafusion::arrow::array::{ArrayRef, Decimal128Array, Int32Array, Int64Array, RecordBatch};
use partwise_stream::OutputMode::{Append, Complete, Update};
use partwise_stream::{Error, OutputMode, Step, Trigger};

use crate::kit::{Lab, copy_folder, open, run, sink_at};
use crate::modes::PAIRS;
use crate::python;

const BY_ZONE: &str = PAIRS[2].0;

/// A lab whose query has given batch 0 and planned batch 1; its checkpoint is there twice.
async fn at_batch_1(sql: &str, mode: OutputMode) -> Lab {
    let lab = Lab::with_trips(4).await;
    let stopped = lab.query(sql, "q", mode).await.sink(lab.sink("t")).before_each_step(
        |step, batch| match (step, batch) {
            (Step::Sink, 1) => Err(Error::internal("stopped by the test")),
            _ => Ok(()),
        },
    );
    run(stopped).await.unwrap_err();
    copy_folder(&lab.path("ck-q"), &lab.path("ck-other"));
    lab
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_tasks_with_the_same_batch_one_writes() {
    for round in 0..3 {
        for (sql, mode) in PAIRS {
            let lab = at_batch_1(sql, mode).await;
            let before = lab.table("t").await.version().unwrap();
            let arrived = Arc::new(AtomicUsize::new(0));
            let writer = async |checkpoint: &str| {
                let arrived = Arc::clone(&arrived);
                let writer = lab.query(sql, "q", mode).await.checkpoint(lab.path(checkpoint));
                writer.sink(lab.sink("t")).before_each_step(move |step, batch| {
                    if (step, batch) == (Step::Sink, 1) {
                        both(&arrived);
                    }
                    Ok(())
                })
            };
            let (a, b) = (run(writer("ck-q").await), run(writer("ck-other").await));
            let (a, b) = tokio::join!(tokio::spawn(a), tokio::spawn(b));
            let rows = |query: partwise_stream::StreamQuery| query.history()[0].output_rows;
            let wrote = [rows(a.unwrap().unwrap()), rows(b.unwrap().unwrap())];
            assert_eq!(wrote.iter().flatten().count(), 1, "{sql} {wrote:?} round {round}");
            assert_eq!(lab.table("t").await.version(), Some(before + 1), "{sql}");
            if sql != PAIRS[1].0 {
                assert_eq!(lab.rows("t").await, lab.batch(sql).await, "{sql}");
            }
        }
    }
}

/// Waits until two are here.
fn both(arrived: &AtomicUsize) {
    let started = Instant::now();
    arrived.fetch_add(1, Ordering::SeqCst);
    while arrived.load(Ordering::SeqCst) < 2 {
        assert!(started.elapsed() < Duration::from_secs(120), "the other one doesn't come");
        std::thread::yield_now();
    }
}

const FOLDER: &str = "PARTWISE_DELTA_RACE";

/// The other process of the test below; nothing by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_of_the_race() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let checkpoint = std::env::var_os("PARTWISE_DELTA_CHECKPOINT").unwrap();
    let lab = Lab::new();
    lab.stream_of(&folder.join("landing"), "trips", 2).await;
    let sql = std::env::var("PARTWISE_DELTA_SQL").unwrap();
    let mode = std::env::var("PARTWISE_DELTA_MODE").unwrap().parse().unwrap();
    let writer = lab.query(&sql, "q", mode).await.checkpoint(folder.join(checkpoint));
    let writer = writer.sink(sink_at(&folder.join("t"))).before_each_step(|step, batch| {
        if (step, batch) == (Step::Sink, 1) {
            println!("ready");
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        Ok(())
    });
    let query = run(writer).await.unwrap();
    println!("wrote {:?}", query.history()[0].output_rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_processes_with_the_same_batch_one_writes() {
    for (sql, mode) in PAIRS {
        let lab = at_batch_1(sql, mode).await;
        let folder = lab.path("");
        let before = lab.table("t").await.version().unwrap();
        let children = ["ck-q", "ck-other"].map(|ck| Racer::start(&folder, ck, sql, mode));
        let wrote = tokio::task::spawn_blocking(move || {
            let mut children = children;
            children.iter_mut().for_each(Racer::ready);
            children.iter_mut().for_each(Racer::go);
            children.map(Racer::wrote)
        });
        let wrote = wrote.await.unwrap();
        assert_eq!(wrote.iter().filter(|wrote| **wrote).count(), 1, "{sql}");
        assert_eq!(lab.table("t").await.version(), Some(before + 1), "{sql}");
        if sql != PAIRS[1].0 {
            assert_eq!(lab.rows("t").await, lab.batch(sql).await, "{sql}");
        }
    }
}

/// A process that stops before its write until it is told.
struct Racer {
    child: std::process::Child,
    said: std::io::Lines<std::io::BufReader<std::process::ChildStdout>>,
}

impl Racer {
    fn start(folder: &Path, checkpoint: &str, sql: &str, mode: OutputMode) -> Self {
        use std::io::BufRead;
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "race::a_process_of_the_race", "--nocapture"])
            .env(FOLDER, folder)
            .env("PARTWISE_DELTA_CHECKPOINT", checkpoint)
            .env("PARTWISE_DELTA_SQL", sql)
            .env("PARTWISE_DELTA_MODE", mode.name())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, said }
    }

    fn until(&mut self, word: &str) -> String {
        let line = self.said.find(|line| line.as_ref().unwrap().contains(word));
        line.unwrap_or_else(|| panic!("the process ended before it said {word}")).unwrap()
    }

    fn ready(&mut self) {
        self.until("ready");
    }

    fn go(&mut self) {
        use std::io::Write;
        writeln!(self.child.stdin.as_mut().unwrap()).unwrap();
    }

    fn wrote(mut self) -> bool {
        let line = self.until("wrote");
        assert!(self.child.wait().unwrap().success());
        line.contains("Some")
    }
}

/// Rows that another writer appends: fewer than the times that a batch is tried.
const APPENDED: usize = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn others_append_meanwhile_and_nothing_is_lost() {
    for mode in [Append, Update] {
        let lab = Lab::with_trips(16).await;
        let sql = match mode {
            Append => {
                "SELECT zone, CAST(1 AS BIGINT) AS n, CAST(price AS DECIMAL(20, 2)) AS price \
                 FROM trips"
            }
            _ => BY_ZONE,
        };
        let writer = lab.query(sql, "q", mode).await.sink(lab.sink("t"));
        // Makes the table.
        run(writer.clone().trigger(Trigger::Once)).await.unwrap();
        let (other, query) =
            tokio::join!(tokio::spawn(append_rows(lab.path("t"))), tokio::spawn(run(writer)));
        other.unwrap();
        query.unwrap().unwrap();
        let (theirs, ours): (Vec<_>, Vec<_>) =
            lab.rows("t").await.into_iter().partition(|row| row.starts_with("1000"));
        assert_eq!(theirs.len(), APPENDED);
        assert_eq!(ours, lab.batch(sql).await);
    }
}

/// Another writer: rows of zones from a million on, one by one.
async fn append_rows(path: PathBuf) {
    for appended in 0..APPENDED {
        let zone: ArrayRef = Arc::new(Int32Array::from(vec![1_000_000 + appended as i32]));
        let n: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let price = Decimal128Array::from(vec![100]).with_precision_and_scale(20, 2).unwrap();
        let columns = [("zone", zone), ("n", n), ("price", Arc::new(price) as ArrayRef)];
        let rows = RecordBatch::try_from_iter(columns).unwrap();
        open(&path).await.write(vec![rows]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_package_appends_between_batches() {
    let Some(python) = python::python() else { return };
    let lab = Lab::with_trips(6).await;
    let path = lab.path("t");
    let writer = lab.query(BY_ZONE, "q", Update).await.sink(lab.sink("t"));
    let writer = writer.before_each_step(move |step, batch| {
        if step == Step::Sink && batch > 0 {
            python::append(&python, &path, 1000 + batch as i32);
        }
        Ok(())
    });
    run(writer).await.unwrap();
    let mut expected = lab.batch(BY_ZONE).await;
    expected.extend(["1001 | 1 | 1.00".to_owned(), "1002 | 1 | 1.00".to_owned()]);
    expected.sort();
    assert_eq!(lab.rows("t").await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_queries_share_a_table_in_append_and_a_complete_one_is_refused() {
    let lab = Lab::with_trips(8).await;
    let sql = "SELECT zone, price FROM trips";
    let (a, b) = (
        run(lab.query(sql, "a", Append).await.sink(lab.sink("t"))),
        run(lab.query(sql, "b", Append).await.sink(lab.sink("t"))),
    );
    let (a, b) = tokio::join!(tokio::spawn(a), tokio::spawn(b));
    a.unwrap().unwrap();
    b.unwrap().unwrap();
    let once = lab.batch(sql).await;
    let mut twice = [once.clone(), once].concat();
    twice.sort();
    assert_eq!(lab.rows("t").await, twice);
    let sql = "SELECT zone, max(price) AS price FROM trips GROUP BY zone";
    let error = run(lab.query(sql, "c", Complete).await.sink(lab.sink("t"))).await.unwrap_err();
    assert!(error.to_string().contains("rows of another query"), "{error}");
}
