//! A job's runs: applied once, also by two at once and after another life of the directory.

use std::process::Stdio;

use crate::support::Folder;
use crate::support::tree::data_files;

const TABLE: &str = "CREATE TABLE t (v INT, p STRING) USING parquet PARTITIONED BY (p)";

/// A run of the job with its two inserts.
fn run(number: u64) -> String {
    format!(
        "SET partwise.job = 'nightly'; SET partwise.run = {number}; \
         INSERT INTO t VALUES (1, 'a'); INSERT OVERWRITE t VALUES ({number}, 'b')"
    )
}

fn rows(folder: &Folder) -> Vec<String> {
    folder.rows("SELECT v, p FROM t ORDER BY p, v")
}

#[test]
fn a_run_of_two_inserts_applies_both_once_however_often_it_comes() {
    let folder = Folder::new();
    folder.sql(TABLE).ok();
    for _ in 0..3 {
        folder.sql(&run(7)).ok();
        assert_eq!(rows(&folder), ["1,a", "7,b"]);
    }
    folder.sql(&run(8)).ok();
    assert_eq!(rows(&folder), ["1,a", "1,a", "8,b"]);
    // An older run that the log holds is found applied.
    folder.sql(&run(7)).ok();
    assert_eq!(rows(&folder), ["1,a", "1,a", "8,b"]);
}

#[test]
fn an_edited_statement_and_a_run_that_comes_late_are_errors_that_say_what_to_do() {
    let folder = Folder::new();
    folder.sql(&format!("{TABLE}; {}", run(7))).ok();
    folder
        .sql(&run(7).replace("(1, 'a')", "(2, 'a')"))
        .fails(3, &["nightly", "7", "another statement"]);
    folder.sql(&run(6)).fails(3, &["backfill", "nightly", "7"]);
    assert_eq!(rows(&folder), ["1,a", "7,b"]);
}

#[test]
fn what_a_restore_takes_back_is_applied_when_it_comes_again() {
    let folder = Folder::new();
    folder.sql(&format!("{TABLE}; {}", run(7))).ok();
    let said = folder.sql("RESTORE TABLE t TO VERSION 1").ok();
    let said = format!("{}{}", said.out, said.err);
    assert!(said.contains("nightly") && said.contains('7'), "{said}");
    assert!(rows(&folder).is_empty());
    folder.sql(&run(7)).ok();
    folder.sql(&run(7)).ok();
    assert_eq!(rows(&folder), ["1,a", "7,b"]);
    // Only the second of the two taken back: the first is there still.
    folder.sql("RESTORE TABLE t TO VERSION 5").ok();
    folder.sql(&run(7)).ok();
    assert_eq!(rows(&folder), ["1,a", "7,b"]);
}

#[test]
fn of_several_processes_with_one_run_one_applies_it() {
    let folder = Folder::new();
    folder.sql(TABLE).ok();
    let start = || {
        let mut command = folder.partwise();
        command.args(["-c", &run(7)]).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("the binary runs")
    };
    let all: Vec<_> = (0..4).map(|_| start()).collect();
    for one in all {
        let ended = one.wait_with_output().expect("it ends");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    assert_eq!(rows(&folder), ["1,a", "7,b"]);
    let applied = folder.rows("SELECT version FROM history('t') WHERE job = 'nightly'");
    assert_eq!(applied.len(), 2);
}

#[test]
fn in_another_life_of_the_directory_a_run_is_applied() {
    let folder = Folder::new();
    folder.sql(&format!("{TABLE}; {}", run(7))).ok();
    let table = folder.table("t");
    let file = data_files(&table).into_iter().find(|name| name.starts_with("p=a/"));
    let bytes = std::fs::read(table.join(file.expect("a file"))).expect("its bytes");

    // Another tool's rewrite of the whole directory.
    std::fs::remove_dir_all(&table).expect("the directory goes");
    std::fs::create_dir_all(table.join("p=x")).expect("a directory");
    std::fs::write(table.join("p=x/data_0.parquet"), bytes).expect("a file");
    assert_eq!(rows(&folder), ["1,x"]);
    folder.sql(&run(7)).ok();
    folder.sql(&run(7)).ok();
    assert_eq!(rows(&folder), ["1,a", "7,b", "1,x"]);

    // Removed, and made anew.
    std::fs::remove_dir_all(&table).expect("the directory goes");
    folder.sql(&format!("{TABLE}; {}", run(7))).ok();
    folder.sql(&run(7)).ok();
    assert_eq!(rows(&folder), ["1,a", "7,b"]);

    // Dropped, and made anew; removed with its log.
    folder.sql(&format!("DROP TABLE t PURGE; {TABLE}; {}", run(7))).ok();
    assert_eq!(rows(&folder), ["1,a", "7,b"]);
    std::fs::remove_dir_all(folder.lake()).expect("the lake goes");
    folder.sql(&format!("{TABLE}; {}", run(7))).ok();
    assert_eq!(rows(&folder), ["1,a", "7,b"]);
}
