//! Hive trees made by other tools: opened and pruned without a log, and looked at anew.

mod explain;
mod nulls;
mod shapes;

use crate::support::Folder;
use crate::support::tree::tree;
use partwise_testkit::{python, run_python};

const MAKE: &str = "
import pyarrow as pa, pyarrow.dataset as ds, sys, datetime
t = pa.table({'v': list(range(100)), 'day': [f'2024-01-{d % 10 + 1:02d}' for d in range(100)],
  'm': [f'{d % 5:02d}' for d in range(100)]})
ds.write_dataset(t, sys.argv[1], format='parquet', partitioning=['day', 'm'], partitioning_flavor='hive')
";
const ADD: &str = "
import pyarrow as pa, pyarrow.parquet as pq, sys, os
os.makedirs(sys.argv[1] + '/day=2024-02-01/m=00')
pq.write_table(pa.table({'v': [1000]}), sys.argv[1] + '/day=2024-02-01/m=00/x.parquet')
";

#[test]
fn a_pyarrow_tree_opens_prunes_and_shows_what_is_added_later() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let table = folder.table("foreign");
    std::fs::create_dir_all(&table).expect("the lake");
    let path = table.display().to_string();
    run_python(&python, MAKE, &[&path]);
    let before = tree(folder.path());
    assert_eq!(folder.row("SELECT count(*), sum(v) FROM foreign"), "100,4950");
    let plan = folder.sql("EXPLAIN SELECT v FROM foreign WHERE day = DATE '2024-01-03'").ok().out;
    assert!(plan.contains("partitions=1/10"), "{plan}");
    assert_eq!(folder.row("SELECT count(*) FROM foreign WHERE day = DATE '2024-01-03'"), "10");
    assert_eq!(folder.row("SELECT count(*) FROM foreign WHERE m = '02'"), "20");
    assert!(before == tree(folder.path()), "reading writes nothing");
    run_python(&python, ADD, &[&path]);
    assert_eq!(folder.row("SELECT count(*), max(v) FROM foreign"), "101,1000");
    assert_eq!(folder.row("SELECT v FROM foreign WHERE day = DATE '2024-02-01'"), "1000");
}

#[test]
fn a_foreign_tree_is_overwritten_by_partition_and_keeps_the_rest() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let table = folder.table("foreign");
    std::fs::create_dir_all(&table).expect("the lake");
    run_python(&python, MAKE, &[&table.display().to_string()]);
    let others = || {
        let mut tree = tree(&table);
        tree.retain(|name, _| name.starts_with("day=") && !name.contains("2024-01-03"));
        tree
    };
    let before = others();
    folder
        .sql("INSERT OVERWRITE foreign PARTITION (day = DATE '2024-01-03', m = '02') SELECT 7")
        .ok();
    assert!(before == others());
    assert_eq!(
        folder.row("SELECT count(*), sum(v) FROM foreign WHERE day = DATE '2024-01-03'"),
        "1,7"
    );
}
