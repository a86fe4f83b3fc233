//! Plain INSERTs through DataFusion's planner, and reading what they wrote.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use datafusion::physical_plan::execute_stream;
use futures::StreamExt;
use partwise_commit::{Location, TableSchema};
use partwise_table::config::PartwiseConfig;
use partwise_table::{OpenOptions, PartwiseTable, scan_facts};

use crate::kit::{Tree, error, open, partitions, plan, query, session, session_with, sorted_rows};

fn by_month() -> TableSchema {
    let fields =
        vec![Field::new("month", DataType::Utf8, true), Field::new("v", DataType::Int64, true)];
    TableSchema::new(Arc::new(Schema::new(fields)), vec!["month".into()]).unwrap()
}

async fn empty_table(tree: &Tree) -> PartwiseTable {
    open(&tree.path(), Some(by_month())).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declared_table_is_empty_until_something_is_inserted() {
    let tree = Tree::new();
    let context = session(empty_table(&tree).await);
    assert_eq!(query(&context, "SELECT count(*) FROM t").await, ["0"]);
    assert_eq!(partitions(&context, "SELECT * FROM t").await, "0/0");
    query(&context, "INSERT INTO t VALUES ('2024-01', 1), ('2024-02', 2), (NULL, 3)").await;
    assert_eq!(query(&context, "SELECT * FROM t").await, ["2024-01|1", "2024-02|2", "NULL|3"]);
    assert_eq!(query(&context, "SELECT v FROM t WHERE month = '2024-02'").await, ["2"]);
    assert_eq!(partitions(&context, "SELECT v FROM t WHERE month = '2024-02'").await, "1/3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_ours_opens_with_the_schema_and_version_of_its_log() {
    let tree = Tree::new();
    let context = session(empty_table(&tree).await);
    query(&context, "INSERT INTO t VALUES ('01', 1)").await;
    query(&context, "INSERT INTO t VALUES ('02', 2)").await;
    let table = tree.open().await;
    assert_eq!(table.version(), Some(2));
    assert_eq!(table.table_schema(), &by_month(), "text stays text, in its place");
    let context = session(table);
    let sql = "SELECT v FROM t WHERE month = '01'";
    assert_eq!(query(&context, sql).await, ["1"]);
    let scan = plan(&context, sql).await;
    assert_eq!(scan_facts(scan.as_ref())[0].version, Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dynamic_overwrite_replaces_the_partitions_it_has_rows_for() {
    let tree = Tree::new();
    let context = session(empty_table(&tree).await);
    query(&context, "INSERT INTO t VALUES ('a', 1), ('b', 2)").await;
    query(&context, "INSERT OVERWRITE t VALUES ('a', 10)").await;
    assert_eq!(query(&context, "SELECT * FROM t").await, ["a|10", "b|2"]);
    query(&context, "INSERT OVERWRITE t SELECT month, v + 1 FROM t").await;
    assert_eq!(query(&context, "SELECT * FROM t").await, ["a|11", "b|3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_static_overwrite_replaces_the_table() {
    let tree = Tree::new();
    let context = session(empty_table(&tree).await);
    query(&context, "INSERT INTO t VALUES ('a', 1), ('b', 2)").await;
    context.sql("SET partwise.partition_overwrite_mode = 'static'").await.unwrap();
    query(&context, "INSERT OVERWRITE t VALUES ('a', 10)").await;
    assert_eq!(query(&context, "SELECT * FROM t").await, ["a|10"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn explaining_an_insert_changes_nothing() {
    let tree = Tree::new();
    let context = session(empty_table(&tree).await);
    query(&context, "EXPLAIN INSERT INTO t VALUES ('a', 1)").await;
    assert!(!tree.path().exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_not_numbered_behind_its_back() {
    let tree = Tree::new();
    let table = empty_table(&tree).await;
    let context = session_with(table, true, |config| {
        let job = Some("nightly".to_string());
        let settings = PartwiseConfig { job, run: Some(1), ..PartwiseConfig::default() };
        config.options_mut().extensions.insert(settings);
    });
    let message = error(&context, "INSERT INTO t VALUES ('a', 1)").await;
    assert!(message.contains("partwise.job"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_that_runs_across_an_overwrite_finishes_with_its_own_answer() {
    let tree = Tree::new();
    let context = session(empty_table(&tree).await);
    let rows = "SELECT CAST(v % 4 AS VARCHAR), v FROM range(0, 4000) AS r(v)";
    query(&context, &format!("INSERT INTO t {rows}")).await;
    let before = query(&context, "SELECT * FROM t").await;
    let plan = plan(&context, "SELECT * FROM t").await;
    query(&context, "INSERT OVERWRITE t SELECT month, v + 100000 FROM t").await;
    let mut stream = execute_stream(plan, context.task_ctx()).unwrap();
    let mut batches = Vec::new();
    while let Some(batch) = stream.next().await {
        batches.push(batch.unwrap());
    }
    assert_eq!(sorted_rows(&batches), before);
    assert_eq!(query(&context, "SELECT min(v) FROM t").await, ["100000"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_on_a_store_is_read_and_pruned() {
    let store = Arc::new(object_store::memory::InMemory::new());
    let location = || Location::store(store.clone(), "lake/t".into());
    let state = datafusion::prelude::SessionContext::new().state();
    let options = OpenOptions { schema: Some(by_month()) };
    let table = PartwiseTable::open(location(), options, &state).await.unwrap().unwrap();
    let context = session(table);
    query(&context, "INSERT INTO t VALUES ('a', 1), ('b/c', 2)").await;
    let reopened = PartwiseTable::open(location(), OpenOptions::default(), &state).await;
    let context = session(reopened.unwrap().unwrap());
    let sql = "SELECT v FROM t WHERE month = 'b/c'";
    assert_eq!(query(&context, sql).await, ["2"]);
    assert_eq!(partitions(&context, sql).await, "1/2");
}
