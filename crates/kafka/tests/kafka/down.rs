//! Brokers that are down.

use std::sync::mpsc;
use std::time::Duration;

use partwise_stream::{ErrorKind, MemorySink, OutputMode, Step};

use crate::kit::{Lab, clicks_of, got, lines_of, mock, put, rows, run, schema, sink};
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::DataType;

const SQL: &str = "SELECT n, page FROM clicks";
/// How long a broker is down in the middle.
const DOWN: Duration = Duration::from_millis(1_500);

#[tokio::test(flavor = "multi_thread")]
async fn brokers_that_stay_down_are_an_error_and_a_restart_goes_on() {
    let (mock, servers) = mock("clicks", 2);
    let lab = Lab::new();
    put(&servers, "clicks", 0, &clicks_of(0..40));
    let options = [("max_offsets_per_trigger", "10"), ("timeout_seconds", "2")];
    lab.clicks(&servers, &options).await.unwrap();
    let sink = MemorySink::new("all");
    let writer = async || lab.query(SQL, "q", OutputMode::Append).await.sink(sink.clone());
    mock.broker_down(1).unwrap();
    // Before the first batch: asking what there is.
    let error = run(writer().await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let said = error.to_string();
    assert!(said.contains(&servers) && said.contains("couldn't be reached for 2 s"), "{said}");
    mock.broker_up(1).unwrap();
    // In the middle of it: reading a batch.
    let (reached, told) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let goes = std::sync::Mutex::new(goes);
    let stopping = writer().await.before_each_step(move |step, batch| {
        if step == Step::Run && batch == 2 {
            reached.send(()).unwrap();
            goes.lock().unwrap().recv().unwrap();
        }
        Ok(())
    });
    let query = stopping.start().await.unwrap();
    told.recv_timeout(Duration::from_secs(60)).unwrap();
    mock.broker_down(1).unwrap();
    go.send(()).unwrap();
    let error = query.await_termination().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    mock.broker_up(1).unwrap();
    run(writer().await).await.unwrap();
    assert_eq!(rows(sink.rows()), lines_of(0..40));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_comes_back_is_waited_for() {
    let (mock, servers) = mock("clicks", 2);
    mock.create_topic("out", 2, 1).unwrap();
    let lab = Lab::new();
    put(&servers, "clicks", 0, &clicks_of(0..40));
    lab.clicks(&servers, &[("max_offsets_per_trigger", "10")]).await.unwrap();
    let (reached, told) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let goes = std::sync::Mutex::new(goes);
    let writer = lab.query(SQL, "q", OutputMode::Append).await.sink(sink(&servers, "out", &[]));
    let writer = writer.before_each_step(move |step, batch| {
        // Down while a batch is planned, while one is read and sent.
        if (step == Step::Next && batch == 0) || (step == Step::Sink && batch == 2) {
            reached.send(()).unwrap();
            goes.lock().unwrap().recv().unwrap();
        }
        Ok(())
    });
    let query = writer.start().await.unwrap();
    for _ in 0..2 {
        told.recv_timeout(Duration::from_secs(60)).unwrap();
        mock.broker_down(1).unwrap();
        go.send(()).unwrap();
        tokio::time::sleep(DOWN).await;
        mock.broker_up(1).unwrap();
    }
    query.await_termination().await.unwrap();
    let mut numbers: Vec<i64> = got(&servers, "out").iter().map(number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..40).collect::<Vec<_>>());
}

fn number(message: &crate::kit::Got) -> i64 {
    let value: serde_json::Value =
        serde_json::from_str(message.value.as_deref().unwrap_or_default()).unwrap();
    value["n"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_isnt_acknowledged_isnt_written() {
    let (mock, servers) = mock("out", 1);
    let lab = Lab::new();
    let source = lab.memory(schema(&[("n", DataType::Int64)]));
    let column: ArrayRef = std::sync::Arc::new(Int64Array::from_iter_values(0..20));
    source.add(RecordBatch::try_from_iter_with_nullable([("n", column, true)]).unwrap()).unwrap();
    let writer = async || {
        let writer = lab.query("SELECT n FROM rows", "q", OutputMode::Append).await;
        writer.sink(sink(&servers, "out", &[("timeout_seconds", "2")]))
    };
    let (reached, told) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let goes = std::sync::Mutex::new(goes);
    let stopping = writer().await.before_each_step(move |step, _| {
        if step == Step::Sink {
            reached.send(()).unwrap();
            goes.lock().unwrap().recv().unwrap();
        }
        Ok(())
    });
    let query = stopping.start().await.unwrap();
    told.recv_timeout(Duration::from_secs(60)).unwrap();
    mock.broker_down(1).unwrap();
    go.send(()).unwrap();
    let error = query.await_termination().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("send a batch to the topic 'out'"), "{error}");
    mock.broker_up(1).unwrap();
    let query = run(writer().await).await.unwrap();
    let batch = query.progress().unwrap();
    assert_eq!((batch.replayed, batch.output_rows), (true, Some(20)));
    assert_eq!(got(&servers, "out").len(), 20);
}
