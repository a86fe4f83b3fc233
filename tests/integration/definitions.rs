//! `SHOW CREATE TABLE` gives a statement that makes the table again.

use datafusion::arrow::array::AsArray;
use partwise::PartwiseContext;

use crate::support::Folder;

async fn text(context: &PartwiseContext, sql: &str, column: &str) -> Vec<String> {
    let rows = context.sql(sql).await.expect(sql).collect().await.expect(sql);
    let column = rows.iter().flat_map(|batch| {
        let values = batch.column_by_name(column).expect("the column");
        let values =
            datafusion::arrow::compute::cast(values, &datafusion::arrow::datatypes::DataType::Utf8);
        let values = values.expect("text");
        values.as_string::<i32>().iter().map(|v| v.unwrap_or("NULL").to_owned()).collect::<Vec<_>>()
    });
    column.collect()
}

async fn definition(context: &PartwiseContext, table: &str) -> String {
    text(context, &format!("SHOW CREATE TABLE {table}"), "definition").await.remove(0)
}

/// Everything of the table's definition that a query sees.
async fn columns(context: &PartwiseContext, table: &str) -> Vec<String> {
    let sql = format!("DESCRIBE {table}");
    let mut all = text(context, &sql, "column_name").await;
    all.extend(text(context, &sql, "data_type").await);
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_made_again_from_its_own_definition() {
    let folder = Folder::new();
    let context = PartwiseContext::open(folder.lake()).await.expect("a context");
    let create = "CREATE TABLE t USING parquet PARTITIONED BY (d, \"Odd Name\") \
        OPTIONS ('compression' 'zstd(3)', 'sort_by' 'i DESC') AS SELECT \
        DATE '2024-01-15' AS d, 1 AS i, arrow_cast(1, 'Int8') AS tiny, arrow_cast(1, 'Int16') AS small, \
        arrow_cast(1, 'Int32') AS mid, 1.5 AS x, arrow_cast(1.5, 'Float32') AS f, true AS b, \
        'it''s' AS \"Odd Name\", CAST(1.5 AS DECIMAL(10,2)) AS dec, arrow_cast('x', 'Binary') AS bytes, \
        TIMESTAMP '2024-01-15 07:00:00' AS ts, \
        arrow_cast(TIMESTAMP '2024-01-15 07:00:00', 'Timestamp(Microsecond, Some(\"UTC\"))') AS tz, \
        [1, 2] AS list, named_struct('a', 1, 'b', ['x']) AS nested, 'x' AS \"select\"";
    context.sql(create).await.expect("planned").collect().await.expect("made");
    let (made, before) = (definition(&context, "t").await, columns(&context, "t").await);
    assert!(made.starts_with("CREATE TABLE t (\n  d DATE,\n  i BIGINT,\n"), "{made}");
    assert!(made.contains("\n  \"select\" STRING"), "{made}");
    context.sql("DROP TABLE t PURGE").await.expect("dropped");
    context.sql(&made).await.expect("made again");
    assert_eq!(columns(&context, "t").await, before);
    assert_eq!(definition(&context, "t").await, made);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_outside_the_lake_says_where_it_lies() {
    let folder = Folder::new();
    let context = PartwiseContext::open(folder.lake()).await.expect("a context");
    let there = folder.path().join("there").display().to_string();
    let create = format!("CREATE TABLE s (a INT) USING parquet LOCATION '{there}'");
    context.sql(&create).await.expect("made");
    let made = definition(&context, "s").await;
    assert_eq!(made, format!("CREATE TABLE s (\n  a INT\n)\nUSING parquet\nLOCATION '{there}'"));
    context.sql("DROP TABLE s").await.expect("forgotten");
    std::fs::remove_dir_all(&there).expect("removed");
    context.sql(&made).await.expect("made again");
    assert_eq!(columns(&context, "s").await, ["a", "Int32"]);
}

#[test]
fn a_query_is_described_by_its_columns() {
    let folder = Folder::new();
    let ran = folder.run(&["-c", "DESCRIBE SELECT 1 AS a, 'x' AS b"]).ok();
    assert!(ran.out.contains("| a           | Int64     | NO          |"), "{}", ran.out);
}

#[test]
fn columns_called_as_constraints_begin_are_columns() {
    let folder = Folder::new();
    folder.sql("CREATE TABLE t (key STRING, index INT); INSERT INTO t VALUES ('a', 1)").ok();
    assert_eq!(folder.row("SELECT key, index FROM t"), "a,1");
    let refused = "CREATE TABLE u (key STRING, PRIMARY KEY (key))";
    folder.sql(refused).fails(1, &["PRIMARY KEY (key) would not be enforced"]);
}
