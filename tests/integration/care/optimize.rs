//! OPTIMIZE: the same rows in fewer files, beside whoever else writes.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::dataframe::DataFrame;
use partwise::{ContextOptions, Lake, PartwiseContext};

use crate::support::Folder;
use crate::support::session::{Gave, Session};
use crate::support::tree::data_files;

/// Everything there is to tell two contents of `t` apart.
const CHECKSUM: &str = "SELECT count(*), sum(v), sum(v * v), min(s), max(s), count(s), sum(length(s)), \
    count(DISTINCT d), bit_xor(v * (1 + CAST(date_part('day', d) AS BIGINT))) FROM t";

fn add_files(days: u64) -> String {
    format!(
        "INSERT INTO t SELECT value + 1000 * (SELECT count(*) FROM t), \
         CASE WHEN value % 7 > 0 THEN concat('s', value) END, \
         DATE '2024-01-01' + CAST(value % {days} AS INT) FROM generate_series(1, {days} * 3)"
    )
}

/// A table of so many days, each of so many files of three rows.
async fn fragmented(folder: &Folder, days: u64, files: usize) -> Session {
    let session = Session::open(folder).await;
    let create = "CREATE TABLE t (v BIGINT, s STRING, d DATE) USING parquet PARTITIONED BY (d)";
    session.all(&[create]).await;
    for _ in 0..files {
        session.all(&[&add_files(days)]).await;
    }
    session
}

async fn checksum(session: &Session) -> Vec<String> {
    session.rows(CHECKSUM).await
}

/// Each data file of a table with its inode and time of change.
fn identities(table: &Path) -> BTreeMap<String, (u64, i64)> {
    let identity = |name: String| {
        let found = std::fs::metadata(table.join(&name)).expect("a file");
        (name, (found.ino(), found.mtime_nsec()))
    };
    data_files(table).into_iter().map(identity).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ninety_one_days_of_twenty_files_become_ninety_one_files() {
    let folder = Folder::new();
    let session = fragmented(&folder, 91, 20).await;
    assert_eq!(data_files(&folder.table("t")).len(), 91 * 20);
    let before = checksum(&session).await;
    let Gave::Line(line) = session.all(&["OPTIMIZE t"]).await else { panic!("a commit") };
    let said = "version 22: optimized 91 partitions, 1,820 files -> 91, same rows, ";
    assert!(line.starts_with(said), "{line}");
    assert_eq!(data_files(&folder.table("t")).len(), 91);
    assert_eq!(checksum(&session).await, before);
    let history = "SELECT version, operation, rows_added, rows_removed FROM history('t') LIMIT 1";
    assert_eq!(session.rows(history).await, ["22|optimize|5460|5460"]);
    let again = session.all(&["OPTIMIZE t"]).await;
    assert!(matches!(&again, Gave::Message(said) if said.starts_with("nothing to optimize: 91")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_in_which_nothing_is_gained_keep_their_files() {
    let folder = Folder::new();
    let session = fragmented(&folder, 5, 1).await;
    session.all(&["INSERT INTO t VALUES (-1, 'x', '2024-01-03'), (-2, 'x', '2024-02-01')"]).await;
    let before = identities(&folder.table("t"));
    session.all(&["OPTIMIZE t"]).await;
    let after = identities(&folder.table("t"));
    let is_kept = |name: &&String| !name.contains("d=2024-01-03");
    let kept: Vec<_> = before.iter().filter(|(name, _)| is_kept(name)).collect();
    assert_eq!(kept.len(), 5);
    assert!(kept.iter().all(|(name, identity)| after.get(*name) == Some(identity)));
    assert_eq!((before.len(), after.len()), (7, 6));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_says_what_it_would_do_and_does_nothing() {
    let folder = Folder::new();
    let session = fragmented(&folder, 3, 2).await;
    let before = identities(&folder.table("t"));
    let plan = session.rows("EXPLAIN OPTIMIZE t WHERE d < DATE '2024-01-03'").await.join("\n");
    assert!(plan.contains("mode=overwrite scope"), "{plan}");
    let scope = "scope=2 partitions of d < DATE '2024-01-03', 4 files -> 2";
    assert!(plan.contains(scope), "{plan}");
    assert!(plan.contains("partitions=2/3, files=4/6"), "{plan}");
    assert_eq!(identities(&folder.table("t")), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_keep_the_order_and_the_options_of_the_table() {
    let folder = Folder::new();
    let session = fragmented(&folder, 2, 1).await;
    let properties = "('sort_by' = 's DESC, v', 'compression' = 'zstd(5)', 'bloom_filter' = 's')";
    session
        .all(&[
            &format!("ALTER TABLE t SET TBLPROPERTIES {properties}"),
            &add_files(2),
            &add_files(2),
        ])
        .await;
    session.all(&["OPTIMIZE t"]).await;
    let files = data_files(&folder.table("t"));
    assert_eq!(files.len(), 2);
    for file in files {
        assert!(file.ends_with(".zstd.parquet"), "{file}");
        let path = folder.table("t").join(&file).display().to_string();
        let rows = session.rows(&format!("SELECT s, v FROM '{path}'")).await;
        let order = format!("SELECT s, v FROM '{path}' ORDER BY s DESC, v");
        assert_eq!(rows, session.rows(&order).await, "{file}");
    }
}

/// A statement planned in a session of its own, to be run later.
async fn planned(folder: &Folder, sql: &str) -> DataFrame {
    let context = PartwiseContext::open(folder.lake()).await.expect("a session");
    context.sql(sql).await.expect("a plan")
}

async fn run(frame: DataFrame) -> u64 {
    let count = frame.collect().await.expect("done in the end");
    count[0].column(0).as_primitive::<UInt64Type>().value(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_in_between_is_optimized_too() {
    let folder = Folder::new();
    let session = fragmented(&folder, 3, 4).await;
    let optimize = planned(&folder, "OPTIMIZE t").await;
    let late = "INSERT INTO t VALUES (-7, 'late', '2024-01-02'), (-8, 'late', '2024-03-01')";
    session.all(&[late]).await;
    let before = checksum(&session).await;
    assert_eq!(run(optimize).await, 37, "planned again: with the late row of a day it packs");
    assert_eq!(checksum(&session).await, before);
    assert_eq!(data_files(&folder.table("t")).len(), 4);
    assert_eq!(session.rows("SELECT v FROM t WHERE s = 'late' ORDER BY v").await, ["-8", "-7"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overwrite_in_between_stands() {
    let folder = Folder::new();
    let session = fragmented(&folder, 3, 4).await;
    let optimize = planned(&folder, "OPTIMIZE t").await;
    session.all(&["INSERT OVERWRITE t PARTITION (d = '2024-01-02') SELECT -1, 'new'"]).await;
    let before = checksum(&session).await;
    assert_eq!(run(optimize).await, 24, "the day that was overwritten is one file by then");
    assert_eq!(checksum(&session).await, before);
    assert_eq!(session.rows("SELECT v FROM t WHERE d = '2024-01-02'").await, ["-1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overwrite_that_read_the_small_files_is_planned_again() {
    let folder = Folder::new();
    let session = fragmented(&folder, 3, 4).await;
    let overwrite = planned(&folder, "INSERT OVERWRITE t SELECT v + 1, s, d FROM t").await;
    let sum = session.rows("SELECT sum(v) + count(*) FROM t").await;
    session.all(&["OPTIMIZE t"]).await;
    assert_eq!(run(overwrite).await, 36);
    assert_eq!(session.rows("SELECT sum(v) FROM t").await, sum);
    let history = "SELECT operation FROM history('t') LIMIT 2";
    assert_eq!(session.rows(history).await, ["overwrite", "optimize"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_partitions_take_little_memory() {
    let folder = Folder::new();
    let options = ContextOptions {
        lake: Lake::Directory(folder.lake()),
        threads: Some(2),
        memory_limit_bytes: Some(64 << 20),
    };
    let context = PartwiseContext::with_options(options).await.expect("a session");
    for sql in [
        "CREATE TABLE t USING parquet PARTITIONED BY (p) AS SELECT value AS n, value % 200 AS p \
         FROM generate_series(1, 60000)",
        "INSERT INTO t SELECT value AS n, value % 200 AS p FROM generate_series(1, 60000)",
        "SET partwise.write_buffer_size = '8MB'",
        "SET partwise.max_open_writers = 4",
        "OPTIMIZE t",
    ] {
        context.execute(sql).await.expect(sql);
    }
    assert_eq!(data_files(&folder.table("t")).len(), 200);
    let session = Session::open(&folder).await;
    assert_eq!(session.rows("SELECT count(*), sum(n) FROM t").await, ["120000|3600060000"]);
}
