//! What EXPLAIN shows of a write.

use datafusion::physical_plan::displayable;

use crate::support::Lake;

async fn plan(options: &[(&str, &str)], partition_by: &[&str]) -> String {
    let lake = Lake::new();
    let rows = "SELECT value AS v, value % 3 AS p FROM range(1000)";
    let rows = lake.ctx.sql(rows).await.expect("query");
    let planned = lake.append(options).plan(rows, partition_by).await.expect("planned");
    let text = displayable(planned.plan.as_ref()).indent(false).to_string();
    text.replace(lake.table_dir().to_str().expect("text"), "TABLE")
}

#[tokio::test]
async fn the_tidy_layout_repartitions_by_key() {
    let plan = plan(&[], &["p"]).await;
    assert!(
        plan.contains(
            "DataSinkExec: sink=PartitionSink: target=TABLE, mode=append, partition_by=[p]"
        ),
        "{plan}"
    );
    let write = "StagedWriteExec: partition_by=[p], distribution=tidy, compression=snappy";
    assert!(plan.contains(write), "{plan}");
    assert!(plan.contains("RepartitionExec: partitioning=Hash([p@1], 2)"), "{plan}");
}

#[tokio::test]
async fn distribution_none_writes_where_the_rows_are() {
    let plan = plan(&[("distribution", "none"), ("compression", "zstd(3)")], &["p"]).await;
    assert!(plan.contains("distribution=none, compression=zstd(3)"), "{plan}");
    assert!(!plan.contains("Hash("), "{plan}");
}

#[tokio::test]
async fn an_order_inside_files_sorts_each_task_by_key_first() {
    let plan = plan(&[("sort_by", "v desc")], &["p"]).await;
    assert!(plan.contains("sort_by=[v DESC]"), "{plan}");
    assert!(
        plan.contains("SortExec: expr=[p@1 ASC, v@0 DESC], preserve_partitioning=[true]"),
        "{plan}"
    );
}
