//! What EXPLAIN and EXPLAIN ANALYZE say of a scan.

use crate::kit::{Tree, figure, plan, query, scan_line, session, session_with};
use datafusion::physical_plan::displayable;
use datafusion::prelude::SessionContext;

async fn ninety_one_days() -> (Tree, SessionContext) {
    let tree = Tree::new();
    for day in 1..=91 {
        let (month, day) = match day {
            1..=31 => (1, day),
            32..=60 => (2, day - 31),
            _ => (3, day - 60),
        };
        tree.rows(&format!("pickup_date=2024-{month:02}-{day:02}/f.parquet"), 1000 + day);
    }
    let context = session(tree.open().await);
    (tree, context)
}

const ONE_DAY: &str =
    "SELECT count(*), sum(x) FROM t WHERE pickup_date = DATE '2024-01-15' AND x > 0";

#[tokio::test]
async fn the_indented_line_names_filters_and_counts() {
    let (_tree, context) = ninety_one_days().await;
    let line = scan_line(&context, ONE_DAY).await;
    assert!(line.starts_with("DataSourceExec: file_groups={1 group: [["), "{line}");
    assert!(line.contains("t/pickup_date=2024-01-15/f.parquet"), "{line}");
    let end = "projection=[x], file_type=parquet, PartitionFilters=[pickup_date = 2024-01-15], \
               PushedFilters=[x > 0], partitions=1/91, files=1/91";
    assert!(line.ends_with(end), "{line}");
}

#[tokio::test]
async fn the_tree_says_the_same_in_lines() {
    let (_tree, context) = ninety_one_days().await;
    let plan = plan(&context, ONE_DAY).await;
    let text = displayable(plan.as_ref()).tree_render().to_string();
    for line in ["format: parquet", "partitions: 1/91", "files: 1/91", "ranges of files: 1"] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(text.contains("PartitionFilters:") && text.contains("pickup_date"), "{text}");
}

#[tokio::test]
async fn an_empty_selection_stays_in_the_plan() {
    let (_tree, context) = ninety_one_days().await;
    let sql = "SELECT count(*) FROM t WHERE pickup_date = DATE '2023-01-15'";
    let line = scan_line(&context, sql).await;
    assert!(line.ends_with("partitions=0/91, files=0/91"), "{line}");
    assert_eq!(query(&context, sql).await, ["0"]);
}

#[tokio::test]
async fn a_total_that_nobody_counted_is_a_question_mark() {
    let (tree, _) = ninety_one_days().await;
    let context = SessionContext::new();
    context.register_table("t", std::sync::Arc::new(tree.open().await)).unwrap();
    let line = scan_line(&context, ONE_DAY).await;
    assert!(line.ends_with("partitions=1/?, files=1/?"), "{line}");
    let line = scan_line(&context, "SELECT v FROM t").await;
    assert!(line.ends_with("PartitionFilters=[], PushedFilters=[], partitions=91/91, files=91/91"));
}

#[tokio::test]
async fn analyze_counts_files_rows_and_partitions_exactly() {
    let (_tree, context) = ninety_one_days().await;
    let sql = "SELECT count(*), sum(x) FROM t WHERE pickup_date = DATE '2024-01-15' AND x > 500";
    assert_eq!(figure(&context, sql, "files_read").await, 1);
    assert_eq!(figure(&context, sql, "rows_read").await, 1015);
    assert_eq!(figure(&context, sql, "partitions_pruned").await, 90);
    let text = query(&context, &format!("EXPLAIN ANALYZE {sql}")).await.join("\n");
    assert!(text.contains("files_read=1, partitions_pruned=90, rows_read=1015"), "{text}");
}

#[tokio::test]
async fn rows_that_the_row_filter_drops_are_read() {
    let (tree, _) = ninety_one_days().await;
    let late = session_with(tree.open().await, true, |config| {
        config.options_mut().execution.parquet.pushdown_filters = true;
    });
    let sql = "SELECT v FROM t WHERE pickup_date = DATE '2024-01-15' AND v % 2 = 0 AND x > 3";
    assert_eq!(query(&late, sql).await.len(), 504);
    assert_eq!(figure(&late, sql, "rows_read").await, 1015);
}

#[tokio::test]
async fn row_groups_that_statistics_rule_out_are_not_read() {
    let tree = Tree::new();
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_max_row_group_row_count(Some(100))
        .build();
    tree.file_with("p=1/f.parquet", &crate::kit::numbers(1000), properties);
    let context = session(tree.open().await);
    let sql = "SELECT x FROM t WHERE v > 950";
    assert_eq!(figure(&context, sql, "rows_read").await, 100);
    assert_eq!(query(&context, sql).await.len(), 50);
}

#[tokio::test]
async fn a_big_file_is_split_and_counted_once() {
    let tree = Tree::new();
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_max_row_group_row_count(Some(1000))
        .build();
    tree.file_with("p=1/f.parquet", &crate::kit::numbers(10_000), properties);
    let context = session_with(tree.open().await, true, |config| {
        config.options_mut().optimizer.repartition_file_min_size = 0;
    });
    let sql = "SELECT sum(v) FROM t";
    let line = scan_line(&context, sql).await;
    assert!(line.contains("file_groups={2 groups:") && line.ends_with("files=1/1"), "{line}");
    assert_eq!(query(&context, sql).await, ["50005000"]);
    assert_eq!(figure(&context, sql, "files_read").await, 1);
    assert_eq!(figure(&context, sql, "rows_read").await, 10_000);
}
