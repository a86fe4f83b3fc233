//! Files of ours that their records rule out.

use std::fs;

use super::Pair;
use crate::support::session::Gave;
use crate::support::tree::data_files;

/// Five files: three in partition 1, one in 2, one without a value in 3.
const FILES: &[&str] = &[
    "CREATE TABLE t (n INT, big BIGINT, s STRING, d DATE, ts TIMESTAMP, tz TIMESTAMP WITH TIME ZONE,
        m DECIMAL(10, 2), x DOUBLE, bo BOOLEAN, st STRUCT<a INT>, p INT)
        USING parquet PARTITIONED BY (p)",
    "INSERT INTO t SELECT value, value * 1000000000, concat('a', value), DATE '2024-01-01' + value,
        TIMESTAMP '2024-01-01 00:00:00.000001' + hours,
        (TIMESTAMP '2024-01-01 00:00:00' + hours) AT TIME ZONE 'UTC',
        CAST(value * 1.25 AS DECIMAL(10, 2)), value * 0.5, false,
        named_struct('a', value), 1 FROM
        (SELECT CAST(value AS INT) AS value, CAST(concat(value, ' hours') AS INTERVAL) AS hours
        FROM generate_series(1, 9))",
    "INSERT INTO t SELECT n + 10, big + 10000000000, concat('b', n), d + 10, ts + INTERVAL '10 hours',
        tz + INTERVAL '10 hours', CAST(m + 12.5 AS DECIMAL(10, 2)), x + 5, true, st, 1 FROM t",
    "INSERT INTO t SELECT n, big, concat(repeat('long', 100), n), d, ts, tz, -m, -x, NULL, st, 1 FROM t
        WHERE n < 5",
    "INSERT INTO t SELECT n + 100, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2 FROM t",
    "INSERT INTO t (n, s, x, p) VALUES (1000, 'z', 'NaN', 3)",
];

const CONDITIONS: &[(&str, usize)] = &[
    ("n = 5", 1),
    ("n = 5 AND p = 1", 1),
    ("n IN (5, 15)", 2),
    ("n BETWEEN 12 AND 30", 1),
    ("n > 500", 1),
    ("n < 5 OR n > 500", 3),
    ("n = 15 OR p = 3", 2),
    ("n > 19 AND p = 1", 0),
    ("n = '15'", 1),
    ("n = 15.0", 1),
    ("n = p", 5),
    ("n + 1 = 6", 5),
    ("big = 15000000000", 1),
    ("big IS NULL", 2),
    ("big IS NOT NULL", 3),
    ("s = 'b3'", 1),
    ("s LIKE 'b%'", 1),
    ("s LIKE 'long%'", 1),
    ("s >= 'longlong'", 2),
    ("s > repeat('long', 100)", 2),
    ("s = concat(repeat('long', 100), 3)", 1),
    ("s IN ('a1', 'z')", 2),
    ("upper(s) = 'Z'", 5),
    ("d = '2024-01-15'", 1),
    ("d = TIMESTAMP '2024-01-15 00:00:00'", 1),
    ("ts < '2024-01-01 02:00:00'", 2),
    ("ts = TIMESTAMP '2024-01-01 12:00:00.000001'", 1),
    ("ts > DATE '2024-01-02'", 0),
    ("tz >= '2024-01-01T12:00:00+01:00'", 1),
    ("tz < '2024-01-01T02:00:00Z'", 2),
    ("m < 0", 1),
    ("m = 13.75", 1),
    ("m > 20.5", 1),
    // What is NaN has no bounds.
    ("x = 7", 2),
    ("x BETWEEN 6 AND 9", 2),
    ("x > 100", 5),
    ("x < -1", 5),
    ("bo", 4),
    ("bo = false", 4),
    ("bo IS NULL", 3),
    ("st IS NOT NULL", 5),
    ("st['a'] = 3", 5),
    ("n > random() * 0 + 500", 5),
    ("n = (SELECT 15)", 5),
];

#[tokio::test]
async fn each_condition_selects_its_files_and_changes_no_answer() {
    let pair = Pair::after(FILES).await;
    let mut wrong = Vec::new();
    for (condition, selected) in CONDITIONS {
        let query = format!("SELECT n, s, p FROM t WHERE {condition}");
        pair.same(&query).await;
        let found = pair.selected("files", &query).await;
        if found != format!("{selected}/5") {
            wrong.push(format!("{condition}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let query = "SELECT n FROM t WHERE n = 5";
    assert_eq!(pair.selected("partitions", query).await, "3/3", "partitions are as selected");
    assert_eq!(pair.figure("files_read", query).await, 1);
}

#[tokio::test]
async fn a_file_that_another_tool_replaced_under_its_name_is_read() {
    let pair = Pair::after(&[
        "CREATE TABLE t USING parquet AS SELECT 1 AS v",
        "CREATE TABLE other USING parquet AS SELECT 9 AS v",
    ])
    .await;
    assert_eq!(pair.same("SELECT v FROM t WHERE v = 9").await.len(), 0);
    let (ours, other) = (pair.folder.table("t"), pair.folder.table("other"));
    let ours = ours.join(&data_files(&ours)[0]);
    let other = fs::read(other.join(&data_files(&other)[0])).expect("the other file");
    assert_eq!(fs::metadata(&ours).expect("our file").len(), other.len() as u64, "of one size");
    fs::write(&ours, other).expect("replaced");
    assert_eq!(pair.one("SELECT v FROM t WHERE v = 9").await, "9");
    assert_eq!(pair.one("SELECT count(*) FROM t WHERE v > 5").await, "1");
}

#[tokio::test]
async fn a_write_that_reads_by_a_data_column_sees_the_whole_table() {
    let pair = Pair::after(FILES).await;
    let written = pair
        .pruned
        .all(&["SET partwise.max_shrink = 1", "INSERT OVERWRITE t SELECT * FROM t WHERE n = 5"])
        .await;
    assert!(matches!(written, Gave::Line(_)), "{written:?}");
    assert_eq!(pair.one("SELECT count(*) FROM t WHERE p = 1").await, "1");
}

#[tokio::test]
async fn late_rows_are_filtered_where_they_are_decoded() {
    let pair = Pair::after(FILES).await;
    for session in [&pair.pruned, &pair.unpruned] {
        session.all(&["SET datafusion.execution.parquet.pushdown_filters = true"]).await;
    }
    for (condition, _) in CONDITIONS {
        pair.same(&format!("SELECT n, s, p FROM t WHERE {condition}")).await;
    }
}
