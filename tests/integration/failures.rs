//! Statements that fail leave the table and its directory byte for byte as they were.

use std::fs;

use crate::support::job::{ALL_FILES, TOTALS, reported};
use crate::support::tree::{staged, tree};
use crate::support::{Folder, quarter, ran};

/// Runs a statement that must fail with these words; nothing may have changed.
fn fails_untouched(folder: &Folder, sql: &str, words: &[&str]) {
    let before = tree(&folder.table("report"));
    let total = folder.row(TOTALS);
    folder.sql(sql).fails(1, words);
    assert!(before == tree(&folder.table("report")), "{sql} changed the directory");
    assert_eq!(folder.row(TOTALS), total);
    assert!(staged(&folder.lake()).is_empty(), "{sql} left {:?}", staged(&folder.lake()));
}

const LATE: &str = "SELECT zone, pickup_hour, trips / (CASE WHEN n = 1 THEN 0 ELSE 1 END) AS trips, \
    revenue, pickup_month FROM (SELECT *, row_number() OVER (ORDER BY pickup_hour DESC) AS n FROM report)";

#[test]
fn a_division_by_zero_in_the_last_rows_changes_nothing_in_any_mode() {
    let folder = reported();
    for write in [
        "INSERT INTO report",
        "INSERT OVERWRITE report",
        "INSERT OVERWRITE report PARTITION (pickup_month)",
        "SET partwise.partition_overwrite_mode = 'static'; INSERT OVERWRITE report",
        "CREATE OR REPLACE TABLE report USING parquet PARTITIONED BY (pickup_month) AS",
    ] {
        fails_untouched(&folder, &format!("{write} {LATE}"), &["ivide by zero"]);
    }
}

#[test]
fn a_missing_directory_is_named() {
    let folder = reported();
    fails_untouched(&folder, "INSERT OVERWRITE report SELECT * FROM 'nosuch/'", &["nosuch/"]);
    let glob = "INSERT OVERWRITE report SELECT * FROM 'nosuch/y*.parquet'";
    fails_untouched(&folder, glob, &["nosuch/y*.parquet"]);
    fails_untouched(&folder, "INSERT INTO report SELECT * FROM nosuch", &["nosuch"]);
    fails_untouched(&folder, "INSERT INTO nosuch SELECT 1", &["nosuch", "report"]);
}

#[test]
fn a_truncated_parquet_file_is_named() {
    let folder = reported();
    let file = quarter().join("yellow_tripdata_2024-01.parquet");
    let whole = fs::read(file).expect("January");
    let raw = folder.path().join("raw");
    fs::create_dir(&raw).expect("a folder");
    fs::write(raw.join("broken.parquet"), &whole[..whole.len() / 2]).expect("half of January");
    for from in ["raw/broken.parquet", "raw/*.parquet", "raw/"] {
        let sql = format!("INSERT OVERWRITE report SELECT * FROM '{from}'");
        fails_untouched(&folder, &sql, &["broken.parquet"]);
    }
}

#[test]
fn an_unknown_column_and_a_wrong_type_are_named() {
    let folder = reported();
    let unknown = format!("INSERT OVERWRITE report SELECT nosuch FROM '${{data}}/{ALL_FILES}'");
    fails_untouched(&folder, &unknown, &["nosuch"]);
    let wrong = "INSERT INTO report SELECT pickup_month, pickup_hour, trips, revenue, pickup_month \
                 FROM report";
    fails_untouched(&folder, wrong, &["zone", "CAST"]);
    fails_untouched(&folder, "INSERT INTO report SELECT 1, 2", &["2 columns", "pickup_hour"]);
    let literal = "INSERT INTO report VALUES ('x', NULL, 1, 1.0, '2024-01')";
    let by_position = "(zone, pickup_hour, trips, revenue, pickup_month): INSERT .. BY NAME";
    fails_untouched(&folder, literal, &["x", by_position]);
}

#[test]
fn what_a_partition_clause_can_not_mean_is_refused() {
    let folder = reported();
    for (clause, word) in [
        ("pickup_month = '2024-01', pickup_month = '2024-02'", "twice"),
        ("pickup_month = ''", "NULL"),
        ("pickup_month = '__HIVE_DEFAULT_PARTITION__'", "NULL"),
        ("nosuch = 1", "nosuch"),
        ("zone = 1", "not a partition column"),
    ] {
        let sql = format!("INSERT OVERWRITE report PARTITION ({clause}) SELECT 1, NULL, 1, 1.0");
        fails_untouched(&folder, &sql, &[word]);
    }
}

#[test]
fn a_script_that_fails_names_its_file_and_line() {
    let folder = Folder::new();
    fs::write(folder.path().join("job.sql"), "SELECT 1;\n\nSELECT nosuch;\nSELECT 2;\n")
        .expect("a script");
    let ran = folder.run(&["-f", "job.sql"]).fails(1, &["job.sql:3", "nosuch"]);
    assert!(ran.out.contains('1') && !ran.out.contains('2'), "{}", ran.out);
}

#[test]
fn a_commit_whose_line_can_not_be_printed_is_told_from_a_failure() {
    let folder = reported();
    let insert = "INSERT INTO report SELECT * FROM report LIMIT 1";
    for format in ["table", "json"] {
        let full = fs::File::options().write(true).open("/dev/full").expect("a full device");
        let mut command = folder.partwise();
        command.args(["--format", format, "-c", insert]).stdout(full);
        let version = folder.row("SELECT max(version) + 1 FROM history('report')");
        let words: &[&str] = &["the statement was done", &format!("version {version}: ")];
        ran(command.output().expect("the binary runs")).fails(1, words);
    }
}

#[test]
fn bad_usage_exits_with_two() {
    let folder = Folder::new();
    folder.run(&["--format", "xml", "-c", "SELECT 1"]).fails(2, &["xml"]);
    folder.run(&["-c", "SELECT ${day}"]).fails(2, &["--set day="]);
}

#[test]
fn a_path_that_holds_or_lies_in_other_tables_is_not_written_or_read_as_one() {
    let folder = reported();
    let inside = folder.table("report").join("pickup_month=2024-01");
    for target in ["lake/".to_owned(), inside.display().to_string()] {
        let words: &[&str] = &["table"];
        let copy = format!(
            "COPY (SELECT 1 AS a) TO '{target}' STORED AS PARQUET OPTIONS ('mode' 'overwrite')"
        );
        fails_untouched(&folder, &copy, words);
        let replace = format!("CREATE OR REPLACE TABLE x LOCATION '{target}' AS SELECT 1 AS a");
        fails_untouched(&folder, &replace, words);
    }
    fails_untouched(&folder, "SELECT * FROM 'lake/'", &["folder of tables"]);
    fails_untouched(
        &folder,
        "COPY (SELECT 1) TO 'hdfs://b/t/' STORED AS PARQUET",
        &["s3://bucket/prefix"],
    );
    folder.run(&["--lake", "hdfs://b/", "-c", "SELECT 1"]).fails(1, &["s3://bucket/prefix"]);
}

#[test]
fn a_name_of_another_schema_or_a_link_does_not_reach_the_table() {
    let folder = reported();
    fails_untouched(&folder, "CREATE OR REPLACE TABLE other.report AS SELECT 1 AS a", &["schema"]);
    fails_untouched(&folder, "DROP TABLE other.report PURGE", &["schema"]);
    let link = folder.table("linked");
    std::os::unix::fs::symlink(folder.table("report"), link).expect("a link");
    fails_untouched(&folder, "DROP TABLE linked PURGE", &["link"]);
}

#[test]
fn a_literal_that_would_lose_something_is_refused() {
    let folder = reported();
    let insert = |row: &str| format!("INSERT INTO report VALUES ({row})");
    for row in ["1.5, NULL, 1, 1.0, '2024-01'", "1, '2024-01-01 00:00:00.123456789', 1, 1.0, 'x'"] {
        fails_untouched(&folder, &insert(row), &[]);
    }
}
