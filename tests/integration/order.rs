//! A query's ORDER BY is the order of the rows in each file, whatever the write goes through.

use std::fs::File;
use std::path::Path;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::support::Folder;

/// Rows in no order: `v` is each number below 60,000 once.
const SHUFFLED: &str = "SELECT (value * 7919) % 60000 AS v, value % 60 AS p, repeat('x', 200) AS s \
                        FROM range(60000)";

/// The first column of each file of a table, file by file.
fn files(dir: &Path) -> Vec<Vec<i64>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "parquet") {
            found.push(values(&path));
        }
    }
    found
}

fn values(path: &Path) -> Vec<i64> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("a file"));
    let reader = reader.expect("Parquet").build().expect("a reader");
    let first = |batch: RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().to_vec();
    reader.flat_map(|batch| first(batch.expect("rows"))).collect()
}

fn falls_in_every_file(folder: &Folder, table: &str, rows: usize) {
    let files = files(&folder.table(table));
    assert_eq!(files.iter().map(Vec::len).sum::<usize>(), rows, "{table}");
    for file in files {
        assert!(file.is_sorted_by(|a, b| a > b), "{table}");
    }
}

#[test]
fn each_file_is_in_the_order_of_the_query_beyond_the_open_files_too() {
    let folder = Folder::new();
    for (name, options) in [
        ("plain", "'compression' 'none'"),
        ("few_writers", "'max_open_writers' '4'"),
        ("small_buffer", "'write_buffer_size' '1 MB', 'max_open_writers' '2'"),
        ("each_task", "'distribution' 'none'"),
        ("many_files", "'max_rows_per_file' '300'"),
    ] {
        let create =
            format!("CREATE TABLE {name} USING parquet PARTITIONED BY (p) OPTIONS ({options})");
        folder.sql(&format!("{create} AS {SHUFFLED} ORDER BY v DESC")).ok();
        falls_in_every_file(&folder, name, 60_000);
    }
}

#[test]
fn a_sort_that_spills_keeps_the_order() {
    let folder = Folder::new();
    let create = "CREATE TABLE t USING parquet PARTITIONED BY (p) AS";
    let rows = SHUFFLED.replace("range(60000)", "range(600000)");
    let sql = format!("EXPLAIN ANALYZE {create} {rows} ORDER BY v DESC");
    let ran = folder.run(&["--memory-limit", "150m", "-c", &sql]).ok();
    let spilled = ran.out.split("spill_count=").skip(1).any(|rest| !rest.starts_with('0'));
    assert!(spilled, "{}", ran.out);
    for file in files(&folder.table("t")) {
        assert!(file.is_sorted_by(|a, b| a >= b));
    }
    assert_eq!(folder.row("SELECT count(*) FROM t"), "600000");
}

#[test]
fn little_memory_makes_no_more_files_and_too_little_says_what_to_raise() {
    let folder = Folder::new();
    let reserve = "SET datafusion.execution.sort_spill_reservation_bytes = 1000000";
    let create = |table: &str| {
        format!(
            "CREATE TABLE {table} USING parquet PARTITIONED BY (p) AS SELECT value AS v, random() AS r, \
             repeat('x', 100) AS s, value % 3 AS p FROM range(400000) ORDER BY v DESC"
        )
    };
    folder.run(&["--memory-limit", "48m", "-c", reserve, "-c", &create("some")]).ok();
    assert_eq!(files(&folder.table("some")).len(), 3);
    falls_in_every_file(&folder, "some", 400_000);
    let none = folder.run(&["--memory-limit", "8m", "-c", &create("none")]);
    none.fails(1, &["raise it, --memory-limit"]);
}

#[test]
fn a_limit_takes_the_first_rows_of_the_order() {
    let folder = Folder::new();
    let create = "CREATE TABLE t USING parquet PARTITIONED BY (p) AS";
    folder.sql(&format!("{create} {SHUFFLED} ORDER BY v DESC LIMIT 1000")).ok();
    falls_in_every_file(&folder, "t", 1000);
    assert_eq!(folder.row("SELECT min(v), max(v) FROM t"), "59000,59999");
}

#[test]
fn copy_keeps_the_order_and_a_query_without_one_is_not_sorted() {
    let folder = Folder::new();
    let copy = "TO 'lake/out/' STORED AS PARQUET PARTITIONED BY (p)";
    folder.sql(&format!("COPY ({SHUFFLED} ORDER BY v DESC) {copy}")).ok();
    falls_in_every_file(&folder, "out", 60_000);
    let plan = folder.sql(&format!("EXPLAIN COPY ({SHUFFLED}) TO 'lake/other/' STORED AS PARQUET"));
    assert!(!plan.ok().out.contains("SortExec"));
}
