//! Statements that change rows while others do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use partwise::ErrorKind;

use crate::support::Folder;
use crate::support::session::Session;

/// Runs a statement until nobody comes in between.
async fn insist(session: &Session, statement: &str) {
    loop {
        match session.run(statement).await {
            Ok(_) => return,
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            Err(error) => panic!("{statement}: {error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_is_lost_among_others_of_the_same_rows() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    session
        .all(&[
            "CREATE TABLE t (k INT, v INT, p STRING) USING parquet PARTITIONED BY (p)",
            "INSERT INTO t VALUES (1, 0, 'a'), (2, 0, 'b'), (3, 0, 'b')",
        ])
        .await;
    let statements = [
        "UPDATE t SET v = v + 1 WHERE k < 3",
        "MERGE INTO t USING (SELECT 3 AS k) AS s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = t.v + 1",
        "INSERT INTO t VALUES (9, 0, 'b')",
    ];
    let writers: Vec<_> = statements
        .map(|statement| {
            let lake = folder.lake();
            tokio::spawn(async move {
                let session = Session::at(&lake).await;
                for _ in 0..4 {
                    insist(&session, statement).await;
                }
            })
        })
        .into_iter()
        .collect();
    for writer in writers {
        writer.await.expect("a writer that ends");
    }
    let rows = session.rows("SELECT k, max(v), count(*) FROM t GROUP BY k ORDER BY k").await;
    assert_eq!(rows, ["1|4|1", "2|4|1", "3|4|1", "9|0|4"]);
}

/// Reading takes longer than the pauses between small writes: the last attempt keeps them off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_change_gets_through_beside_steady_small_writes() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    session
        .all(&[
            "CREATE TABLE t (k BIGINT, v INT, p STRING) USING parquet PARTITIONED BY (p)",
            "INSERT INTO t SELECT value, 0, 'a' FROM generate_series(1, 300000)",
        ])
        .await;
    let done = Arc::new(AtomicBool::new(false));
    let (lake, ends) = (folder.lake(), Arc::clone(&done));
    let writer = tokio::spawn(async move {
        let session = Session::at(&lake).await;
        let mut written = 0;
        while !ends.load(Ordering::Relaxed) {
            session.all(&["INSERT INTO t VALUES (0, 0, 'b')"]).await;
            written += 1;
        }
        written
    });
    session.all(&["UPDATE t SET v = 1 WHERE k % 2 = 1", "DELETE FROM t WHERE k % 3 = 1"]).await;
    done.store(true, Ordering::Relaxed);
    let written: usize = writer.await.expect("a writer that ends");
    let rows = session.rows("SELECT p, count(*), sum(v) FROM t GROUP BY p ORDER BY p").await;
    assert_eq!(rows, ["a|200000|100000".to_owned(), format!("b|{written}|0")]);
}
