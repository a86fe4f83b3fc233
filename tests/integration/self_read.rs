//! Statements that read the table they write, in every disguise, alone and while others append.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use partwise::ErrorKind;

use crate::support::Folder;
use crate::support::session::Session;
use crate::support::tree::staged;

const ITSELF: &str = "INSERT OVERWRITE t SELECT v + 1, dt FROM t";

/// Statements that add 1 to every `v`, each with what comes before it; `$` is the folder.
const DISGUISES: &[(&[&str], &str)] = &[
    (&[], ITSELF),
    (&[], "INSERT OVERWRITE t PARTITION (dt IS NOT NULL) SELECT v + 1, dt FROM t"),
    (&["SET partwise.partition_overwrite_mode = 'static'"], ITSELF),
    (&["CREATE VIEW w AS SELECT v + 1 AS v, dt FROM t"], "INSERT OVERWRITE t SELECT * FROM w"),
    (
        &["CREATE EXTERNAL TABLE u STORED AS PARQUET LOCATION '$/lake/t'"],
        "INSERT OVERWRITE t SELECT v + 1, dt FROM u",
    ),
    (
        &["CREATE TABLE u (v INT, dt STRING) PARTITIONED BY (dt) LOCATION '$/link/'"],
        "INSERT OVERWRITE u SELECT v + 1, dt FROM t",
    ),
    (&[], "INSERT OVERWRITE t SELECT v + 1, dt FROM '$/lake/t'"),
    (&[], "INSERT OVERWRITE t SELECT v + 1, dt FROM '$/lake/t/'"),
    (&[], "INSERT OVERWRITE t SELECT v + 1, dt FROM '$/link'"),
    (&[], "INSERT OVERWRITE t SELECT v + 1, dt FROM '$/link/'"),
    (&[], "INSERT OVERWRITE t SELECT v + 1, 'd2' FROM '$/lake/t/dt=d2'"),
    (&[], "INSERT OVERWRITE t PARTITION (dt = 'd2') SELECT v + 1 FROM '$/lake/t/dt=d2/'"),
    (&[], "INSERT OVERWRITE t SELECT v + 1, 'd2' FROM '$/link/dt=d2'"),
    (&[], "INSERT OVERWRITE t SELECT v + 1, 'd2' FROM '$/lake/t/dt=d2/*.parquet'"),
    (&[], "INSERT OVERWRITE t SELECT v + 1, 'd2' FROM '$/link/dt=d2/*.parquet'"),
    (&[], "INSERT OVERWRITE t SELECT v + (SELECT count(DISTINCT dt) - 1 FROM t), dt FROM t"),
    (
        &[],
        "CREATE OR REPLACE TABLE t USING parquet PARTITIONED BY (dt) AS SELECT v + 1 AS v, dt FROM t",
    ),
    (
        &[],
        "COPY (SELECT v + 1 AS v, dt FROM '$/lake/t/') TO '$/lake/t/' STORED AS PARQUET \
         PARTITIONED BY (dt) OPTIONS ('mode' 'overwrite')",
    ),
    (
        &[],
        "COPY (SELECT v + 1 AS v, dt FROM t) TO '$/link' STORED AS PARQUET PARTITIONED BY (dt) \
         OPTIONS ('mode' 'overwrite_partitions')",
    ),
];

/// A table of three rows, and a link to it.
async fn three_rows(folder: &Folder) -> Session {
    let session = Session::open(folder).await;
    session
        .all(&[
            "CREATE TABLE t (v INT, dt STRING) USING parquet PARTITIONED BY (dt)",
            "INSERT INTO t VALUES (1, 'd1'), (2, 'd2'), (3, 'd2')",
        ])
        .await;
    std::os::unix::fs::symlink(folder.table("t"), folder.path().join("link")).expect("a link");
    session
}

fn in_folder(sql: &str, folder: &Folder) -> String {
    sql.replace('$', &folder.path().display().to_string())
}

/// Whether the statement reads and replaces `dt=d2` only.
fn is_of_one_partition(sql: &str) -> bool {
    sql.contains("dt=d2")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_disguise_reads_what_was_there_before() {
    for (before, sql) in DISGUISES {
        let folder = Folder::new();
        let session = three_rows(&folder).await;
        for before in *before {
            session.all(&[&in_folder(before, &folder)]).await;
        }
        session.all(&[&in_folder(sql, &folder)]).await;
        let first = if is_of_one_partition(sql) { "1|d1" } else { "2|d1" };
        let rows = session.rows("SELECT * FROM t ORDER BY v, dt").await;
        let mut expected = [first, "3|d2", "4|d2"];
        expected.sort_unstable();
        assert_eq!(rows, expected, "{sql}");
    }
}

/// The writers' lock of the table, held by the test.
fn hold_lock(folder: &Folder) -> std::fs::File {
    let path = folder.lake().join("_partwise/t/lock");
    let lock = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let lock = lock.expect("the lock file");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("the lock");
    lock
}

/// Waits until a writer has staged a file: its scans are planned.
async fn wait_staged(folder: &Folder) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !staged(&folder.lake()).iter().any(|name| name.ends_with(".parquet")) {
        assert!(Instant::now() < limit, "nothing was staged");
        tokio::task::yield_now().await;
    }
}

/// A file with the one row `v` = 100, made by a table of its own.
async fn foreign_file(session: &Session, folder: &Folder) -> PathBuf {
    let sql = "COPY (SELECT CAST(100 AS INT) AS v) TO '$/one.parquet' STORED AS PARQUET";
    session.all(&[&in_folder(sql, folder)]).await;
    folder.path().join("one.parquet")
}

/// As another tool adds a file: written aside, then renamed.
fn put(file: &Path, folder: &Folder, directory: &str) {
    let directory = folder.table("t").join(directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::copy(file, directory.join("_data_0")).expect("a copy");
    std::fs::rename(directory.join("_data_0"), directory.join("data_0.parquet")).expect("a name");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_another_tool_adds_between_reading_and_deciding_is_not_lost() {
    for (before, sql) in DISGUISES {
        let folder = Folder::new();
        let session = three_rows(&folder).await;
        for before in *before {
            session.all(&[&in_folder(before, &folder)]).await;
        }
        let file = foreign_file(&session, &folder).await;
        let lock = hold_lock(&folder);
        let statement = in_folder(sql, &folder);
        let writer = async { session.run(&statement).await };
        let other = async {
            wait_staged(&folder).await;
            put(&file, &folder, "dt=d2");
            drop(lock);
        };
        let (done, ()) = tokio::join!(writer, other);
        done.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let first = if is_of_one_partition(sql) { 1 } else { 2 };
        let total = format!("4|{}", first + 3 + 4 + 101);
        assert_eq!(session.rows("SELECT count(*), sum(v) FROM t").await, [total], "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_another_tool_adds_is_read_by_who_replaces_the_whole_table() {
    let folder = Folder::new();
    let session = three_rows(&folder).await;
    let file = foreign_file(&session, &folder).await;
    session.all(&["SET partwise.partition_overwrite_mode = 'static'"]).await;
    let lock = hold_lock(&folder);
    let writer = session.run("INSERT OVERWRITE t SELECT v + 1, dt FROM t WHERE v < 1000");
    let other = async {
        wait_staged(&folder).await;
        put(&file, &folder, "dt=d9");
        drop(lock);
    };
    let (done, ()) = tokio::join!(writer, other);
    done.expect("an overwrite");
    assert_eq!(session.rows("SELECT count(*), sum(v) FROM t").await, ["4|110"]);
}

/// What the statement didn't read it replaces as ever, whoever put it there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_in_a_partition_that_is_not_read_is_replaced_with_it() {
    let folder = Folder::new();
    let session = three_rows(&folder).await;
    let file = foreign_file(&session, &folder).await;
    let lock = hold_lock(&folder);
    let writer =
        session.run("INSERT OVERWRITE t PARTITION (dt = 'd2') SELECT v FROM t WHERE dt = 'd1'");
    let other = async {
        wait_staged(&folder).await;
        put(&file, &folder, "dt=d2");
        drop(lock);
    };
    let (done, ()) = tokio::join!(writer, other);
    done.expect("an overwrite");
    assert_eq!(session.rows("SELECT * FROM t ORDER BY dt").await, ["1|d1", "1|d2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_another_session_appends_no_row_is_lost() {
    for (before, sql) in [DISGUISES[0], DISGUISES[3], DISGUISES[8], DISGUISES[16], DISGUISES[17]] {
        let folder = Arc::new(Folder::new());
        let session = three_rows(&folder).await;
        session.all(before).await;
        let stop = Arc::new(AtomicBool::new(false));
        let appender = tokio::spawn(append_on(Arc::clone(&folder), Arc::clone(&stop)));
        let mut done = 0;
        let limit = Instant::now() + Duration::from_secs(60);
        while done < 5 && Instant::now() < limit {
            match session.run(&in_folder(sql, &folder)).await {
                Ok(_) => done += 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Conflict, "{sql}: {error}");
                    assert!(error.to_string().contains("append"), "{error}");
                    // The other one may get ahead three times in a row: then it is enough.
                    done += usize::from(stop.swap(true, Ordering::Relaxed));
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        let appended = appender.await.expect("the appender");
        let count = session.rows("SELECT count(*), min(v) FROM t WHERE v < 1000").await;
        assert_eq!(count, [format!("3|{}", 1 + done)], "{sql}");
        let count = session.rows("SELECT count(*) FROM t WHERE v >= 1000").await;
        assert_eq!(count, [appended.to_string()], "{sql}");
    }
}

/// Appends one row after the other until told to stop; how many.
async fn append_on(folder: Arc<Folder>, stop: Arc<AtomicBool>) -> usize {
    let session = Session::open(&folder).await;
    let mut appended = 0;
    while !stop.load(Ordering::Relaxed) {
        match session.run("INSERT INTO t VALUES (1000, 'd2')").await {
            Ok(_) => appended += 1,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
        }
    }
    appended
}
