//! Readers and writers of one table at once, in processes' stead: sessions of their own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use futures::TryStreamExt;
use partwise::{Execution, PartwiseContext, Result};

use crate::support::Folder;

async fn count(context: &PartwiseContext, sql: &str) -> Result<i64> {
    let Execution::Rows(rows) = context.execute(sql).await? else { panic!("{sql} gives rows") };
    let batches: Vec<RecordBatch> = rows.stream.try_collect().await?;
    Ok(batches[0].column(0).as_primitive::<Int64Type>().value(0))
}

/// Counts rows in sessions of their own until told to stop; what isn't `whole` is returned.
async fn read_on(lake: &Path, sql: &'static str, whole: i64, stop: Arc<AtomicBool>) -> Vec<String> {
    let mut odd = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let context = PartwiseContext::open(lake).await.expect("a session");
        match count(&context, sql).await {
            Ok(n) if n == whole => {}
            Err(error) if error.kind() == partwise::ErrorKind::Conflict => {}
            other => odd.push(format!("{other:?}")),
        }
    }
    odd
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_never_mixes_two_layouts_of_a_replaced_table() {
    let folder = Folder::new();
    let lake = folder.lake();
    let context = PartwiseContext::open(lake.as_path()).await.expect("a session");
    let layouts = [
        "PARTITIONED BY (p) AS SELECT value AS a, value % 5 AS p FROM generate_series(1, 100)",
        "PARTITIONED BY (q) AS SELECT value AS b, value % 4 AS q FROM generate_series(1, 100)",
        "AS SELECT value AS a FROM generate_series(1, 100)",
    ];
    let replace = |n: usize| format!("CREATE OR REPLACE TABLE t USING parquet {}", layouts[n % 3]);
    context.execute(&replace(0)).await.expect("the table");
    let stop = Arc::new(AtomicBool::new(false));
    let reader = {
        let (lake, stop) = (lake.clone(), Arc::clone(&stop));
        tokio::spawn(async move {
            read_on(&lake, "SELECT count(*) FROM (SELECT * FROM t)", 100, stop).await
        })
    };
    for n in 1..60 {
        context.execute(&replace(n)).await.expect("a replacement");
    }
    stop.store(true, Ordering::Relaxed);
    assert_eq!(reader.await.expect("the reader"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_who_create_a_table_if_it_is_not_there_none_fails() {
    let folder = Folder::new();
    let lake = folder.lake();
    let create = "CREATE TABLE IF NOT EXISTS t USING parquet AS SELECT 1 AS a";
    let all = (0..4).map(|_| {
        let lake = lake.clone();
        tokio::spawn(async move {
            let context = PartwiseContext::open(lake.as_path()).await?;
            context.execute(create).await.map(drop)
        })
    });
    for one in all.collect::<Vec<_>>() {
        one.await.expect("a task").expect("created, or there");
    }
    let context = PartwiseContext::open(lake.as_path()).await.expect("a session");
    assert_eq!(count(&context, "SELECT count(*) FROM t").await.expect("a count"), 1);
}
