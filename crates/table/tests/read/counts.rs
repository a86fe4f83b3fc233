//! `count(*)`, `min`, `max` and DISTINCT over partition columns: answered from names and statistics
//! where that gives the answer of a scan, and by a scan elsewhere.

use std::fs;
use std::sync::Arc;

use datafusion::physical_plan::displayable;
use datafusion::prelude::SessionContext;
use partwise_table::{CountPartitions, PartwiseTable};

use crate::kit::{Tree, error, figure, numbers, plan, query, session, session_with, write_parquet};

/// Two levels, a NULL, one partition in two directories, one without rows, one without files, an
/// empty file, and a file beside them.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.rows("dt=2024-01-01/h=1/a.parquet", 3)
        .rows("dt=2024-01-01/h=%31/b.parquet", 4)
        .rows("dt=2024-01-01/h=2/a.parquet", 5)
        .rows("dt=2024-01-02/h=1/a.parquet", 7)
        .rows("dt=2024-01-02/h=1/b.parquet", 1)
        .rows("dt=2024-01-03/h=1/none.parquet", 0)
        .rows("dt=__HIVE_DEFAULT_PARTITION__/h=5/a.parquet", 2)
        .rows("stray.parquet", 9);
    fs::create_dir_all(tree.path().join("dt=2024-01-09/h=9")).unwrap();
    fs::write(tree.path().join("dt=2024-01-02/h=1/empty.parquet"), "").unwrap();
    tree
}

fn counting(table: PartwiseTable) -> SessionContext {
    let context = session(table);
    context.add_optimizer_rule(Arc::new(CountPartitions));
    context
}

async fn text_of(context: &SessionContext, sql: &str) -> String {
    displayable(plan(context, sql).await.as_ref()).indent(false).to_string()
}

/// Whether the query is answered without a scan.
async fn counted(context: &SessionContext, sql: &str) -> bool {
    let text = text_of(context, sql).await;
    assert_ne!(text.contains("PartitionCountsExec"), text.contains("DataSourceExec"), "{text}");
    text.contains("PartitionCountsExec")
}

#[tokio::test]
async fn answers_from_statistics_are_those_of_a_scan() {
    let tree = tree();
    let table = tree.open().await;
    let fast = counting(table.clone());
    let slow = session_with(table.clone(), false, |_| ());
    slow.add_optimizer_rule(Arc::new(CountPartitions));
    for sql in [
        "SELECT count(*) FROM t",
        "SELECT count(1), count(*) AS n, count(h), count(dt), count(NULL) FROM t",
        "SELECT count(*) FROM t WHERE dt = '2024-01-01'",
        "SELECT count(*) FROM t WHERE dt = '2024-01-01' AND h = 2",
        "SELECT count(*) FROM t WHERE dt = '1999-01-01'",
        "SELECT count(*), min(h), max(dt) FROM t WHERE dt IS NULL",
        "SELECT count(*), min(h) FROM t WHERE h > 100",
        "SELECT min(dt), max(dt), min(h), max(h) FROM t",
        "SELECT max(h + 1), min(-h) FROM t",
        "SELECT DISTINCT dt FROM t",
        "SELECT DISTINCT h, dt FROM t",
        "SELECT count(DISTINCT dt), count(DISTINCT h) FROM t",
        "SELECT dt, count(*) FROM t GROUP BY dt",
        "SELECT h % 2, count(*), max(dt) FROM t GROUP BY h % 2 HAVING count(*) > 3",
        "SELECT count(*) FILTER (WHERE h = 1), count(*) FILTER (WHERE h = 77) FROM t",
        "SELECT a.dt, count(*) AS n FROM t AS a WHERE a.h < 5 GROUP BY a.dt ORDER BY n",
        "SELECT count(*) FROM (SELECT dt || 'x' AS y FROM t WHERE h <> 2) WHERE y IS NOT NULL",
        "SELECT count(*) FROM t WHERE h = 1 OR dt IS NULL",
        "SELECT count(*) + 1 FROM t",
    ] {
        assert!(counted(&fast, sql).await, "{sql}");
        assert!(!counted(&slow, sql).await, "{sql}");
        assert_eq!(query(&fast, sql).await, query(&slow, sql).await, "{sql}");
    }
}

#[tokio::test]
async fn what_needs_rows_is_scanned() {
    let tree = tree();
    let table = tree.open().await;
    let (fast, slow) = (counting(table.clone()), session_with(table.clone(), false, |_| ()));
    for sql in [
        "SELECT count(v) FROM t",
        "SELECT count(*) FROM t WHERE v > 2",
        "SELECT count(*) FROM t WHERE dt = '2024-01-01' AND v > 2",
        "SELECT sum(h) FROM t",
        "SELECT count(*), sum(v) FROM t",
        "SELECT max(v) FROM t",
        "SELECT dt, v FROM t GROUP BY dt, v",
        "SELECT count(*) FROM (SELECT dt FROM t LIMIT 3)",
        "SELECT count(*) FROM t WHERE h > 0 OR v > 2",
    ] {
        assert!(!counted(&fast, sql).await, "{sql}");
        assert_eq!(query(&fast, sql).await, query(&slow, sql).await, "{sql}");
    }
}

#[tokio::test]
async fn a_subquery_is_answered_from_names_and_prunes_the_scan_around_it() {
    let tree = tree();
    let table = tree.open().await;
    let (fast, slow) = (counting(table.clone()), session_with(table.clone(), false, |_| ()));
    let sql = "SELECT sum(v) FROM t WHERE dt = (SELECT max(dt) FROM t)";
    let text = text_of(&fast, sql).await;
    assert!(text.contains("PartitionCountsExec") && text.contains("DataSourceExec"), "{text}");
    assert_eq!(query(&fast, sql).await, query(&slow, sql).await);
}

#[tokio::test]
async fn explain_shows_the_node_with_the_figures_of_a_scan() {
    let tree = tree();
    let table = tree.open().await;
    let context = counting(table.clone());
    let text = text_of(&context, "SELECT count(*) FROM t WHERE dt = '2024-01-01'").await;
    let line = text.lines().find(|line| line.contains("PartitionCountsExec")).unwrap().trim();
    assert_eq!(
        line,
        "PartitionCountsExec: from names and statistics, PartitionFilters=[dt = 2024-01-01], \
         partitions=2/5, files=3/7"
    );
    let sql = "SELECT count(*) FROM t WHERE dt = '2024-01-01'";
    assert_eq!(figure(&context, sql, "files_read").await, 3);
    assert_eq!(figure(&context, sql, "rows_read").await, 0);
    assert_eq!(figure(&context, sql, "partitions_pruned").await, 3);
}

#[tokio::test]
async fn a_file_that_takes_the_place_of_another_is_counted_anew() {
    let tree = Tree::new();
    tree.rows("p=1/f.parquet", 3);
    let context = counting(tree.open().await);
    let path = tree.path().join("p=1/f.parquet");
    assert_eq!(query(&context, "SELECT count(*) FROM t").await, ["3"]);
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let size = fs::metadata(&path).unwrap().len();
    write_parquet(&path, &numbers(2), Default::default());
    let file = fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(modified + std::time::Duration::from_secs(1)).unwrap();
    assert_eq!(query(&context, "SELECT count(*) FROM t").await, ["2"], "{size} bytes before");
    fs::remove_file(&path).unwrap();
    assert_eq!(query(&context, "SELECT count(*) FROM t").await, ["0"]);
}

#[tokio::test]
async fn a_damaged_file_is_an_error_that_names_it() {
    let tree = Tree::new();
    tree.rows("p=1/f.parquet", 3);
    let context = counting(tree.open().await);
    fs::write(tree.path().join("p=1/g.parquet"), "PAR1 not quite").unwrap();
    let error = error(&context, "SELECT count(*) FROM t").await;
    assert!(error.contains("p=1/g.parquet"), "{error}");
}
