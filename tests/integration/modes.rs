//! The four save modes, on a table of five rows.

use crate::support::Folder;
use crate::support::tree::tree;

const FIVE: &str =
    "SELECT * FROM (VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'b'), (5, 'c')) AS v (n, p)";

fn count(folder: &Folder) -> String {
    folder.row("SELECT count(*) FROM five")
}

#[test]
fn the_four_modes_give_five_ten_ten_an_error_and_five() {
    let folder = Folder::new();
    let create = format!("TABLE five USING parquet PARTITIONED BY (p) AS {FIVE}");
    folder.sql(&format!("CREATE {create}")).ok();
    assert_eq!(count(&folder), "5");
    folder.sql(&format!("INSERT INTO five {FIVE}")).ok();
    assert_eq!(count(&folder), "10");
    folder.sql("CREATE TABLE IF NOT EXISTS five USING parquet AS SELECT 1 / 0 AS n").ok();
    assert_eq!(count(&folder), "10", "the query isn't run");
    let before = tree(folder.path());
    folder.sql(&format!("CREATE {create}")).fails(1, &["lake/five"]);
    assert!(before == tree(folder.path()));
    folder.sql(&format!("CREATE OR REPLACE {create}")).ok();
    assert_eq!(count(&folder), "5");
}

#[test]
fn copy_has_the_same_modes_on_a_path() {
    let folder = Folder::new();
    let copy = |mode: &str| {
        format!(
            "COPY ({FIVE}) TO 'out/' STORED AS PARQUET PARTITIONED BY (p) OPTIONS ('mode' '{mode}')"
        )
    };
    let count = |folder: &Folder| folder.row("SELECT count(*) FROM 'out/'");
    folder.sql(&copy("error")).ok();
    assert_eq!(count(&folder), "5");
    assert_eq!(folder.row("SELECT count(*) FROM parquet.`out/`"), "5", "Spark's way to say a path");
    folder.sql(&copy("append")).ok();
    assert_eq!(count(&folder), "10");
    folder.sql(&copy("ignore")).ok();
    assert_eq!(count(&folder), "10");
    folder.sql(&copy("error")).fails(1, &["out"]);
    folder.sql(&copy("overwrite_partitions")).ok();
    assert_eq!(count(&folder), "5");
    folder.sql(&copy("overwrite")).ok();
    assert_eq!(count(&folder), "5");
    folder.sql(&copy("upsert")).fails(1, &["overwrite_partitions"]);
}

#[test]
fn dropping_a_lake_table_needs_purge() {
    let folder = Folder::new();
    folder.sql(&format!("CREATE TABLE five USING parquet PARTITIONED BY (p) AS {FIVE}")).ok();
    folder.sql("DROP TABLE five").fails(1, &["PURGE", "lake/five"]);
    assert_eq!(count(&folder), "5");
    folder.sql("DROP TABLE five PURGE").ok();
    assert!(!folder.table("five").exists());
    folder.sql("SELECT * FROM five").fails(1, &["five"]);
    folder.sql("DROP TABLE IF EXISTS five").ok();
    folder.sql(&format!("CREATE TABLE five USING parquet AS {FIVE}")).ok();
    assert_eq!(count(&folder), "5");
}

#[test]
fn both_or_replace_and_if_not_exists_are_an_error() {
    let folder = Folder::new();
    folder
        .sql("CREATE OR REPLACE TABLE IF NOT EXISTS t USING parquet AS SELECT 1 AS a")
        .fails(1, &["exclude each other"]);
}

#[test]
fn a_location_is_taken_over_with_the_declared_types_or_made() {
    let folder = Folder::new();
    let narrow = format!("SELECT CAST(n AS INT) AS n, p FROM ({FIVE}) AS five");
    folder.sql(&format!("COPY ({narrow}) TO 'there/' STORED AS PARQUET PARTITIONED BY (p)")).ok();
    let declared = "CREATE TABLE t (n BIGINT, p STRING) PARTITIONED BY (p) LOCATION 'there/'";
    let typed = "SELECT DISTINCT arrow_typeof(n) FROM t";
    assert_eq!(folder.row(&format!("{declared}; {typed}")), "Int64");
    folder
        .sql("CREATE TABLE t (n INT) LOCATION 'new/' OPTIONS ('compression' 'zstd(3)'); INSERT INTO t VALUES (1)")
        .ok();
    assert_eq!(folder.row("SELECT n FROM 'new/'"), "1");
    folder.sql("SELECT * FROM t").fails(1, &["'t' not found"]);
}

#[test]
fn a_table_of_the_session_is_opened_anew_for_each_statement() {
    let folder = Folder::new();
    folder.sql("COPY (SELECT 1 AS a) TO 'there/' STORED AS PARQUET").ok();
    let other = "COPY (SELECT 2 AS b, 'x' AS p) TO 'there/' STORED AS PARQUET PARTITIONED BY (p) \
                 OPTIONS ('mode' 'overwrite')";
    let out = folder.rows(&format!(
        "CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 'there/'; SELECT a FROM t; {other}; \
         SELECT b, p FROM t; DROP TABLE t"
    ));
    assert!(out.contains(&"2,x".to_owned()), "{out:?}");
    folder.sql("SELECT * FROM t").fails(1, &["'t' not found"]);
}
