//! Conditions on partition columns, and how many partitions each selects.

use super::Pair;

/// A partition of every type, six of them, one of NULLs.
const TYPES: &str = "CREATE TABLE t USING parquet PARTITIONED BY (s, i, b, d, ts, tz, m, bo) AS
    SELECT n, s, i, CAST(b AS BIGINT) AS b, CAST(ts AS DATE) AS d, ts,
        ts AT TIME ZONE 'UTC' AS tz, CAST(m AS DECIMAL(10, 2)) AS m, bo
    FROM (VALUES
        (1, 'a', 1, 1, TIMESTAMP '2024-01-01 10:00:00', 1.5, true),
        (2, 'ab', 2, 2, TIMESTAMP '2024-01-02 00:00:00', -0.25, false),
        (3, '1', 10, 5000000000, TIMESTAMP '2024-02-29 23:59:59.5', 0, true),
        (4, 'A b/c%', -3, -7, TIMESTAMP '1969-12-31 23:00:00', 100, false),
        (5, NULL, NULL, NULL, NULL, NULL, NULL),
        (6, '01', 1, 1, TIMESTAMP '2024-12-31 10:00:00', 1.5, true))
        AS v (n, s, i, b, ts, m, bo)";

/// The condition, and how many of the six it selects.
const CONDITIONS: &[(&str, usize)] = &[
    // Strings.
    ("s = 'a'", 1),
    ("'a' = s", 1),
    ("s = 'A b/c%'", 1),
    ("s < 'b'", 5),
    ("s <> 'a'", 4),
    ("s BETWEEN 'a' AND 'az'", 2),
    ("s IN ('a', NULL)", 1),
    ("s NOT IN ('a', NULL)", 0),
    ("s NOT IN ('a')", 4),
    ("s IS NULL", 1),
    ("s IS NOT NULL", 5),
    ("s LIKE 'a%'", 2),
    ("s NOT LIKE 'a%'", 3),
    ("s ILIKE 'a%'", 3),
    ("s LIKE '%/%'", 1),
    ("starts_with(s, 'a')", 2),
    ("s ~ '^[0-9]+$'", 2),
    ("upper(s) = 'AB'", 1),
    ("substr(s, 1, 1) = 'a'", 2),
    ("length(s) = 2", 2),
    ("s || 'x' = 'ax'", 1),
    ("concat(s, '-', i) = 'a-1'", 1),
    ("s || CAST(b AS VARCHAR) = 'ab2'", 1),
    ("coalesce(s, 'z') = 'z'", 1),
    ("nullif(s, 'a') IS NULL", 2),
    ("s IS NOT DISTINCT FROM 'a'", 1),
    ("s IS NOT DISTINCT FROM NULL", 1),
    ("s IS DISTINCT FROM 'a'", 5),
    ("CASE WHEN s = 'a' THEN i = 1 ELSE i = 2 END", 2),
    ("CASE s WHEN 'a' THEN true END", 1),
    ("TRY_CAST(s AS INT) = 1", 2),
    ("s = chr(97)", 1),
    ("s = 'nosuch'", 0),
    // Whole numbers, also against text and numbers of other types.
    ("i = 1", 2),
    ("i = '1'", 2),
    ("i = 1.0", 2),
    ("i = 1.5", 0),
    ("i > 1.5", 2),
    ("i IN (1, 10)", 3),
    ("i IN ('1', '10')", 3),
    ("i BETWEEN 1 AND 2", 3),
    ("i NOT BETWEEN 1 AND 2", 2),
    ("i + 1 = 2", 2),
    ("abs(i) = 3", 1),
    ("i % 2 = 0", 2),
    ("i * 10 + b = 11", 2),
    ("i = b", 3),
    ("CAST(i AS VARCHAR) = '10'", 1),
    ("i = CAST('1' AS INT)", 2),
    ("i < 5000000000", 5),
    ("i = 5000000000", 0),
    ("b = 5000000000", 1),
    ("b > 4e9", 1),
    ("b = '5000000000'", 1),
    ("(s, i) = ('a', 1)", 1),
    ("(s, i) IN (('a', 1), ('ab', 2))", 2),
    // Days and instants.
    ("d = DATE '2024-01-01'", 1),
    ("d = '2024-01-01'", 1),
    ("d = TIMESTAMP '2024-01-01 00:00:00'", 1),
    ("d < TIMESTAMP '2024-01-01 10:00:00'", 2),
    ("d BETWEEN '2024-01-01' AND '2024-01-31'", 2),
    ("d IN ('2024-01-01', '2024-02-29')", 2),
    ("extract(year FROM d) = 2024", 4),
    ("extract(month FROM d) = 2", 1),
    ("date_part('day', d) = 31", 2),
    ("date_trunc('month', d) = DATE '2024-01-01'", 2),
    ("to_char(d, '%Y-%m') = '2024-01'", 2),
    ("d + INTERVAL '1 day' = '2024-01-02'", 1),
    ("CAST(d AS VARCHAR) LIKE '2024-%'", 4),
    ("d < now()", 5),
    ("d > current_date - INTERVAL '7 days'", 0),
    ("ts = TIMESTAMP '2024-01-01 10:00:00'", 1),
    ("ts = '2024-01-01T10:00:00'", 1),
    ("ts = DATE '2024-01-02'", 1),
    ("ts >= '2024-02-29'", 2),
    ("ts BETWEEN '2024-01-01' AND '2024-01-02'", 2),
    ("ts IN ('2024-01-01 10:00:00', '2024-02-29 23:59:59.5')", 2),
    ("CAST(ts AS DATE) = '2024-02-29'", 1),
    ("date_trunc('day', ts) = '2024-01-01'", 1),
    ("extract(hour FROM ts) = 10", 2),
    ("tz = '2024-01-01T10:00:00Z'", 1),
    ("tz = '2024-01-01T11:00:00+01:00'", 1),
    ("tz = ts", 5),
    // Decimals.
    ("m = 1.5", 2),
    ("m = '1.50'", 2),
    ("m = 1.5e0", 2),
    ("m = 1.505", 0),
    ("m IN (1.5, 100)", 3),
    ("m BETWEEN -1 AND 1", 2),
    ("m * 2 = 3", 2),
    ("m < CAST(0.1 AS DOUBLE)", 2),
    // Booleans.
    ("bo", 3),
    ("NOT bo", 2),
    ("bo = true", 3),
    ("bo <> true", 2),
    ("bo IN (true)", 3),
    ("bo IS TRUE", 3),
    ("bo IS NOT TRUE", 3),
    ("bo IS UNKNOWN", 1),
    ("NOT (bo AND i = 1)", 3),
    // With data columns.
    ("(s = 'a' AND n = 1) OR (s = 'ab' AND n = 9)", 2),
    ("s = 'a' OR n = 3", 6),
    ("NOT (s = 'a' OR n = 2)", 4),
    ("NOT (s = 'a' AND n = 2)", 6),
    ("(s = 'a' OR n = 3) AND (i = 1 OR i = 10)", 3),
    ("n = i OR s = 'ab'", 6),
    ("n = 1 AND i = 1", 2),
    // An error is none where an earlier condition has decided.
    ("i <> 10 AND 10 / (i - 10) < 0", 3),
    // What differs each time decides nothing.
    ("i + random() * 0 = 1", 6),
    ("(SELECT 1) = i", 6),
];

#[tokio::test]
async fn each_condition_selects_its_partitions_and_changes_no_answer() {
    let pair = Pair::after(&[TYPES]).await;
    let mut wrong = Vec::new();
    for (condition, selected) in CONDITIONS {
        let query = format!("SELECT n FROM t WHERE {condition}");
        pair.same(&query).await;
        let found = pair.selected("partitions", &query).await;
        if found != format!("{selected}/6") {
            wrong.push(format!("{condition}: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn parameters_are_known_when_a_prepared_statement_runs() {
    let pair = Pair::after(&[TYPES]).await;
    for session in [&pair.pruned, &pair.unpruned] {
        session.all(&["PREPARE q AS SELECT n FROM t WHERE i = $1 AND (s = $2 OR n = 6)"]).await;
    }
    assert_eq!(pair.same("EXECUTE q(1, 'a')").await, ["1", "6"]);
    assert_eq!(pair.same("EXECUTE q(2, 'ab')").await, ["2"]);
    let read = pair.figure("files_read", "EXECUTE q(10, '1')").await;
    assert_eq!(read, 1);
}

#[tokio::test]
async fn a_level_is_selected_alone_and_under_others() {
    let levels = "CREATE TABLE t USING parquet PARTITIONED BY (y, m, dd) AS
        SELECT value AS n, 2023 + value / 60 AS y, lpad(CAST(value / 5 % 12 + 1 AS VARCHAR), 2, '0') AS m,
            value % 5 + 1 AS dd FROM generate_series(0, 119)";
    let pair = Pair::after(&[levels]).await;
    for (condition, selected) in [
        ("y = 2024", 60),
        ("y = 2024 AND m = '07'", 5),
        ("y = 2024 AND m = 7", 5),
        ("m = '07'", 10),
        ("m = 7", 10),
        ("m IN (7, 8)", 20),
        ("m BETWEEN 7 AND 9", 30),
        ("y = 2024 AND m = '07' AND dd = 3", 1),
        ("dd = 3", 24),
        ("y = 2023 AND dd = 3", 12),
        ("y * 100 + CAST(m AS INT) BETWEEN 202311 AND 202402", 20),
        ("concat(y, '-', m) = '2024-07'", 5),
        ("(y = 2023 AND m = '01') OR (y = 2024 AND dd = 1)", 17),
        ("(y = 2023 AND n = 3) OR (m = '12' AND dd = 5)", 61),
        ("y = 2025", 0),
    ] {
        let query = format!("SELECT n FROM t WHERE {condition}");
        let found = pair.selected("partitions", &query).await;
        assert_eq!(found, format!("{selected}/120"), "{condition}");
        pair.same(&query).await;
    }
}
