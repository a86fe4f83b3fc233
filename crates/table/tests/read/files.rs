//! What the files of a tree may look like.

use std::fs;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date32Array, Float64Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, StringViewArray, StructArray, TimestampNanosecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use partwise_commit::TableSchema;

use crate::kit::{Tree, error, figure, numbers, open, query, session};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn ints(values: impl IntoIterator<Item = i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values))
}

fn longs(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

#[tokio::test]
async fn a_column_missing_from_a_file_is_null() {
    let tree = Tree::new();
    tree.file("p=1/f.parquet", &batch(vec![("a", ints([1]))]));
    tree.file("p=2/f.parquet", &batch(vec![("a", ints([2])), ("b", ints([20]))]));
    let context = session(tree.open().await);
    assert_eq!(query(&context, "SELECT a, b, p FROM t").await, ["1|NULL|1", "2|20|2"]);
    assert_eq!(query(&context, "SELECT a FROM t WHERE b IS NULL").await, ["1"]);
    assert_eq!(query(&context, "SELECT a FROM t WHERE b = 20").await, ["2"]);
    assert_eq!(query(&context, "SELECT count(b), count(*) FROM t").await, ["1|2"]);
}

#[tokio::test]
async fn a_type_widens_and_names_match_without_case() {
    let tree = Tree::new();
    tree.file("p=1/f.parquet", &batch(vec![("Id", ints([1])), ("x", ints([7]))]));
    tree.file("p=2/f.parquet", &batch(vec![("id", longs([1 << 40])), ("X", ints([8]))]));
    let context = session(tree.open().await);
    let rows = query(&context, r#"SELECT "Id", x FROM t"#).await;
    assert_eq!(rows, ["1099511627776|8", "1|7"]);
    let rows = query(&context, r#"SELECT x FROM t WHERE "Id" > 5"#).await;
    assert_eq!(rows, ["8"]);
}

#[tokio::test]
async fn strings_are_one_type_however_a_writer_sized_them() {
    let tree = Tree::new();
    let wide: ArrayRef = Arc::new(LargeStringArray::from(vec!["a"]));
    let view: ArrayRef = Arc::new(StringViewArray::from(vec!["b"]));
    tree.file("p=1/f.parquet", &batch(vec![("s", wide)]));
    tree.file("p=2/f.parquet", &batch(vec![("s", view)]));
    let table = tree.open().await;
    assert_eq!(table.table_schema().file_schema().field(0).data_type(), &DataType::Utf8);
    let context = session(table);
    assert_eq!(query(&context, "SELECT s || 'x' FROM t WHERE s >= 'a'").await, ["ax", "bx"]);
}

#[tokio::test]
async fn a_lossy_difference_names_both_files() {
    let tree = Tree::new();
    tree.file("p=1/one.parquet", &batch(vec![("a", ints([1]))]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    tree.file("p=2/two.parquet", &batch(vec![("a", text)]));
    let message = open(&tree.path(), None).await.unwrap_err().to_string();
    for part in ["column a", "p=1/one.parquet", "p=2/two.parquet", "Int32", "Utf8"] {
        assert!(message.contains(part), "{part} in {message}");
    }
}

#[tokio::test]
async fn a_file_that_does_not_fit_a_declared_schema_is_named() {
    let tree = Tree::new();
    tree.file("p=1/f.parquet", &batch(vec![("a", longs([1])), ("b", ints([2]))]));
    let fields = vec![
        Field::new("a", DataType::Int32, true),
        Field::new("b", DataType::Int64, true),
        Field::new("p", DataType::Int32, true),
    ];
    let schema = TableSchema::new(Arc::new(Schema::new(fields)), vec!["p".into()]).unwrap();
    let context = session(open(&tree.path(), Some(schema)).await.unwrap());
    let message = error(&context, "SELECT a FROM t").await;
    for part in ["p=1/f.parquet", "column a", "Int64", "Int32"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert_eq!(query(&context, "SELECT b FROM t").await, ["2"], "other columns are read");
}

#[tokio::test]
async fn the_directory_wins_over_a_column_of_its_name_in_the_file() {
    let tree = Tree::new();
    let day: ArrayRef = Arc::new(Date32Array::from(vec![0, 0]));
    tree.file("D=2024-01-15/f.parquet", &batch(vec![("d", day), ("a", ints([1, 2]))]));
    let context = session(tree.open().await);
    assert_eq!(query(&context, r#"SELECT a, "D" FROM t"#).await, ["1|2024-01-15", "2|2024-01-15"]);
    let sql = r#"SELECT count(*) FROM t WHERE "D" = DATE '2024-01-15'"#;
    assert_eq!(query(&context, sql).await, ["2"]);
}

#[tokio::test]
async fn columns_keep_their_declared_order_and_partition_columns_can_stand_alone() {
    let tree = Tree::new();
    tree.rows("a=1/b=x/f.parquet", 2).rows("a=2/b=y/f.parquet", 3);
    let fields = vec![
        Field::new("b", DataType::Utf8, true),
        Field::new("v", DataType::Int64, false),
        Field::new("a", DataType::Int32, true),
        Field::new("x", DataType::Float64, true),
    ];
    let schema =
        TableSchema::new(Arc::new(Schema::new(fields)), vec!["a".into(), "b".into()]).unwrap();
    let context = session(open(&tree.path(), Some(schema)).await.unwrap());
    let rows = query(&context, "SELECT * FROM t WHERE v = 1").await;
    assert_eq!(rows, ["x|1|1|0.5", "y|1|2|0.5"]);
    assert_eq!(query(&context, "SELECT a, b FROM t GROUP BY a, b").await, ["1|x", "2|y"]);
    assert_eq!(query(&context, "SELECT count(*) FROM t").await, ["5"]);
    assert_eq!(query(&context, "SELECT max(a), min(b) FROM t").await, ["2|x"]);
    assert_eq!(query(&context, "SELECT x, a FROM t WHERE b = 'y' AND v = 3").await, ["1.5|2"]);
    assert_eq!(query(&context, "SELECT 1 FROM t WHERE a = 2").await, ["1", "1", "1"]);
    assert_eq!(query(&context, "SELECT v FROM t ORDER BY v DESC LIMIT 1").await, ["3"]);
    assert_eq!(query(&context, "SELECT v FROM t WHERE a = 1 LIMIT 1").await.len(), 1);
}

#[tokio::test]
async fn a_damaged_file_is_named() {
    let tree = Tree::new();
    tree.rows("p=1/good.parquet", 10).rows("p=2/bad.parquet", 10);
    let table = tree.open().await;
    let bad = tree.path().join("p=2/bad.parquet");
    let bytes = fs::read(&bad).unwrap();
    fs::write(&bad, &bytes[..bytes.len() / 2]).unwrap();
    let context = session(table);
    let message = error(&context, "SELECT sum(v) FROM t").await;
    assert!(message.contains("p=2/bad.parquet is not a whole Parquet file"), "{message}");
    assert_eq!(query(&context, "SELECT sum(v) FROM t WHERE p = 1").await, ["55"]);
    let message = open(&tree.path(), None).await.unwrap_err().to_string();
    assert!(message.contains("p=2/bad.parquet"), "{message}");
}

#[tokio::test]
async fn damage_in_the_middle_of_a_file_is_named() {
    let tree = Tree::new();
    tree.rows("p=1/bad.parquet", 1000);
    let table = tree.open().await;
    let bad = tree.path().join("p=1/bad.parquet");
    let mut bytes = fs::read(&bad).unwrap();
    bytes[4..200].fill(0xff);
    fs::write(&bad, &bytes).unwrap();
    let message = error(&session(table), "SELECT sum(v), sum(x) FROM t").await;
    assert!(message.contains("p=1/bad.parquet"), "{message}");
}

#[tokio::test]
async fn an_empty_file_is_passed_over_with_a_warning() {
    let tree = Tree::new();
    tree.rows("p=1/good.parquet", 10);
    fs::write(tree.path().join("p=1/empty.parquet"), b"").unwrap();
    let table = tree.open().await;
    let context = session(table.clone());
    assert_eq!(query(&context, "SELECT count(*) FROM t").await, ["10"]);
    let warnings = table.reads().take_warnings();
    assert!(warnings.iter().any(|warning| warning.contains("empty.parquet")), "{warnings:?}");
    assert!(table.reads().take_warnings().is_empty(), "handed out once");
}

#[tokio::test]
async fn what_others_change_is_seen_by_the_next_query() {
    let tree = Tree::new();
    tree.rows("p=1/f.parquet", 10);
    let context = session(tree.open().await);
    let sql = "SELECT count(*), max(v) FROM t";
    assert_eq!(query(&context, sql).await, ["10|10"]);
    tree.rows("p=2/g.parquet", 5);
    assert_eq!(query(&context, sql).await, ["15|10"], "added");
    tree.rows("p=1/f.parquet", 20);
    assert_eq!(query(&context, sql).await, ["25|20"], "rewritten under its name");
    fs::remove_file(tree.path().join("p=2/g.parquet")).unwrap();
    assert_eq!(query(&context, sql).await, ["20|20"], "removed");
}

#[tokio::test]
async fn hidden_files_are_not_data() {
    let tree = Tree::new();
    tree.rows("p=1/f.parquet", 10).rows("p=1/_x.parquet", 5).rows("p=1/.x.parquet", 5);
    tree.rows("_temporary/p=2/f.parquet", 5);
    let context = session(tree.open().await);
    assert_eq!(query(&context, "SELECT count(*) FROM t").await, ["10"]);
}

#[tokio::test]
async fn nested_columns_are_read_and_filtered() {
    let tree = Tree::new();
    let inner: ArrayRef = ints([1, 2]);
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(
        Arc::new(Field::new("n", DataType::Int32, true)),
        inner,
    )]));
    tree.file("p=1/f.parquet", &batch(vec![("s", nested)]));
    let context = session(tree.open().await);
    assert_eq!(query(&context, "SELECT s['n'] FROM t WHERE s['n'] > 1").await, ["2"]);
}

#[tokio::test]
async fn a_tree_without_partitions_is_a_table() {
    let tree = Tree::new();
    tree.rows("a.parquet", 3).rows("b.parquet", 4);
    let context = session(tree.open().await);
    assert_eq!(query(&context, "SELECT count(*), sum(v) FROM t WHERE v > 1").await, ["5|14"]);
}

#[tokio::test]
async fn many_files_are_balanced_over_the_tasks() {
    let tree = Tree::new();
    for n in 0..40 {
        tree.file(&format!("p={n}/f.parquet"), &numbers(n + 1));
    }
    let context = session(tree.open().await);
    assert_eq!(figure(&context, "SELECT v FROM t", "rows_read").await, 820);
}

#[tokio::test]
async fn floats_and_integers_of_two_files_have_no_common_type() {
    let tree = Tree::new();
    tree.file("p=1/f.parquet", &batch(vec![("a", longs([1]))]));
    let float: ArrayRef = Arc::new(Float64Array::from(vec![1.5]));
    tree.file("p=2/f.parquet", &batch(vec![("a", float)]));
    assert!(open(&tree.path(), None).await.is_err());
}

#[tokio::test]
async fn two_columns_of_a_file_that_differ_in_case_only_are_refused_until_one_is_declared() {
    let tree = Tree::new();
    tree.file("p=1/f.parquet", &batch(vec![("a", ints([1])), ("A", ints([2]))]));
    let message = open(&tree.path(), None).await.unwrap_err().to_string();
    assert!(message.contains("p=1/f.parquet") && message.contains("case only"), "{message}");
    let fields =
        vec![Field::new("A", DataType::Int32, true), Field::new("p", DataType::Int32, true)];
    let schema = TableSchema::new(Arc::new(Schema::new(fields)), vec!["p".into()]).unwrap();
    let context = session(open(&tree.path(), Some(schema)).await.unwrap());
    assert_eq!(query(&context, r#"SELECT "A" FROM t WHERE "A" > 0"#).await, ["2"]);
}

#[tokio::test]
async fn nanoseconds_are_read_as_microseconds_as_long_as_no_digit_is_lost() {
    let nanos = |values: Vec<i64>| -> ArrayRef { Arc::new(TimestampNanosecondArray::from(values)) };
    let tree = Tree::new();
    tree.file("p=1/whole.parquet", &batch(vec![("ts", nanos(vec![1_000, 2_000]))]));
    tree.file("p=2/fine.parquet", &batch(vec![("ts", nanos(vec![1_001]))]));
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let fields = vec![Field::new("ts", micros, true), Field::new("p", DataType::Int32, true)];
    let schema = TableSchema::new(Arc::new(Schema::new(fields)), vec!["p".into()]).unwrap();
    let context = session(open(&tree.path(), Some(schema)).await.unwrap());
    let sql = "SELECT count(*) FROM t WHERE p = 1 AND ts > TIMESTAMP '1970-01-01 00:00:00.000001'";
    assert_eq!(query(&context, sql).await, ["1"]);
    let message = error(&context, "SELECT ts FROM t WHERE p = 2").await;
    assert!(message.contains("column ts") && message.contains("p=2/fine.parquet"), "{message}");
}
