//! Which partitions a filter selects, and that the answer is the one without pruning.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use partwise_commit::TableSchema;

use crate::kit::{Tree, figure, open, partitions, query, session, session_with};

/// Each filter with its `partitions=n/m`, checked against the same query with everything read.
async fn check(tree: &Tree, schema: Option<TableSchema>, expected: &[(&str, &str)]) {
    let table = open(&tree.path(), schema).await.unwrap();
    let pruned = session(table.clone());
    let unpruned = session_with(table, false, |_| ());
    for (filter, selected) in expected {
        let sql = format!("SELECT * FROM t WHERE {filter}");
        assert_eq!(partitions(&pruned, &sql).await, *selected, "{filter}");
        let total = selected.split('/').nth(1).unwrap();
        assert_eq!(partitions(&unpruned, &sql).await, format!("{total}/{total}"), "{filter}");
        assert_eq!(query(&pruned, &sql).await, query(&unpruned, &sql).await, "{filter}");
    }
}

fn declared(fields: Vec<Field>, partition_by: &[&str]) -> Option<TableSchema> {
    let partition_by = partition_by.iter().map(|name| (*name).to_string()).collect();
    Some(TableSchema::new(Arc::new(Schema::new(fields)), partition_by).unwrap())
}

fn with_rows(partition: Field) -> Vec<Field> {
    vec![partition, Field::new("v", DataType::Int64, true)]
}

#[tokio::test]
async fn text_partitions_are_selected_by_every_kind_of_filter() {
    let tree = Tree::new();
    for (value, rows) in [("a", 3), ("b", 2), ("c", 4), ("__HIVE_DEFAULT_PARTITION__", 1)] {
        tree.rows(&format!("dt={value}/f.parquet"), rows);
    }
    check(
        &tree,
        None,
        &[
            ("dt = 'a'", "1/4"),
            ("'a' = dt", "1/4"),
            ("dt <> 'a'", "2/4"),
            ("dt > 'a'", "2/4"),
            ("dt BETWEEN 'a' AND 'b'", "2/4"),
            ("dt NOT BETWEEN 'a' AND 'b'", "1/4"),
            ("dt IN ('a', 'c', 'zz')", "2/4"),
            ("dt NOT IN ('a')", "2/4"),
            ("dt IS NULL", "1/4"),
            ("dt IS NOT NULL", "3/4"),
            ("dt LIKE 'a%'", "1/4"),
            ("dt LIKE '%'", "3/4"),
            ("upper(dt) = 'B'", "1/4"),
            ("dt || 'x' = 'cx'", "1/4"),
            ("dt = 'nowhere'", "0/4"),
            ("dt = 'a' AND v > 1", "1/4"),
            ("dt = 'a' OR dt = 'b'", "2/4"),
            ("dt = 'a' OR v = 1", "4/4"),
            ("(dt = 'a' AND v = 1) OR (dt = 'b' AND v = 2)", "2/4"),
            ("NOT (dt = 'a' OR dt IS NULL)", "2/4"),
            ("NOT (dt = 'a' OR v = 1)", "2/4"),
            ("NOT (dt = 'a' AND v = 1)", "4/4"),
            ("coalesce(dt, 'none') = 'none'", "1/4"),
            ("CASE WHEN dt = 'a' THEN true ELSE false END", "1/4"),
            ("dt IS DISTINCT FROM 'a'", "3/4"),
            ("(dt = 'a') IS NOT TRUE", "3/4"),
            ("v = 4", "4/4"),
            ("upper(dt) = 'B' AND upper(dt) = 'C'", "0/4"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_number_is_one_value_however_it_is_spelled() {
    let tree = Tree::new();
    tree.rows("m=01/a.parquet", 2).rows("m=1/b.parquet", 3).rows("m=10/c.parquet", 1);
    let schema = declared(with_rows(Field::new("m", DataType::Int32, true)), &["m"]);
    check(
        &tree,
        schema,
        &[("m = 1", "1/2"), ("m IN (1, 2)", "1/2"), ("m BETWEEN 1 AND 9", "1/2"), ("m > 1", "1/2")],
    )
    .await;
}

#[tokio::test]
async fn leading_zeros_are_kept_where_nothing_is_declared() {
    let tree = Tree::new();
    tree.rows("m=01/a.parquet", 2).rows("m=02/b.parquet", 3);
    check(&tree, None, &[("m = '01'", "1/2"), ("m = '1'", "0/2")]).await;
}

#[tokio::test]
async fn a_level_below_an_equality_is_compared_by_value_too() {
    let tree = Tree::new();
    for (year, month) in [("2023", "07"), ("2024", "07"), ("2024", "8"), ("2024", "12")] {
        tree.rows(&format!("y={year}/m={month}/f.parquet"), 2);
    }
    let fields = vec![
        Field::new("v", DataType::Int64, true),
        Field::new("y", DataType::Int32, true),
        Field::new("m", DataType::Int32, true),
    ];
    check(
        &tree,
        declared(fields, &["y", "m"]),
        &[
            ("y = 2024 AND m = 7", "1/4"),
            ("m = 7", "2/4"),
            ("y = 2024", "3/4"),
            ("y * 100 + m >= 202408", "2/4"),
            ("(y = 2023 AND v = 1) OR m = 12", "2/4"),
        ],
    )
    .await;
}

#[tokio::test]
async fn days_timestamps_decimals_and_booleans_are_typed() {
    let days = Tree::new();
    days.rows("d=2024-01-15/f.parquet", 2).rows("d=2024-01-16/f.parquet", 3);
    check(
        &days,
        None,
        &[
            ("d = DATE '2024-01-15'", "1/2"),
            ("d = '2024-01-15'", "1/2"),
            ("d >= TIMESTAMP '2024-01-16 00:00:00'", "1/2"),
            ("d + INTERVAL '1 day' = DATE '2024-01-16'", "1/2"),
            ("date_trunc('month', d) = DATE '2024-01-01'", "2/2"),
            ("CAST(d AS VARCHAR) LIKE '%-16'", "1/2"),
        ],
    )
    .await;
    let hours = Tree::new();
    hours
        .rows("ts=2024-01-15 10%3A00%3A00/f.parquet", 2)
        .rows("ts=2024-01-15 11%3A00%3A00/f.parquet", 1);
    let ts = DataType::Timestamp(TimeUnit::Microsecond, None);
    check(
        &hours,
        declared(with_rows(Field::new("ts", ts, true)), &["ts"]),
        &[("ts = TIMESTAMP '2024-01-15 10:00:00'", "1/2"), ("date_part('hour', ts) = 11", "1/2")],
    )
    .await;
    let amounts = Tree::new();
    amounts.rows("n=1.50/f.parquet", 2).rows("n=-0.25/f.parquet", 1);
    check(
        &amounts,
        declared(with_rows(Field::new("n", DataType::Decimal128(10, 2), true)), &["n"]),
        &[("n = 1.5", "1/2"), ("n < 0", "1/2"), ("n IN (1.50, 3)", "1/2")],
    )
    .await;
    let flags = Tree::new();
    flags.rows("b=true/f.parquet", 2).rows("b=FALSE/f.parquet", 1);
    check(
        &flags,
        declared(with_rows(Field::new("b", DataType::Boolean, true)), &["b"]),
        &[("b", "1/2"), ("NOT b", "1/2"), ("b = false", "1/2"), ("b IS NULL", "0/2")],
    )
    .await;
}

#[tokio::test]
async fn escaped_values_are_compared_decoded() {
    let tree = Tree::new();
    tree.rows("p=N%2FA/f.parquet", 2).rows("p=a b/f.parquet", 1).rows("p=50%25/f.parquet", 3);
    check(&tree, None, &[("p = 'N/A'", "1/3"), ("p = 'a b'", "1/3"), ("p = '50%'", "1/3")]).await;
}

#[tokio::test]
async fn null_zero_and_five_are_three_partitions() {
    let tree = Tree::new();
    tree.rows("p=0/f.parquet", 1).rows("p=5/f.parquet", 2);
    tree.rows("p=__HIVE_DEFAULT_PARTITION__/f.parquet", 3);
    check(&tree, None, &[("p = 0", "1/3"), ("p = 5", "1/3"), ("p IS NULL", "1/3")]).await;
    let context = session(tree.open().await);
    let rows = query(&context, "SELECT p, count(*) FROM t GROUP BY p").await;
    assert_eq!(rows, ["0|1", "5|2", "NULL|3"]);
}

#[tokio::test]
async fn a_subquery_prunes_while_the_query_runs() {
    let tree = Tree::new();
    for day in 1..=9 {
        tree.rows(&format!("d=2024-01-0{day}/f.parquet"), day);
    }
    let context = session(tree.open().await);
    context.sql("CREATE TABLE due AS SELECT DATE '2024-01-08' AS day").await.unwrap();
    let sql = "SELECT count(*) FROM t WHERE d = (SELECT max(day) FROM due)";
    assert_eq!(query(&context, sql).await, ["8"]);
    assert_eq!(figure(&context, sql, "files_read").await, 1);
    assert_eq!(figure(&context, sql, "partitions_pruned").await, 8);
    let of_itself = "SELECT count(*) FROM t WHERE d = (SELECT max(d) FROM t)";
    assert_eq!(query(&context, of_itself).await, ["9"]);
}

#[tokio::test]
async fn a_join_with_one_row_prunes_while_the_query_runs() {
    let tree = Tree::new();
    for day in 1..=9 {
        tree.rows(&format!("d={day}/f.parquet"), day);
    }
    let context = session(tree.open().await);
    context.sql("CREATE TABLE dim AS SELECT 7 AS k, 'x' AS name").await.unwrap();
    let sql = "SELECT count(*) FROM dim JOIN t ON t.d = dim.k WHERE dim.name = 'x'";
    assert_eq!(query(&context, sql).await, ["7"]);
    assert_eq!(figure(&context, sql, "files_read").await, 1);
    assert_eq!(figure(&context, sql, "partitions_pruned").await, 8);
    let off = session_with(tree.open().await, false, |_| ());
    off.sql("CREATE TABLE dim AS SELECT 7 AS k, 'x' AS name").await.unwrap();
    assert_eq!(query(&off, sql).await, ["7"]);
    assert_eq!(figure(&off, sql, "files_read").await, 9);
}

#[tokio::test]
async fn an_in_subquery_prunes_while_the_query_runs() {
    let tree = Tree::new();
    for day in 1..=9 {
        tree.rows(&format!("d={day}/f.parquet"), day);
    }
    let context = session(tree.open().await);
    context.sql("CREATE TABLE due AS SELECT * FROM (VALUES (4), (5)) AS d(k)").await.unwrap();
    let sql = "SELECT count(*) FROM t WHERE d IN (SELECT k FROM due)";
    assert_eq!(query(&context, sql).await, ["9"]);
    assert_eq!(figure(&context, sql, "files_read").await, 2);
}
