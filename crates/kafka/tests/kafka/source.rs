//! From a topic into a table.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::physical_plan::{ExecutionPlanProperties, collect_partitioned};
use partwise_kafka::KafkaSource;
use partwise_stream::source::{ReadRequest, StreamSource};
use partwise_stream::{
    ErrorKind, MemorySink, OutputMode, Step, StreamDefinition, TableSink, Trigger,
};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer};

use crate::kit::{
    Lab, clicks_of, forget_last_commit, lines_of, mock, producer, put, rows, run, schema,
    until_done,
};

const SQL: &str = "SELECT n, page FROM clicks";

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_comes_into_a_table_row_by_row_and_a_restart_goes_on() {
    let (_mock, servers) = mock("clicks", 3);
    let lab = Lab::new();
    for partition in 0..3 {
        put(
            &servers,
            "clicks",
            partition,
            &clicks_of(100 * i64::from(partition)..100 * i64::from(partition) + 80),
        );
    }
    lab.clicks(&servers, &[("max_offsets_per_trigger", "50")]).await.unwrap();
    let writer = async || {
        let writer = lab.query(SQL, "q", OutputMode::Append).await;
        writer.sink(TableSink::new(lab.path("sink")))
    };
    let query = run(writer().await).await.unwrap();
    let sizes: Vec<u64> = query.history().iter().map(|batch| batch.input_rows).collect();
    assert_eq!(sizes, [50, 50, 50, 50, 40]);
    put(&servers, "clicks", 1, &clicks_of(300..340));
    let query = run(writer().await).await.unwrap();
    assert_eq!(query.history().len(), 1);
    let mut expected: Vec<String> =
        [0..80, 100..180, 200..280, 300..340].into_iter().flat_map(lines_of).collect();
    expected.sort();
    assert_eq!(lab.table(lab.path("sink"), "SELECT n, page FROM t").await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_stopped_between_any_two_steps_has_each_message_once() {
    let (_mock, servers) = mock("clicks", 2);
    let lab = Lab::new();
    put(&servers, "clicks", 0, &clicks_of(0..60));
    put(&servers, "clicks", 1, &clicks_of(60..90));
    lab.clicks(&servers, &[("max_offsets_per_trigger", "30")]).await.unwrap();
    let stops = until_done(async || {
        let writer = lab.query(SQL, "q", OutputMode::Append).await;
        writer.sink(TableSink::new(lab.path("sink")))
    })
    .await;
    assert_eq!(stops, 3 * Step::ALL.len());
    assert_eq!(lab.table(lab.path("sink"), "SELECT n, page FROM t").await, lines_of(0..90));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_partitions_are_read_by_the_tasks_that_a_session_has() {
    let (_mock, servers) = mock("clicks", 9);
    for partition in 0..9 {
        let first = 10 * i64::from(partition);
        put(&servers, "clicks", partition, &clicks_of(first..first + 10));
    }
    let stream =
        StreamDefinition::new("clicks", "KAFKA").columns(schema(&[("n", DataType::Int64)]));
    let stream = stream.option("bootstrap.servers", servers).option("topic", "clicks");
    let (source, state) = (KafkaSource::new(&stream).unwrap(), Lab::new().session.state());
    let mut reader = source.reader(&state).await.unwrap();
    let offsets = reader.next().await.unwrap().unwrap();
    let read = async || {
        let request = ReadRequest { state: &state, projection: &[0], replayed: false };
        let plan = reader.read(&offsets, request).await.unwrap();
        assert_eq!(plan.output_partitioning().partition_count(), 2);
        collect_partitioned(plan, state.task_ctx()).await.unwrap()
    };
    let first = read().await;
    assert_eq!(rows(first.concat()).len(), 90);
    assert_eq!(first, read().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_reads_the_same_messages_whatever_has_arrived() {
    let (_mock, servers) = mock("clicks", 2);
    let lab = Lab::new();
    put(&servers, "clicks", 0, &clicks_of(0..10));
    lab.clicks(&servers, &[]).await.unwrap();
    type Calls = Vec<(u64, Vec<String>)>;
    let calls: Arc<Mutex<Calls>> = Arc::default();
    let writer = async || {
        let calls = Arc::clone(&calls);
        let writer = lab.query(SQL, "q", OutputMode::Append).await;
        writer.foreach_batch(move |frame, id| {
            let calls = Arc::clone(&calls);
            async move {
                let lines = rows(frame.collect().await?);
                calls.lock().unwrap().push((id.batch, lines));
                Ok(())
            }
        })
    };
    run(writer().await).await.unwrap();
    forget_last_commit(&lab.path("ck-q"));
    put(&servers, "clicks", 0, &clicks_of(10..13));
    put(&servers, "clicks", 1, &clicks_of(13..15));
    run(writer().await).await.unwrap();
    let expected = [(0, lines_of(0..10)), (0, lines_of(0..10)), (1, lines_of(10..15))];
    assert_eq!(*calls.lock().unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_at_the_latest_offsets_holds_over_a_restart() {
    let (_mock, servers) = mock("clicks", 1);
    let lab = Lab::new();
    put(&servers, "clicks", 0, &clicks_of(0..5));
    lab.clicks(&servers, &[("starting_offsets", "latest")]).await.unwrap();
    let sink = MemorySink::new("all");
    let writer = async || lab.query(SQL, "q", OutputMode::Append).await.sink(sink.clone());
    run(writer().await).await.unwrap();
    assert!(rows(sink.rows()).is_empty());
    put(&servers, "clicks", 0, &clicks_of(5..8));
    run(writer().await).await.unwrap();
    assert_eq!(rows(sink.rows()), lines_of(5..8));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_takes_what_arrives_and_a_second_instance_is_told() {
    let (_mock, servers) = mock("clicks", 2);
    let lab = Lab::new();
    lab.clicks(&servers, &[]).await.unwrap();
    let sink = MemorySink::new("all");
    let seen = Arc::new(tokio::sync::Semaphore::new(0));
    let told = Arc::clone(&seen);
    let writer = lab.query(SQL, "q", OutputMode::Append).await.sink(sink.clone());
    let writer = writer.trigger(Trigger::Every(Duration::from_millis(20)));
    let query = writer.clone().on_progress(move |_| told.add_permits(1)).start().await.unwrap();
    assert_eq!(writer.start().await.unwrap_err().kind(), ErrorKind::Busy);
    for n in 0..3 {
        put(&servers, "clicks", (n % 2) as i32, &clicks_of(n..n + 1));
        let batch = tokio::time::timeout(Duration::from_secs(60), seen.acquire());
        batch.await.unwrap().unwrap().forget();
    }
    query.stop().await.unwrap();
    assert_eq!(rows(sink.rows()), lines_of(0..3));
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_have_columns_of_their_own() {
    let (_mock, servers) = mock("clicks", 2);
    let lab = Lab::new();
    let sent = producer(&servers, &[]);
    let headers = OwnedHeaders::new()
        .insert(Header { key: "a", value: Some("first") })
        .insert(Header { key: "a", value: Some("last") });
    let record = BaseRecord::to("clicks").partition(1).key("k").payload(r#"{"n": 1}"#);
    sent.send(record.timestamp(1_700_000_000_123).headers(headers)).unwrap();
    let nothing: BaseRecord<'_, str, str> = BaseRecord::to("clicks").partition(1);
    sent.send(nothing.timestamp(1_700_000_000_456)).unwrap();
    sent.flush(Duration::from_secs(60)).unwrap();
    let columns = schema(&[
        ("_offset", DataType::Int64),
        ("n", DataType::Int64),
        ("_key", DataType::Utf8),
        ("_topic", DataType::Utf8View),
        ("_partition", DataType::Int64),
        ("_timestamp", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("_headers", DataType::Utf8),
    ]);
    let definition = StreamDefinition::new("clicks", "KAFKA").columns(columns);
    let definition = definition.option("bootstrap.servers", servers).option("topic", "clicks");
    lab.streams.create_stream(&definition).await.unwrap();
    let sink = MemorySink::new("all");
    let sql = "SELECT _partition, _offset, _topic, _key, n, _timestamp, _headers FROM clicks";
    run(lab.query(sql, "q", OutputMode::Append).await.sink(sink.clone())).await.unwrap();
    assert_eq!(
        rows(sink.rows()),
        [
            r#"1 | 0 | clicks | k | 1 | 2023-11-14T22:13:20.123 | {"a":"last"}"#,
            "1 | 1 | clicks | NULL | NULL | 2023-11-14T22:13:20.456 | NULL",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn values_are_csv_or_just_bytes() {
    let (_mock, servers) = mock("clicks", 1);
    let lab = Lab::new();
    put(&servers, "clicks", 0, &["1,\"a,b\"", "2,"]);
    lab.clicks(&servers, &[("format", "csv")]).await.unwrap();
    let sink = MemorySink::new("all");
    run(lab.query(SQL, "q", OutputMode::Append).await.sink(sink.clone())).await.unwrap();
    assert_eq!(rows(sink.rows()), ["1 | a,b", "2 | NULL"]);
    let definition = StreamDefinition::new("raw", "KAFKA").option("format", "raw");
    let definition = definition.option("bootstrap.servers", &servers).option("topic", "clicks");
    lab.streams.create_stream(&definition).await.unwrap();
    let sink = MemorySink::new("raw");
    let sql = "SELECT CAST(value AS STRING), CAST(_key AS STRING), _partition, _offset FROM raw";
    run(lab.query(sql, "r", OutputMode::Append).await.sink(sink.clone())).await.unwrap();
    assert_eq!(rows(sink.rows()), ["1,\"a,b\" | key0 | 0 | 0", "2, | key0 | 0 | 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_over_a_topic_live_on_in_the_state() {
    let (_mock, servers) = mock("clicks", 3);
    let lab = Lab::new();
    lab.clicks(&servers, &[("max_offsets_per_trigger", "25")]).await.unwrap();
    let sql = "SELECT page, count(*) AS n, sum(n) AS total FROM clicks GROUP BY page";
    for round in 0..3 {
        put(
            &servers,
            "clicks",
            round,
            &clicks_of(i64::from(round) * 70..i64::from(round) * 70 + 70),
        );
        let writer = lab.query(sql, "q", OutputMode::Update).await;
        run(writer.sink(TableSink::new(lab.path("sink")))).await.unwrap();
    }
    let expected: Vec<String> = (0..7)
        .map(|page| format!("p{page} | 30 | {}", (page..210).step_by(7).sum::<i64>()))
        .collect();
    assert_eq!(lab.table(lab.path("sink"), "SELECT page, n, total FROM t").await, expected);
}
