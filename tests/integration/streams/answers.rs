//! Answers that are the batch query's, or an error: whatever the files and the batches are.

use super::{CLICKS, landed, two_files};
use crate::support::Folder;

/// A folder with files of JSON in `in/`, a text each.
fn json(files: &[&str]) -> Folder {
    let folder = landed(&[]);
    std::fs::create_dir(folder.path().join("in")).expect("a folder");
    for (number, text) in files.iter().enumerate() {
        std::fs::write(folder.path().join(format!("in/{number}.json")), text).expect("a file");
    }
    folder
}

const STREAM: &str = "CREATE STREAM s (k STRING, x INT, v INT) FROM FILES 'in/' \
     OPTIONS ('format' 'json', 'max_files_per_trigger' '1');";

fn query(mode: &str, into: &str, select: &str) -> String {
    format!(
        "{STREAM} START QUERY q OUTPUT MODE {mode} CHECKPOINT 'ck/q' INTO {into} AS {select}; \
         AWAIT QUERY q;"
    )
}

#[test]
fn aggregates_in_an_order_have_it_and_others_see_rows_as_they_came() {
    let folder = json(&[
        "{\"k\":\"a\",\"x\":5,\"v\":50}\n{\"k\":\"a\",\"x\":2,\"v\":20}\n{\"k\":\"a\",\"x\":1,\"v\":10}",
        "{\"k\":\"a\",\"x\":6,\"v\":60}\n{\"k\":\"a\",\"x\":4,\"v\":40}\n{\"k\":\"a\",\"x\":3,\"v\":30}",
    ]);
    let ordered = "SELECT k, nth_value(v, 4 ORDER BY x) AS fourth, nth_value(v, 3 ORDER BY x) AS third \
         FROM s GROUP BY k";
    let sql = format!("{} SELECT * FROM m", query("complete", "MEMORY m", ordered));
    assert_eq!(folder.row(&sql), "a,40,30");
    let as_they_came = "SELECT k, first_value(v) AS first, last_value(v) AS last, \
         array_to_string(array_agg(v), ' ') AS all FROM s GROUP BY k";
    let sql = format!("{} SELECT * FROM m", query("complete", "MEMORY m", as_they_came));
    assert_eq!(folder.row(&sql.replace("ck/q", "ck/r")), "a,50,30,50 20 10 60 40 30");
}

#[test]
fn a_file_with_other_columns_is_refused_and_moved_out_of_the_way() {
    let folder = two_files();
    let odd = folder.path().join("landing/0b.csv");
    std::fs::write(&odd, "page,user_id,ts\nhome,9,2024-01-01 00:02:00\n").expect("a file");
    let start = format!(
        "{CLICKS} START QUERY q CHECKPOINT 'ck/q' INTO TABLE t AS SELECT user_id, page FROM clicks; \
         AWAIT QUERY q"
    );
    let words = ["landing/0b.csv", "(page, user_id, ts)", "(user_id, page, ts)", "move the file"];
    folder.sql(&start).fails(1, &words);
    std::fs::remove_file(&odd).expect("a file");
    folder.sql(&start).ok();
    assert_eq!(folder.row("SELECT count(*), sum(user_id) FROM t"), "4,7");
}

#[test]
fn a_file_that_can_not_be_read_is_mended_and_read() {
    let folder = json(&["{\"k\":\"a\",\"v\":1}", "{\"k\":\"a\",\"v\":\"one\"}"]);
    let sql = query("update", "TABLE t", "SELECT k, sum(v) AS v FROM s GROUP BY k");
    let words = ["in/1.json can't be read: ", "one", "mend the file or move it out of the folder"];
    folder.sql(&sql).fails(1, &words);
    std::fs::write(folder.path().join("in/1.json"), "{\"k\":\"a\",\"v\":2}").expect("a file");
    folder.sql(&sql).ok();
    assert_eq!(folder.row("SELECT * FROM t"), "a,3");
}

#[test]
fn numbers_that_a_declared_column_can_not_hold_are_an_error() {
    let folder = landed(&[]);
    folder.sql("COPY (SELECT 3.7 AS a) TO 'in/1.parquet'").ok();
    let sql = "CREATE STREAM s (a INT) FROM FILES 'in/'; START QUERY q CHECKPOINT 'ck/q' INTO TABLE t \
         AS SELECT a FROM s; AWAIT QUERY q";
    folder.sql(sql).fails(1, &["a", "Float64"]);
}

#[test]
fn rows_that_an_update_would_leave_behind_are_refused() {
    let folder = json(&["{\"k\":\"a\",\"v\":5}", "{\"k\":\"a\",\"v\":-9}"]);
    let having = "SELECT k, sum(v) AS v FROM s GROUP BY k HAVING sum(v) > 0";
    folder.sql(&query("update", "TABLE t", having)).fails(3, &["HAVING", "complete"]);
    let keys =
        query("update", "TABLE t KEYS (k)", "SELECT k, v, count(*) AS n FROM s GROUP BY k, v");
    folder.sql(&keys).fails(3, &["KEYS (k)", "several groups"]);
    assert!(!folder.table("t").exists());
    let sql = format!("{} SELECT * FROM m", query("complete", "MEMORY m", having));
    assert_eq!(folder.rows(&sql), [""; 0]);
}

#[test]
fn a_checkpoint_with_a_gap_is_told_and_one_without_batches_is_corrected() {
    let folder = json(&["{\"k\":\"a\",\"v\":5}", "{\"k\":\"a\",\"v\":7}"]);
    let wrong =
        query("update", "TABLE t PARTITIONED BY (n)", "SELECT k, count(*) AS n FROM s GROUP BY k");
    folder.sql(&wrong).fails(1, &["partition column n"]);
    let sql = query("update", "TABLE t", "SELECT k, sum(v) AS v FROM s GROUP BY k");
    folder.sql(&sql).ok();
    std::fs::remove_file(folder.path().join("ck/q/offsets/1")).expect("the offsets");
    folder.sql(&sql).fails(1, &["lacks offsets/1"]);
    assert_eq!(folder.row("SELECT * FROM t"), "a,12");
}
