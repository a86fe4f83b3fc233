//! EXPLAIN over a tree of another tool: its lines, and totals counted anew each time.

use crate::support::Folder;
use crate::support::pair::Pair;
use partwise_testkit::{python, run_python};

const MAKE: &str = "
import pyarrow as pa, pyarrow.parquet as pq, sys, os
for n, path in enumerate(sys.argv[2:]):
    os.makedirs(os.path.dirname(f'{sys.argv[1]}/{path}'), exist_ok=True)
    pq.write_table(pa.table({'v': list(range(n * 100, n * 100 + 100)), 'x': [0.5] * 100}), f'{sys.argv[1]}/{path}')
";

fn write(folder: &Folder, paths: &[&str]) -> Option<()> {
    let table = folder.table("t").display().to_string();
    let args: Vec<&str> = [table.as_str()].into_iter().chain(paths.iter().copied()).collect();
    run_python(&python()?, MAKE, &args);
    Some(())
}

const FIRST: &[&str] =
    &["d=2024-01-01/a.parquet", "d=2024-01-02/a.parquet", "d=2024-01-02/b.parquet"];

/// A plan without what differs from run to run.
fn scan_lines(plan: &[String], folder: &Folder) -> String {
    let path = folder.path().canonicalize().expect("the folder");
    let plan = plan.join("\n").replace(path.to_str().expect("text").trim_start_matches('/'), "..");
    let lines = plan.lines().filter(|line| line.contains("DataSourceExec"));
    lines.map(|line| line.trim_start_matches("physical_plan|").trim()).collect()
}

#[tokio::test]
async fn the_indented_scan_says_what_is_read_of_how_much() {
    let folder = Folder::new();
    let Some(()) = write(&folder, FIRST) else { return };
    let pair = Pair::on(folder).await;
    let query = "EXPLAIN FORMAT INDENT SELECT v FROM t WHERE d = '2024-01-02' AND v >= 150 AND d IS NOT NULL";
    let plan = pair.pruned.rows(query).await;
    assert_eq!(
        scan_lines(&plan, &pair.folder),
        "DataSourceExec: file_groups={2 groups: [[../lake/t/d=2024-01-02/a.parquet], \
         [../lake/t/d=2024-01-02/b.parquet]]}, projection=[v], file_type=parquet, \
         PartitionFilters=[d = 2024-01-02, d IS NOT NULL], PushedFilters=[v >= 150], \
         partitions=1/2, files=2/3"
    );
    let none = "EXPLAIN FORMAT INDENT SELECT v FROM t WHERE d = '2025-01-01'";
    assert_eq!(
        scan_lines(&pair.pruned.rows(none).await, &pair.folder),
        "DataSourceExec: file_groups={1 group: [[]]}, projection=[v], file_type=parquet, \
         PartitionFilters=[d = 2025-01-01], PushedFilters=[], partitions=0/2, files=0/3"
    );
    let all = "EXPLAIN FORMAT INDENT SELECT v FROM t WHERE v = 7";
    let line = scan_lines(&pair.unpruned.rows(all).await, &pair.folder);
    assert!(
        line.ends_with("PartitionFilters=[], PushedFilters=[], partitions=2/2, files=3/3"),
        "{line}"
    );
}

#[tokio::test]
async fn the_tree_says_it_in_lines() {
    let folder = Folder::new();
    let Some(()) = write(&folder, FIRST) else { return };
    let pair = Pair::on(folder).await;
    let query = "EXPLAIN FORMAT TREE SELECT v FROM t WHERE d = '2024-01-02' AND v >= 150";
    let plan = pair.pruned.rows(query).await.join("\n");
    let scan: Vec<&str> = plan
        .lines()
        .skip_while(|line| !line.contains("DataSourceExec"))
        .skip(2)
        .take_while(|line| !line.contains('└'))
        .map(|line| line.trim_matches(|c: char| c == '│' || c.is_whitespace()))
        .collect();
    assert_eq!(
        scan,
        [
            "PartitionFilters:",
            "[d = 2024-01-02]",
            "",
            "PushedFilters:",
            "[v >= 150]",
            "",
            "files: 2/3",
            "format: parquet",
            "partitions: 1/2",
            "ranges of files: 2",
        ],
        "{plan}"
    );
}

#[tokio::test]
async fn totals_are_counted_anew_after_another_tool_has_been_there() {
    let folder = Folder::new();
    let Some(()) = write(&folder, FIRST) else { return };
    let pair = Pair::on(folder).await;
    let query = "SELECT v FROM t WHERE d = '2024-01-02' AND v < 1000";
    assert_eq!(pair.selected("partitions", query).await, "1/2");
    assert_eq!(pair.selected("files", query).await, "2/3");
    write(&pair.folder, &["d=2024-01-03/a.parquet", "d=2024-01-02/c.parquet"]);
    assert_eq!(pair.selected("partitions", query).await, "1/3");
    assert_eq!(pair.selected("files", query).await, "3/5");
    assert_eq!(pair.same(query).await.len(), 300);
    assert_eq!(pair.figure("files_read", query).await, 3);
    assert_eq!(pair.figure("rows_read", query).await, 300);
    assert_eq!(pair.figure("partitions_pruned", query).await, 2);
    std::fs::remove_dir_all(pair.folder.table("t").join("d=2024-01-01")).expect("removed");
    assert_eq!(pair.selected("partitions", query).await, "1/2");
    assert_eq!(pair.selected("files", "SELECT v FROM t").await, "4/4");
}
