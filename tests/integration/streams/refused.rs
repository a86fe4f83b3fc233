//! What can't be, each in plain words.

use super::{CLICKS, VIEWS, two_files};

#[test]
fn a_stream_is_read_by_queries_alone() {
    let folder = two_files();
    folder.sql("CREATE TABLE t (page STRING) USING parquet").ok();
    for (sql, words) in [
        ("SELECT * FROM clicks", "clicks is a stream, which has no end: START QUERY"),
        ("INSERT INTO t SELECT page FROM clicks", "clicks is a stream, which has no end"),
        ("CREATE TABLE u AS SELECT page FROM clicks", "clicks is a stream, which has no end"),
        ("INSERT INTO clicks VALUES (1, 'x', NULL)", "clicks is a stream: its rows come from"),
        ("DELETE FROM clicks WHERE page = 'x'", "clicks is a stream: its rows come from"),
        ("OPTIMIZE clicks", "clicks is a stream: its rows come from"),
        ("DROP TABLE clicks", "DROP STREAM clicks"),
        ("ALTER TABLE clicks RENAME TO c", "clicks is a stream"),
        ("CREATE STREAM clicks FROM RATE", "there is a stream clicks: CREATE OR REPLACE STREAM"),
        ("CREATE STREAM t FROM RATE", "there is a table or view t"),
        ("CREATE STREAM other.s FROM RATE", "leave the rest of the name out"),
        ("DROP STREAM t", "t is a table, not a stream"),
        ("DROP STREAM nosuch", "there is no stream nosuch"),
    ] {
        folder.sql(&format!("{CLICKS} {sql}")).fails(1, &[words]);
    }
    assert_eq!(folder.rows("SHOW TABLES"), ["t"]);
}

#[test]
fn a_source_or_sink_that_is_not_there_is_named_with_those_that_are() {
    let folder = two_files();
    folder.sql("CREATE STREAM s FROM PIGEONS").fails(1, &["FROM PIGEONS", "there are", "FILES"]);
    let into = |sink: &str| {
        format!("{CLICKS} START QUERY q CHECKPOINT 'ck/q' INTO {sink} AS SELECT page FROM clicks")
    };
    folder.sql(&into("PIGEONS")).fails(1, &["INTO PIGEONS", "there are", "TABLE"]);
    folder.sql(&into("TABLE")).fails(1, &["INTO TABLE lacks the table's name"]);
    folder.sql(&into("TABLE 'landing/*.csv'")).fails(1, &["is a view, a file or a glob"]);
    folder.sql(&into("TABLE clicks")).fails(1, &["clicks is a stream"]);
    folder.sql(&into("CONSOLE KEYS (page)")).fails(1, &["CONSOLE", "KEYS"]);
    folder.run(&["--lake", "none", "-c", &into("TABLE t")]).fails(1, &["LOCATION 'dir/'"]);
    folder.sql("CREATE TABLE t (page STRING) USING parquet").ok();
    folder.sql(&into("TABLE t LOCATION 'x/'")).fails(1, &["t lies in", "leave LOCATION out"]);
    let options = into("TABLE t OPTIONS ('compression' 'zstd(3)')");
    folder.sql(&options).fails(1, &["SET TBLPROPERTIES ('compression' = 'zstd(3)')"]);
    folder.sql("CREATE STREAM s FROM FILES 'nowhere/'").fails(1, &["nowhere"]);
    folder
        .sql("CREATE STREAM s FROM FILES 'landing/' OPTIONS ('colour' 'red')")
        .fails(1, &["colour", "max_files_per_trigger"]);
}

#[test]
fn what_a_query_can_not_promise_is_refused_with_the_reason() {
    let folder = two_files();
    let start = |mode: &str, select: &str| {
        format!(
            "{CLICKS} START QUERY q OUTPUT MODE {mode} CHECKPOINT 'ck/q' INTO TABLE t AS SELECT {select}"
        )
    };
    for (mode, select, words) in [
        ("append", "page, count(*) AS n FROM clicks GROUP BY 1", "tumble(ts, INTERVAL ..)"),
        ("complete", "page FROM clicks", "complete"),
        ("soon", "page FROM clicks", "append, update or complete"),
        ("append", "1 AS a", "reads no stream"),
        ("append", "page FROM clicks ORDER BY page", "ORDER BY"),
        ("append", "nosuch FROM clicks", "nosuch"),
        ("append", "page FROM nosuch", "table 'nosuch' not found"),
    ] {
        folder.sql(&start(mode, select)).fails(1, &[words]);
    }
    folder.sql(&format!("{CLICKS} EXPLAIN {VIEWS}")).fails(1, &["START QUERY has no plan"]);
    let far = VIEWS.replace("ck/views/", "s3://bucket/ck");
    folder.sql(&format!("{CLICKS} {far}")).fails(1, &["a checkpoint lies on a local disk"]);
    assert!(!folder.table("t").exists());
}

#[test]
fn a_checkpoint_is_of_one_query_and_a_table_of_one_checkpoint() {
    let folder = two_files();
    folder.sql(&format!("{CLICKS} {VIEWS}")).ok();
    let another = VIEWS.replace("QUERY views", "QUERY other");
    folder
        .sql(&format!("{CLICKS} {another}"))
        .fails(3, &["belongs to the query views, not to other"]);
    let changed = VIEWS.replace("count(*)", "count(user_id)");
    folder.sql(&format!("{CLICKS} {changed}")).fails(3, &["has changed since its checkpoint"]);
    let anew = VIEWS.replace("ck/views/", "ck/anew/");
    folder.sql(&format!("{CLICKS} {anew}")).fails(3, &["with another checkpoint", "another name"]);
    folder.sql("DROP CHECKPOINT 'landing/'").fails(1, &["landing/ is no checkpoint"]);
    folder.sql("DROP TABLE views PURGE").ok();
    folder.sql(&format!("{CLICKS} {VIEWS}")).fails(3, &["lacks batch 1 of views"]);
}

#[test]
fn a_query_nobody_started_is_not_waited_for() {
    let folder = two_files();
    folder.sql("AWAIT QUERY nosuch").fails(1, &["no query nosuch was started in this session"]);
    folder.sql("STOP QUERY nosuch").fails(1, &["START QUERY"]);
    let sql = format!("{CLICKS} {VIEWS} AWAIT QUERY veiws");
    folder.sql(&sql).fails(1, &["no query veiws was started in this session; there is views"]);
    folder.sql("SELECT * FROM query_history('nosuch')").fails(1, &["no query nosuch"]);
}
