//! Memory and open files stay within their bounds, whatever order the rows come in.

use crate::support::{Lake, read};

/// 40,000 rows of 800 partitions in an order that mixes them all.
const MIXED: &str = "SELECT value AS v, repeat('x', 100) AS s, (value * 7919) % 800 AS p \
                     FROM range(40000)";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_small_partitions_are_sorted_rather_than_split_into_tiny_files() {
    let lake = Lake::new();
    let rows = lake.ctx.sql(MIXED).await.expect("query");
    let options = [("write_buffer_size", "2 MB"), ("max_open_writers", "8")];
    let written = lake.append(&options).run(rows, &["p"]).await.expect("written");
    let files = lake.data_files();
    assert_eq!(files.len(), 800);
    let count: usize = files.values().map(Vec::len).sum();
    assert!(count < 900, "{count} files");
    let rows: usize = files.values().flatten().map(|file| read(file).num_rows()).sum();
    assert_eq!(rows, 40_000);
    assert!(written.metric("sorted_tasks") > 0);
    assert!(written.metric("most_open_files") <= 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_that_fit_in_memory_are_not_sorted() {
    let lake = Lake::new();
    let rows = lake.ctx.sql(MIXED).await.expect("query");
    let options = [("max_open_writers", "4")];
    let written = lake.append(&options).run(rows, &["p"]).await.expect("written");
    assert!(lake.data_files().values().all(|files| files.len() == 1));
    assert_eq!(written.metric("sorted_tasks"), 0);
    assert!(written.metric("most_open_files") <= 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_partitions_in_any_order_are_encoded_early_into_one_file_each() {
    let lake = Lake::new();
    let rows = "SELECT random() AS v, value % 5 AS p FROM range(400000)";
    let rows = lake.ctx.sql(rows).await.expect("query");
    let options = [("write_buffer_size", "2 MB"), ("max_open_writers", "16")];
    let written = lake.append(&options).run(rows, &["p"]).await.expect("written");
    let files = lake.data_files();
    assert!(files.values().all(|files| files.len() == 1));
    assert_eq!(written.committed.rows_added, 400_000);
    assert_eq!(written.metric("sorted_tasks"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beyond_the_cap_a_file_is_closed_and_the_next_has_a_new_name() {
    let lake = Lake::new();
    let rows = "SELECT random() AS v, (value / 50000) % 4 AS p FROM range(400000)";
    let rows = lake.ctx.sql(rows).await.expect("query");
    let options = [("max_open_writers", "1"), ("row_group_rows", "1000"), ("distribution", "none")];
    let written = lake.append(&options).run(rows, &["p"]).await.expect("written");
    assert!(written.metric("most_open_files") <= 2, "one per task");
    assert_eq!(written.committed.rows_added, 400_000);
    let files = lake.data_files();
    assert_eq!(files.len(), 4);
    assert!(files.values().all(|files| (1..=4).contains(&files.len())));
}
