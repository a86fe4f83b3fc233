//! The provider beside its scans.

use datafusion::prelude::SessionContext;
use partwise_commit::Location;
use partwise_table::{OpenOptions, PartwiseTable};

use crate::kit::{Tree, error, session};

#[tokio::test]
async fn nothing_there_is_no_table() {
    let tree = Tree::new();
    let context = SessionContext::new();
    let location = Location::local(tree.path());
    let opened = PartwiseTable::open(location, OpenOptions::default(), &context.state()).await;
    assert!(opened.unwrap().is_none());
}

#[tokio::test]
async fn statements_that_the_planner_would_mangle_are_errors() {
    let tree = Tree::new();
    tree.rows("p=1/f.parquet", 3);
    let context = session(tree.open().await);
    for sql in ["DELETE FROM t WHERE false", "DELETE FROM t", "UPDATE t SET v = 1 WHERE v = 2"] {
        let message = error(&context, sql).await;
        assert!(message.contains("run the statement through Partwise"), "{sql}: {message}");
    }
}

#[tokio::test]
async fn scans_tell_which_version_they_read() {
    let tree = Tree::new();
    tree.rows("p=1/f.parquet", 3);
    let table = tree.open().await;
    assert_eq!(table.version(), None);
    let context = session(table.clone());
    context.sql("SELECT * FROM t").await.unwrap().collect().await.unwrap();
    assert_eq!(table.reads().version(), None);
    assert!(!table.reads().is_torn());
}
