//! A batch that runs again: the table stays as it is.

use deltalake::checkpoints::create_checkpoint;
use partwise_stream::ErrorKind::Refused;
use partwise_stream::OutputMode::Append;

use crate::kit::{Lab, copy_folder, forget_last_commit, run};
use crate::modes::PAIRS;

const ROWS: &str = "SELECT ts, zone, price, tag FROM trips";

#[tokio::test(flavor = "multi_thread")]
async fn the_last_batch_and_older_ones_are_in_once() {
    for (sql, mode) in PAIRS {
        let lab = Lab::with_trips(8).await;
        let writer = async || lab.query(sql, "q", mode).await.sink(lab.sink("t"));
        run(writer().await).await.unwrap();
        let (rows, version) = (lab.rows("t").await, lab.table("t").await.version());
        for _ in 0..2 {
            assert_eq!(forget_last_commit(&lab.path("ck-q")), 3);
            let query = run(writer().await).await.unwrap();
            let replay = query.progress().unwrap();
            assert_eq!((replay.batch, replay.output_rows), (3, None), "{sql}");
            assert_eq!(lab.rows("t").await, rows, "{sql}");
        }
        assert_eq!(lab.table("t").await.version(), version, "a version for nothing: {sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn older_batches_are_found_in_the_log() {
    let lab = Lab::with_trips(8).await;
    let writer = async || lab.query(ROWS, "q", Append).await.sink(lab.sink("t"));
    run(writer().await).await.unwrap();
    let rows = lab.rows("t").await;
    for _ in 0..3 {
        forget_last_commit(&lab.path("ck-q"));
    }
    let query = run(writer().await).await.unwrap();
    let again: Vec<_> = query.history().iter().map(|b| (b.batch, b.output_rows)).collect();
    assert_eq!(again, [(1, None), (2, None), (3, None)]);
    assert_eq!(lab.rows("t").await, rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_table_holds_outlives_its_log() {
    let lab = Lab::with_trips(8).await;
    let writer = async || lab.query(ROWS, "q", Append).await.sink(lab.sink("t"));
    run(writer().await).await.unwrap();
    let rows = lab.rows("t").await;
    create_checkpoint(&lab.table("t").await, None).await.unwrap();
    for entry in std::fs::read_dir(lab.path("t/_delta_log")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "json") {
            std::fs::remove_file(path).unwrap();
        }
    }
    forget_last_commit(&lab.path("ck-q"));
    let query = run(writer().await).await.unwrap();
    assert_eq!(query.progress().unwrap().output_rows, None);
    assert_eq!(lab.rows("t").await, rows);
    forget_last_commit(&lab.path("ck-q"));
    forget_last_commit(&lab.path("ck-q"));
    let error = run(writer().await).await.unwrap_err();
    assert_eq!(error.kind(), Refused);
    assert!(error.to_string().contains("older than what it remembers"), "{error}");
    assert_eq!(lab.rows("t").await, rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_batch_with_other_input_is_refused_also_an_older_one() {
    for later in [0, 2] {
        let lab = Lab::with_trips(2).await;
        let writer = async || lab.query(ROWS, "q", Append).await.sink(lab.sink("t"));
        run(writer().await).await.unwrap();
        copy_folder(&lab.path("ck-q"), &lab.path("old"));
        lab.land(2..4);
        run(writer().await).await.unwrap();
        lab.land(4..4 + later);
        run(writer().await).await.unwrap();
        let rows = lab.rows("t").await;
        std::fs::remove_dir_all(lab.path("ck-q")).unwrap();
        copy_folder(&lab.path("old"), &lab.path("ck-q"));
        std::fs::remove_file(lab.path("landing/002.parquet")).unwrap();
        lab.land(8..9);
        let error = run(writer().await).await.unwrap_err();
        assert_eq!(error.kind(), Refused, "{error}");
        assert!(error.to_string().contains("with other input"), "{error}");
        assert_eq!(lab.rows("t").await, rows);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_fails_in_the_middle_leaves_the_table_as_it_was() {
    let lab = Lab::with_trips(2).await;
    let fine = "SELECT 100 / 1 AS share, zone FROM trips";
    run(lab.query(fine, "fine", Append).await.sink(lab.sink("t"))).await.unwrap();
    let (rows, version) = (lab.rows("t").await, lab.table("t").await.version());
    let costly = "SELECT 100 / (CASE WHEN price > 11 AND zone = 8 THEN 0 ELSE 1 END) AS share, zone \
                  FROM trips";
    let failing = lab.query(costly, "fails", Append).await.sink(lab.sink("t"));
    let error = run(failing).await.unwrap_err().to_string();
    assert!(error.contains("Divide by zero"), "{error}");
    assert_eq!(lab.rows("t").await, rows);
    assert_eq!(lab.table("t").await.version(), version);
}
