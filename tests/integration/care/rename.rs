//! RENAME TO, and who else uses the name.

use partwise::{ErrorKind, PartwiseContext};

use crate::support::Folder;
use crate::support::session::{Gave, Session};

const FILLED: &[&str] = &[
    "CREATE TABLE t (v INT, dt STRING) USING parquet PARTITIONED BY (dt)",
    "INSERT INTO t VALUES (1, 'd1'), (2, 'd2')",
    "INSERT OVERWRITE t VALUES (10, 'd1')",
];

async fn message(session: &Session, sql: &str) -> String {
    match session.all(&[sql]).await {
        Gave::Message(message) => message,
        other => panic!("{sql}: {other:?}"),
    }
}

#[tokio::test]
async fn rows_history_and_undo_go_along() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    session.all(FILLED).await;
    assert_eq!(
        message(&session, "ALTER TABLE t RENAME TO u").await,
        "t is u now, with its history"
    );
    assert_eq!(session.rows("SHOW TABLES").await, ["u"]);
    assert_eq!(session.rows("SELECT v FROM at('u', 2) ORDER BY v").await, ["1", "2"]);
    session.all(&["RESTORE TABLE u TO VERSION 2", "INSERT INTO u VALUES (3, 'd3')"]).await;
    assert_eq!(session.rows("SELECT sum(v) FROM u").await, ["6"]);
    let error = session.run("SELECT * FROM t").await.expect_err("no table");
    assert!(error.to_string().contains("'t' not found"), "{error}");
    session.all(&["CREATE TABLE t USING parquet AS SELECT 1 AS a"]).await;
    let error = session.run("ALTER TABLE u RENAME TO t").await.expect_err("taken");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("t is there already"), "{error}");
    assert_eq!(session.rows("SELECT count(*) FROM u").await, ["3"]);
}

#[tokio::test]
async fn what_is_no_table_of_the_lake_is_refused_or_known_by_another_name() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    session.all(FILLED).await;
    session.all(&["CREATE VIEW w AS SELECT 1 AS one"]).await;
    for (sql, said) in [
        ("ALTER TABLE nosuch RENAME TO u", "'nosuch' not found"),
        ("ALTER TABLE t RENAME TO w", "w is a table or view of this session"),
        ("ALTER TABLE w RENAME TO x", "w is a view"),
        ("ALTER TABLE t RENAME TO \"_t\"", "can't name a table"),
        ("ALTER TABLE t RENAME TO other.t", "the session's own schema"),
    ] {
        let error = session.run(sql).await.expect_err(sql);
        assert!(error.to_string().contains(said), "{sql}: {error}");
    }
    let said = message(&session, "ALTER TABLE IF EXISTS nosuch RENAME TO u").await;
    assert_eq!(said, "there is no table nosuch, nothing was done");
    let there = folder.table("t").display().to_string();
    session.all(&[&format!("CREATE EXTERNAL TABLE e STORED AS PARQUET LOCATION '{there}/'")]).await;
    message(&session, "ALTER TABLE e RENAME TO f").await;
    assert_eq!(session.rows("SELECT sum(v) FROM f").await, ["12"]);
    assert!(session.run("SELECT * FROM e").await.is_err());
    assert!(folder.table("t").is_dir());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_planned_before_says_that_the_files_are_gone() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    session.all(FILLED).await;
    let reader = PartwiseContext::open(folder.lake()).await.expect("a session");
    let frame = reader.sql("SELECT sum(v) FROM t").await.expect("a plan");
    let plan = frame.create_physical_plan().await.expect("a physical plan");
    session.all(&["ALTER TABLE t RENAME TO u"]).await;
    let task = reader.session().task_ctx();
    let error = datafusion::physical_plan::collect(plan, task).await.expect_err("gone");
    assert!(error.to_string().contains("lake/t"), "{error}");
}

#[test]
fn a_link_in_the_lake_is_not_renamed() {
    let folder = Folder::new();
    folder.sql("CREATE TABLE t USING parquet AS SELECT 1 AS a").ok();
    std::os::unix::fs::symlink(folder.table("t"), folder.table("l")).expect("a link");
    folder.sql("ALTER TABLE l RENAME TO m").fails(1, &["is a link"]);
    folder.sql("ALTER TABLE t RENAME TO m").ok();
    assert_eq!(folder.row("SELECT a FROM m"), "1");
}
