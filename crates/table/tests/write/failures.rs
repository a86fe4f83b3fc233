//! A write that fails or is given up leaves nothing.

use std::time::Duration;

use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{collect, execute_stream};
use futures::StreamExt;

use crate::support::Lake;

const GOOD: &str = "SELECT value AS v, value % 3 AS p FROM range(1000)";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_that_fails_in_its_last_rows_changes_nothing() {
    let lake = Lake::new();
    let rows = lake.ctx.sql(GOOD).await.expect("query");
    lake.append(&[]).run(rows, &["p"]).await.expect("written");
    let before = lake.all_files();
    let rows = "SELECT 100 / (299999 - value) AS v, value % 3 AS p FROM range(300000)";
    let rows = lake.ctx.sql(rows).await.expect("query");
    let options = [("row_group_rows", "10000")];
    let error = lake.append(&options).run(rows, &["p"]).await.err().expect("failed");
    assert!(error.to_string().to_lowercase().contains("divide by zero"), "{error}");
    assert_eq!(lake.all_files(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_write_that_fails_leaves_no_table() {
    let lake = Lake::new();
    let rows = "SELECT arrow_cast(value, 'Timestamp(Nanosecond, None)') AS v, 1 AS p FROM range(9)";
    let rows = lake.ctx.sql(rows).await.expect("query");
    let error = lake.append(&[]).run(rows, &["p"]).await.err().expect("failed").to_string();
    assert!(error.contains("column v") && error.contains("date_trunc"), "{error}");
    assert_eq!(lake.all_files(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_is_given_up_leaves_nothing() {
    let lake = Lake::new();
    let endless = "SELECT a.value AS v, a.value % 3 AS p FROM range(1000000) a, range(1000000) b";
    let rows = lake.ctx.sql(endless).await.expect("query");
    let options = [("row_group_rows", "10000"), ("max_rows_per_file", "10000")];
    let planned = lake.append(&options).plan(rows, &["p"]).await.expect("planned");
    let mut stream = execute_stream(planned.plan, lake.ctx.task_ctx()).expect("started");
    let begun = async {
        while !lake.all_files().iter().any(|file| file.ends_with(".parquet")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = stream.next() => panic!("an endless query ended"),
        () = begun => {}
    }
    drop(stream);
    let swept = async {
        while !lake.all_files().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    let swept = tokio::time::timeout(Duration::from_secs(60), swept).await;
    swept.unwrap_or_else(|_| panic!("left: {:?}", lake.all_files()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_is_started_and_never_polled_has_no_side_effects() {
    let lake = Lake::new();
    let rows = lake.ctx.sql(GOOD).await.expect("query");
    let planned = lake.append(&[]).plan(rows, &["p"]).await.expect("planned");
    assert!(lake.all_files().is_empty());
    drop(execute_stream(planned.plan, lake.ctx.task_ctx()).expect("started"));
    assert!(lake.all_files().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_can_run_again() {
    let lake = Lake::new();
    let rows = lake.ctx.sql(GOOD).await.expect("query");
    let planned = lake.append(&[]).plan(rows, &["p"]).await.expect("planned");
    for version in [1, 2] {
        let plan = reset_plan_states(planned.plan.clone()).expect("reset");
        collect(plan, lake.ctx.task_ctx()).await.expect("written");
        assert_eq!(planned.outcome.get().expect("committed").version, version);
    }
    assert!(lake.data_files().values().all(|files| files.len() == 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_without_rows_commits_too() {
    let lake = Lake::new();
    let rows = lake.ctx.sql(GOOD).await.expect("query").limit(0, Some(0)).expect("limit");
    let written = lake.append(&[]).run(rows, &["p"]).await.expect("written");
    assert_eq!(written.committed.rows_added, 0);
    assert!(lake.data_files().is_empty());
}
