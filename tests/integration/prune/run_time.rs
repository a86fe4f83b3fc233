//! What is known only while the query runs: subqueries, joins, orders.

use super::Pair;

/// Nine days of as many rows as their number, two dimensions, one of them with a NULL.
const DAYS: &[&str] = &[
    "CREATE TABLE t USING parquet PARTITIONED BY (dt) AS
        SELECT a.value AS n, DATE '2024-01-01' + CAST(d.value - 1 AS INT) AS dt
        FROM generate_series(1, 9) AS d(value), generate_series(1, 9) AS a(value)
        WHERE a.value <= d.value",
    "CREATE TABLE one USING parquet AS SELECT DATE '2024-01-07' AS day, 'x' AS name",
    "CREATE TABLE few USING parquet AS SELECT * FROM (VALUES
        (DATE '2024-01-02', 1), (DATE '2024-01-08', 2), (CAST(NULL AS DATE), 3)) AS v (day, w)",
];

#[tokio::test]
async fn a_subquery_prunes() {
    let pair = Pair::after(DAYS).await;
    for (query, read, pruned) in [
        ("SELECT n FROM t WHERE dt = (SELECT max(day) FROM one)", 1, 8),
        ("SELECT n FROM t WHERE dt > (SELECT max(day) FROM one)", 2, 7),
        ("SELECT n FROM t WHERE dt = (SELECT day FROM one WHERE upper(name) = 'Y')", 0, 9),
        ("SELECT n FROM t WHERE dt = (SELECT max(day) FROM one) AND n > 3", 1, 5),
        ("SELECT n FROM t WHERE dt IN (SELECT day FROM few)", 2, 7),
        ("SELECT n FROM t WHERE EXISTS (SELECT 1 FROM few WHERE few.day = t.dt)", 2, 7),
        ("SELECT n FROM t WHERE EXISTS (SELECT 1 FROM few WHERE day = dt AND w = n)", 7, 2),
    ] {
        pair.same(query).await;
        // The other table is one file.
        assert_eq!(pair.figure("files_read", query).await, read + 1, "{query}");
        assert_eq!(pair.figure("partitions_pruned", query).await, pruned, "{query}");
    }
}

#[tokio::test]
async fn the_last_partition_of_the_table_itself_is_the_only_one_read_for_its_rows() {
    let pair = Pair::after(DAYS).await;
    let query = "SELECT n FROM t WHERE dt = (SELECT max(dt) FROM t)";
    assert_eq!(pair.same(query).await.len(), 9);
    let pruned = pair.figure("partitions_pruned", query).await;
    assert!(pruned >= 8, "{pruned}");
}

#[tokio::test]
async fn what_may_match_anything_is_read() {
    let pair = Pair::after(DAYS).await;
    for query in [
        "SELECT n FROM t WHERE dt = (SELECT max(day) FROM one) OR n = 1",
        "SELECT n FROM t WHERE dt NOT IN (SELECT day FROM one)",
        "SELECT n FROM t WHERE dt NOT IN (SELECT day FROM few)",
        "SELECT n FROM t WHERE NOT EXISTS (SELECT 1 FROM few WHERE day = dt)",
        "SELECT n FROM t WHERE n = (SELECT max(w) FROM few WHERE few.day = t.dt)",
        "SELECT n, (SELECT max(w) FROM few WHERE few.day = t.dt) FROM t",
        "SELECT n FROM t WHERE dt >= ALL (SELECT day FROM few WHERE day IS NOT NULL)",
        "SELECT n FROM t WHERE dt > ANY (SELECT day FROM few)",
        "SELECT t.n, one.name FROM t LEFT JOIN one ON t.dt = one.day",
        "SELECT t.n, few.w FROM t LEFT JOIN few ON t.dt = few.day AND few.w = 2",
        "SELECT t.n, few.w FROM few RIGHT JOIN t ON t.dt = few.day",
        "SELECT t.n, few.w FROM t FULL JOIN few ON t.dt = few.day",
        "SELECT t.n FROM t LEFT ANTI JOIN few ON t.dt = few.day",
        "SELECT a.n, b.n FROM t a JOIN t b ON a.dt = b.dt AND a.n = b.n + 7",
    ] {
        pair.same(query).await;
    }
}

#[tokio::test]
async fn a_join_reads_the_partitions_of_the_other_side() {
    let pair = Pair::after(DAYS).await;
    for (query, read) in [
        ("SELECT n FROM t JOIN one ON t.dt = one.day", 1),
        ("SELECT n FROM one JOIN t ON t.dt = one.day WHERE name = 'x'", 1),
        ("SELECT n, w FROM t JOIN few ON t.dt = few.day", 2),
        // Of two keys together a join tells the bounds.
        ("SELECT n, w FROM t JOIN few ON t.dt = few.day AND t.n = few.w", 7),
        ("SELECT n FROM t LEFT SEMI JOIN few ON t.dt = few.day", 2),
        ("SELECT few.w, t.n FROM few LEFT JOIN t ON t.dt = few.day", 2),
    ] {
        pair.same(query).await;
        // The other table is one file.
        assert_eq!(pair.figure("files_read", query).await, read + 1, "{query}");
        assert_eq!(pair.figure("partitions_pruned", query).await, 9 - read, "{query}");
    }
}

#[tokio::test]
async fn an_order_with_a_limit_loses_no_row() {
    let pair = Pair::after(DAYS).await;
    for query in [
        "SELECT dt, n FROM t ORDER BY dt LIMIT 3",
        "SELECT dt, n FROM t ORDER BY dt DESC, n LIMIT 5",
        "SELECT dt, n FROM t ORDER BY n DESC, dt DESC LIMIT 4",
        "SELECT dt, n FROM t WHERE n > 2 ORDER BY dt, n LIMIT 4 OFFSET 2",
        "SELECT * FROM (SELECT dt, n FROM t ORDER BY dt DESC, n LIMIT 7) ORDER BY n, dt LIMIT 2",
        "SELECT dt, max(n) FROM t GROUP BY dt ORDER BY dt DESC LIMIT 2",
        "SELECT max(dt), min(dt), max(n) FROM t",
    ] {
        pair.same(query).await;
    }
}
