//! Readers of a table whose partitions are overwritten with one number after another, all at once:
//! each sees one number everywhere, and none that is older than what it saw.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::support::Folder;
use crate::support::process::Process;
use crate::support::session::{Session, all_of};
use partwise_testkit::python;

const THREE: u64 = 3;
const FEW_ROWS: u64 = 3_000;
const OVERWRITES: u64 = 200;

/// The number in each partition.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen(pub Vec<u64>);

impl Seen {
    /// What a new session sees.
    pub fn now(folder: &Folder, partitions: u64, rows: u64) -> Self {
        runtime().block_on(async { Self::of(&Session::open(folder).await, partitions, rows).await })
    }

    /// What a session sees: the rows, counted and added up, and the statistics of the files.
    async fn of(session: &Session, partitions: u64, rows: u64) -> Self {
        let read = "SELECT count(*), sum(n), min(n), max(n), p FROM t GROUP BY p ORDER BY p";
        let each: Vec<Vec<u64>> = session.rows(read).await.iter().map(|row| numbers(row)).collect();
        assert_eq!(each.len() as u64, partitions, "{each:?}");
        let number = |row: &Vec<u64>| {
            let [count, sum, min, max, _] = row[..] else { panic!("{row:?}") };
            let whole = rows / partitions;
            assert_eq!((count, sum, min), (whole, max * whole, max), "torn: {each:?}");
            max
        };
        Self(each.iter().map(number).collect())
    }

    /// The one number of all partitions.
    fn one(&self) -> u64 {
        assert!(self.0.iter().all(|n| *n == self.0[0]), "old and new at once: {self:?}");
        self.0[0]
    }
}

fn numbers(row: &str) -> Vec<u64> {
    row.split('|').map(|cell| cell.parse().unwrap_or_else(|_| panic!("{row}"))).collect()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Reads on in a thread of its own.
pub struct Reader {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(u64, u64)>,
}

impl Reader {
    pub fn start(folder: &Folder, partitions: u64, rows: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (lake, stopped) = (folder.lake(), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            runtime().block_on(read_on(&lake, partitions, rows, &stopped))
        });
        Self { stop, thread }
    }

    /// Ends it: how often it read, and how often it saw another number than before.
    pub fn stop(self) -> (u64, u64) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("what the reader saw was whole")
    }
}

/// Reads all partitions, from a session that stays and from new ones, and the extremes alone, which
/// the statistics answer.
async fn read_on(
    lake: &std::path::Path,
    partitions: u64,
    rows: u64,
    stopped: &AtomicBool,
) -> (u64, u64) {
    let (mut reads, mut steps, mut last) = (0, 0, 0);
    let staying = Session::at(lake).await;
    while !stopped.load(Ordering::Relaxed) {
        let new = Session::at(lake).await;
        let extremes = numbers(&staying.rows("SELECT count(*), min(n), max(n) FROM t").await[0]);
        assert_eq!(extremes, [rows, extremes[2], extremes[2]], "torn");
        let one = staying.rows("SELECT sum(n) FROM t WHERE p = 1").await;
        let one = numbers(&one[0])[0] / (rows / partitions);
        for session in [&staying, &new] {
            let seen = Seen::of(session, partitions, rows).await.one();
            assert!(
                seen >= extremes[2].max(one).max(last),
                "{seen} after {extremes:?}, {one}, {last}"
            );
            steps += u64::from(seen != last);
            last = seen;
        }
        reads += 4;
    }
    (reads, steps)
}

/// DuckDB reading on: of each partition it sees one number; partitions switch one by one.
pub struct DuckDb {
    process: Process,
}

const READ_ON: &str = "
import duckdb, select, sys
path, partitions, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
reads = gone = 0
print('ready', flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    try:
        seen = duckdb.connect().execute(f\"\"\"select p, count(*), sum(n), min(n), max(n)
          from read_parquet('{path}/**/*.parquet', hive_partitioning = true) group by p\"\"\").fetchall()
    except duckdb.IOException as error:
        if 'No such file' not in str(error) and 'does not exist' not in str(error): raise
        gone += 1
        continue
    whole = rows // partitions
    torn = [s for s in seen if s[1] != whole or s[3] != s[4] or s[2] != whole * s[3]]
    if torn or len(seen) != partitions: print('torn', seen)
    reads += 1
print(f'{reads} of DuckDB, and {gone} were told that a file had gone')
";

impl DuckDb {
    /// None without Python.
    pub fn start(folder: &Folder, partitions: u64, rows: u64) -> Option<Self> {
        let mut command = Command::new(python()?);
        command.args(["-c", READ_ON]).arg(folder.table("t")).stdin(Stdio::piped());
        command.args([partitions.to_string(), rows.to_string()]);
        Some(Self { process: Process::start(command) })
    }

    /// Ends it: how often it read.
    pub fn stop(mut self) -> String {
        let (input, output) = self.process.pipes();
        drop(input);
        let lines: Vec<String> = BufReader::new(output).lines().map_while(Result::ok).collect();
        let ended = self.process.end().ok();
        assert_eq!(lines.len(), 2, "{lines:?} {}", ended.err);
        lines[1].clone()
    }
}

#[test]
fn a_reader_sees_two_hundred_overwrites_of_three_partitions_whole() {
    let folder = Folder::new();
    let rows = |n: u64| {
        format!(
            "SELECT value AS v, CAST({n} AS BIGINT) AS n, value % {THREE} AS p \
             FROM generate_series(1, {FEW_ROWS})"
        )
    };
    folder.sql(&format!("CREATE TABLE t USING parquet PARTITIONED BY (p) AS {}", rows(0))).ok();
    let reader = Reader::start(&folder, THREE, FEW_ROWS);
    let duckdb = DuckDb::start(&folder, THREE, FEW_ROWS);
    let script: Vec<String> =
        (1..=OVERWRITES).map(|n| format!("INSERT OVERWRITE t {};\n", rows(n))).collect();
    std::fs::write(folder.path().join("job.sql"), script.concat()).expect("a script");
    folder.run(&["-f", "job.sql"]).ok();
    let (reads, steps) = reader.stop();
    let duckdb = duckdb.map_or("no DuckDB".to_owned(), DuckDb::stop);
    println!("{OVERWRITES} overwrites: {reads} reads of ours saw {steps} of them, {duckdb}");
    assert!(steps > 10, "the reader came too seldom: {steps}");
    assert_eq!(Seen::now(&folder, THREE, FEW_ROWS), Seen(vec![OVERWRITES; THREE as usize]));
}

/// Nothing is kept: a query that has given out no row starts again on what is there now, and says
/// then what it read.
#[tokio::test]
async fn without_retention_a_query_whose_files_are_gone_starts_again() {
    let folder = Folder::new();
    let (reader, writer) = (Session::open(&folder).await, Session::open(&folder).await);
    writer
        .all(&[
            "CREATE TABLE t (v INT, p STRING) USING parquet PARTITIONED BY (p) \
             OPTIONS ('retention' '0')",
            "INSERT INTO t VALUES (1, 'a'), (1, 'b')",
        ])
        .await;
    reader.all(&["SET datafusion.execution.target_partitions = 1"]).await;
    let rows = reader.begin("SELECT v, p FROM t WHERE v > 0 ORDER BY p").await;
    writer.all(&["INSERT OVERWRITE t VALUES (2, 'a'), (2, 'b'), (2, 'c')"]).await;
    let scan = rows.scan();
    assert_eq!(all_of(rows).await.expect("the new rows"), ["2|a", "2|b", "2|c"]);
    assert_eq!(scan.totals().map(|totals| (totals.partitions, totals.rows)), Some((3, 3)));
}
