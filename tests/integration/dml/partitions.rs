//! Which partitions change, and what becomes of the others: nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use partwise::{PartwiseContext, Result};

use crate::support::Folder;
use crate::support::session::{Gave, Session};
use crate::support::tree::{data_files, staged, tree};

/// Four days of three rows each, and one of rows without a day.
const DAYS: [&str; 2] = [
    "CREATE TABLE t (k INT, v INT, dt STRING) USING parquet PARTITIONED BY (dt)",
    "INSERT INTO t SELECT value, value * 10, CASE WHEN value >= 12 THEN NULL ELSE 'd' || (value / 3) END \
     FROM generate_series(0, 14)",
];

const CHANGES: &str =
    "CREATE TABLE s AS SELECT * FROM (VALUES (1, 1000, 'd0'), (100, 1, 'd1')) AS s (k, v, dt)";

/// Statements, and the partitions that they change.
const STATEMENTS: &[(&str, &[&str])] = &[
    ("DELETE FROM t WHERE k = 4", &["d1"]),
    ("DELETE FROM t WHERE k IN (SELECT v FROM t)", &["d0", "d3"]),
    ("DELETE FROM t WHERE dt = 'd2'", &["d2"]),
    ("DELETE FROM t WHERE dt IS NULL AND v > 125", &["__HIVE_DEFAULT_PARTITION__"]),
    ("DELETE FROM t WHERE dt = 'd2' AND k = 0", &[]),
    ("UPDATE t SET v = 0 WHERE k = 4", &["d1"]),
    ("UPDATE t SET v = v + 1 WHERE dt < 'd2' AND k % 3 = 0", &["d0", "d1"]),
    ("UPDATE t SET dt = 'd3' WHERE k = 0", &["d0", "d3"]),
    ("UPDATE t SET dt = 'd9' WHERE k = 0", &["d0", "d9"]),
    ("UPDATE t SET dt = NULL WHERE k = 5", &["d1", "__HIVE_DEFAULT_PARTITION__"]),
    ("UPDATE t SET v = s.v FROM s WHERE s.k = t.k", &["d0"]),
    ("MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v", &["d0"]),
    (
        "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        &["d0", "d1"],
    ),
    ("MERGE INTO t USING s ON t.k = s.k AND s.v < 0 WHEN MATCHED THEN DELETE", &[]),
    (
        "MERGE INTO t USING t AS b ON t.k = b.k AND b.k <> 7 WHEN NOT MATCHED BY SOURCE THEN DELETE",
        &["d2"],
    ),
];

/// Every data file with what tells it from another of the same name.
fn files(table: &Path) -> BTreeMap<String, (u64, i64, i64, u64)> {
    let look = |name: String| {
        let meta = std::fs::metadata(table.join(&name)).expect("a data file");
        (name, (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.size()))
    };
    data_files(table).into_iter().map(look).collect()
}

/// The partitions whose files aren't the same.
fn changed<T: PartialEq>(
    before: &BTreeMap<String, T>,
    after: &BTreeMap<String, T>,
) -> BTreeSet<String> {
    let names = before.keys().chain(after.keys());
    let other = names.filter(|name| before.get(*name) != after.get(*name));
    let partition = |name: &String| {
        let dir = name.split_once('/').map_or("", |(dir, _)| dir);
        dir.trim_start_matches("dt=").to_owned()
    };
    other.map(partition).collect()
}

async fn days(folder: &Folder) -> Session {
    let session = Session::open(folder).await;
    session.all(&DAYS).await;
    session.all(&[CHANGES]).await;
    session
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_partitions_that_must_change_change() {
    for (statement, expected) in STATEMENTS {
        let folder = Folder::new();
        let session = days(&folder).await;
        let before = files(&folder.table("t"));
        session.all(&[statement]).await;
        let expected: BTreeSet<String> = expected.iter().map(|dt| (*dt).to_owned()).collect();
        assert_eq!(changed(&before, &files(&folder.table("t"))), expected, "{statement}");
        let history = "SELECT count(*) FROM history('t')";
        let commits = if expected.is_empty() { "2" } else { "3" };
        assert_eq!(session.rows(history).await, [commits], "{statement}");
        assert!(staged(&folder.lake()).is_empty(), "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_moves_arrives_beside_those_that_are_there() {
    let folder = Folder::new();
    let session = days(&folder).await;
    session.all(&["UPDATE t SET dt = 'd1', v = -v WHERE k IN (0, 6, 12)"]).await;
    let rows = session.rows("SELECT k, v FROM t WHERE dt = 'd1' ORDER BY k").await;
    assert_eq!(rows, ["0|0", "3|30", "4|40", "5|50", "6|-60", "12|-120"]);
    let rest = session.rows("SELECT count(*), count(DISTINCT k) FROM t").await;
    assert_eq!(rest, ["15|15"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_are_only_added_leave_the_files_that_are_there() {
    let folder = Folder::new();
    let session = days(&folder).await;
    let before = files(&folder.table("t"));
    let merge = "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *";
    let Gave::Line(line) = session.all(&[merge]).await else { panic!() };
    assert!(
        line.contains("inserted 1 row, appended to 1 partition (dt=d1: 3 -> 4 rows)"),
        "{line}"
    );
    let after = files(&folder.table("t"));
    assert!(before.iter().all(|(name, file)| after.get(name) == Some(file)));
    assert_eq!(after.len(), before.len() + 1);
    // What is there by now is found.
    let Gave::Line(line) = session.all(&[merge]).await else { panic!() };
    assert!(line.contains("0 rows, no partition changed"), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_go_by_their_names_without_a_look_at_their_files() {
    let folder = Folder::new();
    let session = days(&folder).await;
    std::fs::write(folder.table("t").join("dt=d2/broken.parquet"), "not Parquet").expect("a file");
    let error = session.run("DELETE FROM t WHERE v = 70").await.expect_err("it has to be read");
    assert!(error.to_string().contains("broken.parquet"), "{error}");
    session.all(&["DELETE FROM t WHERE v = 10 AND dt = 'd0'"]).await;
    session.all(&["DELETE FROM t WHERE dt = 'd' || '2' OR dt IS NULL"]).await;
    assert_eq!(session.rows("SELECT count(*) FROM t").await, ["8"]);
    assert!(!folder.table("t").join("dt=d2/broken.parquet").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_fails_late_leaves_every_byte() {
    for statement in [
        "DELETE FROM t WHERE 1 / (k - 14) < 2",
        "UPDATE t SET v = 1 / (k - 14)",
        "UPDATE t SET k = CAST(v AS BIGINT) * 100000000",
        "MERGE INTO t USING (SELECT DISTINCT k, v FROM t) AS b ON t.k = b.k \
         WHEN MATCHED THEN UPDATE SET v = 1 / (b.v - 140)",
        "MERGE INTO t USING (SELECT k FROM t UNION ALL SELECT 14) AS b ON t.k = b.k WHEN MATCHED THEN DELETE",
        "UPDATE t SET dt = '' WHERE k = 3",
    ] {
        let folder = Folder::new();
        let session = days(&folder).await;
        let before = tree(&folder.table("t"));
        session.run(statement).await.expect_err(statement);
        assert!(tree(&folder.table("t")) == before, "{statement}");
        assert!(staged(&folder.lake()).is_empty(), "{statement}");
        assert_eq!(session.rows("SELECT count(*) FROM history('t')").await, ["2"], "{statement}");
    }
}

/// Partition columns by their type, with three values of each.
const KEYS: &[(&str, [&str; 3])] = &[
    ("INT", ["7", "-1", "0"]),
    ("STRING", ["'a b'", "'é/%'", "'='"]),
    ("DATE", ["DATE '2024-01-01'", "DATE '1969-12-31'", "DATE '0001-01-01'"]),
    (
        "TIMESTAMP",
        ["TIMESTAMP '2024-01-01 10:00:00.5'", "TIMESTAMP '1970-01-01'", "TIMESTAMP '2024-01-01'"],
    ),
    (
        "DECIMAL(10, 2)",
        [
            "CAST(1.5 AS DECIMAL(10, 2))",
            "CAST(-0.05 AS DECIMAL(10, 2))",
            "CAST(0 AS DECIMAL(10, 2))",
        ],
    ),
    ("BOOLEAN", ["true", "false", "true"]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_of_every_type_is_found_left_and_arrived_at() {
    for (ty, [a, b, c]) in KEYS {
        let folder = Folder::new();
        let session = Session::open(&folder).await;
        session
            .all(&[
                &format!("CREATE TABLE t (k INT, p {ty}, q INT) USING parquet PARTITIONED BY (p, q)"),
                &format!("INSERT INTO t VALUES (1, {a}, 1), (2, {a}, 2), (3, {b}, 1), (4, NULL, 1), (5, {c}, NULL)"),
                "DELETE FROM t WHERE k = 2",
                &format!("UPDATE t SET p = {b} WHERE k = 1"),
                "UPDATE t SET k = 50 WHERE k = 5",
                &format!("MERGE INTO t USING (SELECT 4 AS k UNION ALL SELECT 6) AS s ON t.k = s.k \
                  WHEN MATCHED THEN UPDATE SET p = {a} WHEN NOT MATCHED THEN INSERT VALUES (s.k, {c}, NULL)"),
            ])
            .await;
        let rows =
            format!("SELECT k, p = {a} AS a, p = {b} AS b, p = {c} AS c, q FROM t ORDER BY k");
        let expected = format!(
            "SELECT k, p = {a} AS a, p = {b} AS b, p = {c} AS c, q FROM (VALUES (1, {b}, 1), \
            (3, {b}, 1), (4, {a}, 1), (6, {c}, NULL), (50, {c}, NULL)) AS x (k, p, q) ORDER BY k"
        );
        assert_eq!(session.rows(&rows).await, session.rows(&expected).await, "{ty}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_of_another_tool_is_changed_like_any_other() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    for (dt, from) in [("d1", 1), ("d2", 4)] {
        let dir = folder.table("t").join(format!("dt={dt}"));
        std::fs::create_dir_all(&dir).expect("a directory");
        let copy = format!(
            "COPY (SELECT value AS k FROM generate_series({from}, {from} + 2)) TO '{}' STORED AS PARQUET",
            dir.join("data_0.parquet").display()
        );
        session.all(&[&copy]).await;
    }
    session
        .all(&[
            "DELETE FROM t WHERE k = 2",
            "UPDATE t SET dt = 'd3' WHERE k = 4",
            "MERGE INTO t USING (VALUES (5), (9)) AS s (k) ON t.k = s.k \
             WHEN MATCHED THEN UPDATE SET k = 50 WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'd1')",
        ])
        .await;
    let rows = session.rows("SELECT k, dt FROM t ORDER BY k").await;
    assert_eq!(rows, ["1|d1", "3|d1", "4|d3", "6|d2", "9|d1", "50|d2"]);
    let said = session.rows("SELECT operation FROM history('t') ORDER BY version").await;
    assert_eq!(said, ["delete", "update", "merge"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_of_a_job_changes_rows_once_and_a_restore_takes_it_back() {
    let folder = Folder::new();
    for _ in 0..2 {
        let session = Session::open(&folder).await;
        session
            .all(&[
                "CREATE TABLE IF NOT EXISTS t (k INT, v INT) USING parquet",
                "SET partwise.job = 'nightly'",
                "SET partwise.run = 1",
                "INSERT INTO t VALUES (1, 10), (2, 20), (2, 20)",
                "UPDATE t SET v = v + 1 WHERE k = 2",
                "DELETE FROM t WHERE k = 77",
                "MERGE INTO t USING (SELECT 1 AS k) AS s ON t.k = s.k WHEN MATCHED THEN UPDATE SET k = 77",
            ])
            .await;
        let rows = session.rows("SELECT k, v FROM t ORDER BY k").await;
        assert_eq!(rows, ["2|21", "2|21", "77|10"]);
    }
    let session = Session::open(&folder).await;
    session.all(&["RESTORE TABLE t TO VERSION 2"]).await;
    assert_eq!(session.rows("SELECT k, v FROM t ORDER BY k").await, ["1|10", "2|20", "2|20"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_shows_the_scope_and_changes_nothing_unless_it_analyzes() {
    let folder = Folder::new();
    let session = days(&folder).await;
    let update = "UPDATE t SET v = 0 WHERE k IN (4, 7)";
    for explain in [
        format!("EXPLAIN FORMAT indent {update}"),
        format!("EXPLAIN FORMAT indent {}", "DELETE FROM t WHERE k = -1"),
    ] {
        let shown = session.rows(&explain).await.join("\n");
        assert!(shown.contains("mode=overwrite scope"), "{shown}");
        let scope =
            if explain.contains("UPDATE") { "scope=dt=d1, dt=d2" } else { "scope=no partition" };
        assert!(shown.contains(scope), "{shown}");
    }
    let shown = session.rows(&format!("PREVIEW {update}")).await;
    let replaced: Vec<&String> = shown.iter().filter(|row| !row.contains("|keep|")).collect();
    assert_eq!(replaced, ["d1|replace|3|3|1|1|NULL", "d2|replace|3|3|1|1|NULL"]);
    assert_eq!(session.rows("SELECT sum(v) FROM t").await, ["1050"]);
    session.rows(&format!("EXPLAIN ANALYZE {update}")).await;
    assert_eq!(session.rows("SELECT sum(v) FROM t").await, ["940"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frame_gives_the_number_of_rows_changed() -> Result<()> {
    let folder = Folder::new();
    days(&folder).await;
    let context = PartwiseContext::open(folder.lake()).await?;
    for (statement, expected) in [
        ("UPDATE t SET v = 0 WHERE k < 3", "3"),
        ("DELETE FROM t WHERE k = 77", "0"),
        ("DELETE FROM t WHERE k IN (3, 13)", "2"),
        (
            "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
            "2",
        ),
    ] {
        let batches = context.sql(statement).await?.collect().await?;
        let column = batches[0].column(0);
        let count = datafusion::arrow::util::display::array_value_to_string(column, 0)?;
        assert_eq!(
            (batches[0].schema().field(0).name().as_str(), count.as_str()),
            ("count", expected),
            "{statement}"
        );
    }
    Ok(())
}
