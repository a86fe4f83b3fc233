//! The report of the mission: by hour and zone, update mode, into a table partitioned by month.

use partwise_stream::{OutputMode, TableSink};

use crate::kit::{Lab, REPORT, TO_THE_CENT, run};

#[tokio::test(flavor = "multi_thread")]
async fn the_streamed_report_is_the_batch_report_whatever_the_batch_size() {
    for per_trigger in [1, 7, 60] {
        let lab = Lab::new();
        lab.trips(60, per_trigger).await;
        let sink = TableSink::new(lab.path("report")).partition_by(["month"]);
        let writer = lab.query(REPORT, "report", OutputMode::Update).await.sink(sink);
        let query = run(writer).await.unwrap();
        let last = query.progress().unwrap();
        assert_eq!(last.batch + 1, 60_u64.div_ceil(per_trigger as u64));
        println!("{per_trigger} files a trigger: {last}");
        let streamed = lab.table(lab.path("report"), "report", TO_THE_CENT).await;
        assert_eq!(streamed, lab.expected().await, "{per_trigger} files a trigger");
        assert!(streamed.len() > 2_000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_go_on_where_the_last_run_ended() {
    let lab = Lab::new();
    lab.trips(4, 2).await;
    let sink = || TableSink::new(lab.path("report")).partition_by(["month"]);
    run(lab.query(REPORT, "report", OutputMode::Update).await.sink(sink())).await.unwrap();
    for file in 4..9 {
        let path = lab.path("landing").join(format!("{file:03}.parquet"));
        crate::kit::write_parquet(&path, &crate::kit::trips_of(file));
    }
    let query =
        run(lab.query(REPORT, "report", OutputMode::Update).await.sink(sink())).await.unwrap();
    let batches: Vec<u64> = query.history().iter().map(|progress| progress.batch).collect();
    assert_eq!(batches, [2, 3, 4]);
    let streamed = lab.table(lab.path("report"), "report", TO_THE_CENT).await;
    assert_eq!(streamed, lab.expected().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_nothing_new_runs_no_batch() {
    let lab = Lab::new();
    lab.trips(2, 2).await;
    let sink = || TableSink::new(lab.path("report")).partition_by(["month"]);
    run(lab.query(REPORT, "report", OutputMode::Update).await.sink(sink())).await.unwrap();
    let query =
        run(lab.query(REPORT, "report", OutputMode::Update).await.sink(sink())).await.unwrap();
    assert!(query.history().is_empty());
}
