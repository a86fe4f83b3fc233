//! On a real broker.

use std::time::Duration;

use partwise_stream::{ErrorKind, MemorySink, OutputMode, Step, TableSink, Trigger};
use partwise_testkit::TansuServer;

use crate::kit::{
    Lab, clicks_of, drop_topic, got, lines_of, make_topic, put, rows, run, sink, until_done,
};

const SQL: &str = "SELECT n, page FROM clicks";
/// How long the broker stands still in the middle.
const STILL: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_comes_into_a_table_wherever_it_stops() {
    let Some(server) = TansuServer::start_new("a topic into a table").unwrap() else { return };
    let (servers, lab) = (server.servers(), Lab::new());
    make_topic(&servers, "clicks", 3).await;
    put(&servers, "clicks", 0, &clicks_of(0..50));
    put(&servers, "clicks", 2, &clicks_of(50..90));
    lab.clicks(&servers, &[("max_offsets_per_trigger", "30")]).await.unwrap();
    let writer = async || {
        let writer = lab.query(SQL, "q", OutputMode::Append).await;
        writer.sink(TableSink::new(lab.path("sink")))
    };
    assert_eq!(until_done(writer).await, 3 * Step::ALL.len());
    assert_eq!(lab.table(lab.path("sink"), "SELECT n, page FROM t").await, lines_of(0..90));
    put(&servers, "clicks", 1, &clicks_of(90..100));
    run(writer().await).await.unwrap();
    assert_eq!(lab.table(lab.path("sink"), "SELECT n, page FROM t").await, lines_of(0..100));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_stands_still_is_waited_for() {
    let Some(server) = TansuServer::start_new("a broker that stands still").unwrap() else {
        return;
    };
    let (servers, lab) = (server.servers(), Lab::new());
    make_topic(&servers, "clicks", 2).await;
    make_topic(&servers, "out", 2).await;
    put(&servers, "clicks", 0, &clicks_of(0..60));
    lab.clicks(&servers, &[("max_offsets_per_trigger", "20")]).await.unwrap();
    let (reached, mut told) = tokio::sync::mpsc::unbounded_channel();
    let writer = lab.query(SQL, "q", OutputMode::Append).await.sink(sink(&servers, "out", &[]));
    let writer = writer.before_each_step(move |step, batch| {
        if batch == 1 && [Step::Run, Step::Sink].contains(&step) {
            reached.send(()).unwrap();
        }
        Ok(())
    });
    let query = writer.start().await.unwrap();
    for _ in 0..2 {
        told.recv().await.unwrap();
        server.pause().unwrap();
        tokio::time::sleep(STILL).await;
        server.resume().unwrap();
    }
    query.await_termination().await.unwrap();
    assert_eq!(got(&servers, "out").len(), 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_lost_its_topics_is_named() {
    let Some(mut server) = TansuServer::start_new("a broker without its topics").unwrap() else {
        return;
    };
    let (servers, lab) = (server.servers(), Lab::new());
    make_topic(&servers, "clicks", 1).await;
    put(&servers, "clicks", 0, &clicks_of(0..30));
    lab.clicks(&servers, &[("timeout_seconds", "5")]).await.unwrap();
    let sink = MemorySink::new("all");
    let writer = async || lab.query(SQL, "q", OutputMode::Append).await.sink(sink.clone());
    run(writer().await).await.unwrap();
    server.stop().unwrap();
    let error = run(writer().await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    server.start().unwrap();
    let error = run(writer().await).await.unwrap_err();
    assert!(error.to_string().contains("no topic 'clicks'"), "{error}");
    // Made anew with fewer messages than were read.
    make_topic(&servers, "clicks", 1).await;
    put(&servers, "clicks", 0, &clicks_of(30..35));
    let error = run(writer().await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("made anew"), "{error}");
    lab.clicks_again(&servers, &[("fail_on_data_loss", "false")]).await;
    run(writer().await).await.unwrap();
    assert_eq!(rows(sink.rows()).len(), 35);
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_are_added_are_read_from_their_beginning() {
    let Some(server) = TansuServer::start_new("partitions that are added").unwrap() else { return };
    let (servers, lab) = (server.servers(), Lab::new());
    make_topic(&servers, "clicks", 1).await;
    put(&servers, "clicks", 0, &clicks_of(0..10));
    lab.clicks(&servers, &[("starting_offsets", r#"{"0": 4}"#)]).await.unwrap();
    let sink = MemorySink::new("all");
    let writer = async || lab.query(SQL, "q", OutputMode::Append).await.sink(sink.clone());
    run(writer().await).await.unwrap();
    // Tansu can't add partitions: the same topic with more of them looks the same to a reader.
    drop_topic(&servers, "clicks").await;
    make_topic(&servers, "clicks", 3).await;
    put(&servers, "clicks", 0, &clicks_of(0..10));
    put(&servers, "clicks", 2, &clicks_of(10..15));
    run(writer().await).await.unwrap();
    assert_eq!(rows(sink.rows()), lines_of(4..15));
    // And with fewer.
    drop_topic(&servers, "clicks").await;
    make_topic(&servers, "clicks", 1).await;
    put(&servers, "clicks", 0, &clicks_of(0..10));
    let error = run(writer().await).await.unwrap_err();
    assert!(error.to_string().contains("the partition is gone"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_takes_what_arrives() {
    let Some(server) = TansuServer::start_new("what arrives").unwrap() else { return };
    let (servers, lab) = (server.servers(), Lab::new());
    make_topic(&servers, "clicks", 1).await;
    put(&servers, "clicks", 0, &clicks_of(0..3));
    lab.clicks(&servers, &[]).await.unwrap();
    let sink = MemorySink::new("all");
    let (told, mut batches) = tokio::sync::mpsc::unbounded_channel();
    let writer = lab.query(SQL, "q", OutputMode::Append).await.sink(sink.clone());
    let writer = writer.trigger(Trigger::Every(Duration::from_millis(50)));
    let query = writer
        .on_progress(move |batch| {
            let _ = told.send(batch.batch);
        })
        .start()
        .await
        .unwrap();
    assert_eq!(batches.recv().await, Some(0));
    put(&servers, "clicks", 0, &clicks_of(3..5));
    assert_eq!(batches.recv().await, Some(1));
    query.stop().await.unwrap();
    assert_eq!(rows(sink.rows()), lines_of(0..5));
}
