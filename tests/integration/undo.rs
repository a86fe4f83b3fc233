//! RESTORE and the table as it was, on the report: to the cent.

use crate::support::Folder;
use crate::support::job::*;
use crate::support::tree::staged;

const AT_TOTALS: &str =
    "SELECT count(*), sum(trips), CAST(sum(revenue) AS DECIMAL(18, 2)) FROM at('report', ?)";

fn totals_at(folder: &Folder, version: &str) -> String {
    folder.row(&AT_TOTALS.replace('?', version))
}

/// The February file over its month and two others, by a job, with the guard off.
fn bad_overwrite() -> String {
    format!(
        "SET partwise.job = 'nightly'; SET partwise.run = 20240301; SET partwise.max_shrink = 1; \
         INSERT OVERWRITE report {}",
        february_file_rows()
    )
}

#[test]
fn after_a_bad_overwrite_and_other_columns_the_report_comes_back_to_the_cent() {
    let folder = reported();
    folder.sql(&bad_overwrite()).ok();
    let bad = folder.row(TOTALS);
    assert_ne!(bad, published_totals());
    let said = folder.sql("RESTORE TABLE report TO VERSION 1").ok();
    let said = format!("{}{}", said.out, said.err);
    assert!(said.contains("took back nightly run 20240301"), "{said}");
    assert_eq!(folder.row(TOTALS), published_totals());

    folder
        .sql(
            "CREATE OR REPLACE TABLE report USING parquet PARTITIONED BY (a) AS \
             SELECT 1 AS a, 'x' AS revenue_text",
        )
        .ok();
    assert_eq!(folder.row("SELECT * FROM report"), "1,x");
    folder.sql("RESTORE TABLE report TO VERSION 3").ok();
    assert_eq!(folder.row(TOTALS), published_totals());

    // Twice in a row: the bad one, and the good one again.
    folder.sql("RESTORE TABLE report TO VERSION 2").ok();
    assert_eq!(folder.row(TOTALS), bad);
    folder.sql("RESTORE TABLE report TO VERSION 1; RESTORE TABLE report TO VERSION 1").ok();
    assert_eq!(folder.row(TOTALS), published_totals());
    assert!(staged(&folder.lake()).is_empty());

    let months = "SELECT pickup_month, rows FROM partitions('report') ORDER BY 1";
    assert_eq!(folder.rows(months).len(), 3);
    let versions = [
        ("1", published_totals()),
        ("2", bad.clone()),
        ("3", published_totals()),
        ("5", published_totals()),
        ("6", bad.clone()),
        ("7", published_totals()),
    ];
    for (version, totals) in versions {
        assert_eq!(totals_at(&folder, version), totals, "version {version}");
    }
    assert_eq!(folder.row("SELECT * FROM at('report', 4)"), "1,x");
    let jobs = folder.rows("SELECT version, job, run FROM history('report') WHERE job IS NOT NULL");
    assert_eq!(jobs, ["2,nightly,20240301"]);
    let operations = folder.rows("SELECT operation FROM history('report') ORDER BY version");
    assert_eq!(operations[..5], ["replace", "overwrite", "restore", "replace", "restore"]);
    every_time_gives_its_version(&folder);
}

/// `at` by the time of each version, and in between.
fn every_time_gives_its_version(folder: &Folder) {
    let times = folder.rows(
        "SELECT CAST(time AS VARCHAR) FROM history('report') WHERE version <= 3 ORDER BY version",
    );
    for (time, version) in times.iter().zip(["1", "2", "3"]) {
        let time = time.trim_matches('"').trim_end_matches('Z').replace('T', " ");
        let at = totals_at(folder, &format!("TIMESTAMP '{time}'"));
        assert_eq!(at, totals_at(folder, version), "{time}");
    }
    folder
        .sql("SELECT * FROM at('report', TIMESTAMP '2001-01-01')")
        .fails(1, &["report", "2001-01-01"]);
}

#[test]
fn past_the_retention_it_says_why_it_cannot() {
    for (options, set) in [
        ("OPTIONS ('retention' '0')", ""),
        ("OPTIONS ('Retention' '0 seconds')", ""),
        ("", "SET partwise.retention = '0'; "),
    ] {
        let folder = Folder::new();
        folder
            .sql(&format!(
                "{set}CREATE TABLE t (v INT, p STRING) USING parquet PARTITIONED BY (p) {options}; \
                 INSERT INTO t VALUES (1, 'a'); INSERT OVERWRITE t VALUES (2, 'a'); \
                 INSERT OVERWRITE t VALUES (3, 'a')"
            ))
            .ok();
        let restore = folder.sql("RESTORE TABLE t TO VERSION 2");
        restore.fails(1, &["version 2", "retention"]);
        folder.sql("SELECT * FROM at('t', 2)").fails(1, &["version 2", "retention"]);
        assert_eq!(folder.row("SELECT * FROM t"), "3,a");
    }
}
