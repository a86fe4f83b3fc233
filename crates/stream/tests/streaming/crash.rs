//! A stop between any two steps, then a restart: the answer is the batch answer.

use partwise_stream::{OutputMode, Step, TableSink};

use crate::kit::{Lab, REPORT, TO_THE_CENT, run, until_done};

#[tokio::test(flavor = "multi_thread")]
async fn an_update_stopped_anywhere_ends_as_the_batch_answer() {
    let lab = Lab::new();
    lab.trips(12, 3).await;
    let sink = || TableSink::new(lab.path("report")).partition_by(["month"]);
    let stops =
        until_done(async || lab.query(REPORT, "q", OutputMode::Update).await.sink(sink())).await;
    assert_eq!(stops, 4 * Step::ALL.len());
    let streamed = lab.table(lab.path("report"), "report", TO_THE_CENT).await;
    assert_eq!(streamed, lab.expected().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_result_stopped_anywhere_ends_as_the_batch_answer() {
    let lab = Lab::new();
    lab.trips(12, 3).await;
    let sink = || TableSink::new(lab.path("report")).partition_by(["month"]);
    let stops =
        until_done(async || lab.query(REPORT, "q", OutputMode::Complete).await.sink(sink())).await;
    assert_eq!(stops, 4 * Step::ALL.len());
    let streamed = lab.table(lab.path("report"), "report", TO_THE_CENT).await;
    assert_eq!(streamed, lab.expected().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_appended_come_once_wherever_it_stops() {
    let lab = Lab::new();
    lab.trips(12, 3).await;
    let sql = "SELECT ts, zone, amount FROM trips WHERE amount > 3";
    let sink = || TableSink::new(lab.path("kept"));
    let stops =
        until_done(async || lab.query(sql, "q", OutputMode::Append).await.sink(sink())).await;
    assert_eq!(stops, 4 * Step::ALL.len());
    let then = "SELECT ts, zone, amount FROM kept";
    let streamed = lab.table(lab.path("kept"), "kept", then).await;
    assert_eq!(streamed, lab.batch(sql, then, "kept").await);
    assert!(streamed.len() > 1_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_that_are_appended_come_once_wherever_it_stops() {
    let (one, other) = (Lab::new(), Lab::new());
    let sql = "SELECT tumble(ts, INTERVAL '6 hours') AS start, zone, count(*) AS trips \
         FROM late_trips GROUP BY 1, 2";
    let then = "SELECT start, zone, trips FROM windows";
    for lab in [&one, &other] {
        lab.trips(12, 3).await.stream_over("late_trips", 3, crate::kit::watermark(60)).await;
    }
    run(one.query(sql, "q", OutputMode::Append).await.sink(TableSink::new(one.path("windows"))))
        .await
        .unwrap();
    let sink = || TableSink::new(other.path("windows"));
    until_done(async || other.query(sql, "q", OutputMode::Append).await.sink(sink())).await;
    let undisturbed = one.table(one.path("windows"), "windows", then).await;
    assert_eq!(other.table(other.path("windows"), "windows", then).await, undisturbed);
    assert!(undisturbed.len() > 300, "{}", undisturbed.len());
}
