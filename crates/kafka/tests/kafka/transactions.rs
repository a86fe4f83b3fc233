//! A batch as one transaction: a replay is skipped, a replaced instance can't write.

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::time::Duration;

use partwise_stream::{ErrorKind, MemorySink, OutputMode, Step, StreamWriter};
use partwise_testkit::TansuServer;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use crate::kit::{
    Lab, clicks_of, copy_folder, drop_topic, forget_last_commit, got, lines_of, make_topic,
    producer, put, rows, run, sink, until_done,
};

const SQL: &str = "SELECT n, page FROM clicks";
const LEDGER: &str = "partwise_ledger";
const WAIT: Duration = Duration::from_secs(30);
const TRANSACTIONAL: [(&str, &str); 1] = [("transactional", "true")];

struct Setting {
    _server: TansuServer,
    servers: String,
    lab: Lab,
}

/// Sixty clicks in two partitions, read in three batches.
async fn setting(what: &str) -> Option<Setting> {
    let server = TansuServer::start_new(what).unwrap()?;
    let (servers, lab) = (server.servers(), Lab::new());
    make_topic(&servers, "clicks", 2).await;
    make_topic(&servers, "out", 2).await;
    put(&servers, "clicks", 0, &clicks_of(0..30));
    put(&servers, "clicks", 1, &clicks_of(30..60));
    lab.clicks(&servers, &[("max_offsets_per_trigger", "20")]).await.unwrap();
    Some(Setting { _server: server, servers, lab })
}

impl Setting {
    async fn writer(&self, name: &str) -> StreamWriter {
        let writer = self.lab.query(SQL, name, OutputMode::Append).await;
        writer.sink(sink(&self.servers, "out", &TRANSACTIONAL))
    }

    /// All numbers that came out, in order.
    fn numbers(&self) -> Vec<i64> {
        let number = |message: crate::kit::Got| {
            let value: serde_json::Value =
                serde_json::from_str(&message.value.unwrap_or_default()).unwrap();
            value["n"].as_i64().unwrap()
        };
        let mut numbers: Vec<i64> = got(&self.servers, "out").into_iter().map(number).collect();
        numbers.sort_unstable();
        numbers
    }
}

fn all() -> Vec<i64> {
    (0..60).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_of_a_transaction_is_skipped() {
    let Some(setting) = setting("a replay of a transaction").await else { return };
    run(setting.writer("q").await).await.unwrap();
    assert_eq!(setting.numbers(), all());
    for _ in 0..2 {
        assert_eq!(forget_last_commit(&setting.lab.path("ck-q")), 2);
        let query = run(setting.writer("q").await).await.unwrap();
        let replay = query.progress().unwrap();
        assert_eq!((replay.batch, replay.replayed, replay.output_rows), (2, true, None));
        assert_eq!(setting.numbers(), all());
    }
    // Another query into the same topic has an entry of its own.
    run(setting.writer("other").await).await.unwrap();
    assert_eq!(setting.numbers().len(), 120);
    let ledger = got(&setting.servers, "partwise_ledger");
    let keys: BTreeSet<_> = ledger.iter().map(|entry| entry.key.clone().unwrap()).collect();
    assert_eq!(
        keys,
        BTreeSet::from([r#"["q","out"]"#.to_owned(), r#"["other","out"]"#.to_owned()])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_stopped_between_any_two_steps_sends_each_row_once() {
    let Some(setting) = setting("transactions stopped anywhere").await else { return };
    let stops = until_done(async || setting.writer("q").await).await;
    assert_eq!(stops, 3 * Step::ALL.len());
    assert_eq!(setting.numbers(), all());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_was_replaced_cant_write() {
    let Some(setting) = setting("an instance that was replaced").await else { return };
    let (reached, told) = mpsc::channel();
    let (go, goes) = mpsc::channel::<()>();
    let goes = std::sync::Mutex::new(goes);
    let zombie = setting.writer("q").await.before_each_step(move |step, batch| {
        if step == Step::Sink && batch == 1 {
            reached.send(()).unwrap();
            goes.lock().unwrap().recv().unwrap();
        }
        Ok(())
    });
    let zombie = zombie.start().await.unwrap();
    told.recv_timeout(Duration::from_secs(60)).unwrap();
    // The same checkpoint on another host, where the lock isn't seen.
    copy_folder(&setting.lab.path("ck-q"), &setting.lab.path("elsewhere/q"));
    let writer = setting.writer("q").await.checkpoint(setting.lab.path("elsewhere/q"));
    run(writer).await.unwrap();
    assert_eq!(setting.numbers(), all());
    go.send(()).unwrap();
    let error = zombie.await_termination().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains("another instance of the query"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_checkpoint_and_a_lost_ledger_are_refused() {
    let Some(setting) = setting("a lost checkpoint").await else { return };
    run(setting.writer("q").await).await.unwrap();
    let lost = setting.writer("q").await.checkpoint(setting.lab.path("new/q"));
    let error = lost.start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("with another checkpoint"), "{error}");
    assert!(error.to_string().contains("'partwise_ledger' holds batches 0 to 2 of"), "{error}");
    drop_topic(&setting.servers, "partwise_ledger").await;
    let error = setting.writer("q").await.start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("lacks batch 2 of q"), "{error}");
    assert_eq!(setting.numbers(), all());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_another_query_has_open_hides_no_entry() {
    let Some(setting) = setting("another query's open transaction").await else { return };
    let servers = &setting.servers;
    make_topic(servers, LEDGER, 1).await;
    let other = producer(servers, &[("transactional.id", "other")]);
    other.init_transactions(WAIT).unwrap();
    other.begin_transaction().unwrap();
    put_entry(&other, 0, r#"["other","out"]"#, "{}");
    let patience = [TRANSACTIONAL[0], ("timeout_seconds", "2")];
    let writer = async || {
        let writer = setting.lab.query(SQL, "q", OutputMode::Append).await;
        writer.sink(sink(servers, "out", &patience))
    };
    // What is committed behind it can't be told as long as it is open.
    let error = run(writer().await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let said = error.to_string();
    assert!(said.contains("another query has been open") && said.contains(LEDGER), "{said}");
    other.abort_transaction(WAIT).unwrap();
    run(writer().await).await.unwrap();
    assert_eq!(setting.numbers(), all());
    // Begun before a crash between Kafka's commit and the checkpoint's, it hides the entry.
    assert_eq!(forget_last_commit(&setting.lab.path("ck-q")), 2);
    let replay = run(writer().await).await.unwrap().progress().unwrap();
    assert_eq!((replay.batch, replay.replayed, replay.output_rows), (2, true, None));
    assert_eq!(setting.numbers(), all());
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_are_in_the_first_partition_of_a_ledger() {
    let Some(setting) = setting("a ledger of several partitions").await else { return };
    let servers = &setting.servers;
    make_topic(servers, LEDGER, 3).await;
    // Older ones, of a time when it had another number of partitions.
    let old = producer(servers, &[]);
    let stale = r#"{"id": "an older one", "batch": 9, "digest": ""}"#;
    run(setting.writer("q").await).await.unwrap();
    for partition in [1, 2] {
        put_entry(&old, partition, r#"["q","out"]"#, stale);
    }
    assert_eq!(forget_last_commit(&setting.lab.path("ck-q")), 2);
    let replay = run(setting.writer("q").await).await.unwrap().progress().unwrap();
    assert_eq!((replay.batch, replay.replayed, replay.output_rows), (2, true, None));
    assert_eq!(setting.numbers(), all());
}

/// Puts an entry into a partition of the ledger, and waits until it is there.
fn put_entry(producer: &BaseProducer, partition: i32, key: &str, value: &str) {
    let record: BaseRecord<'_, str, str> = BaseRecord::to(LEDGER).partition(partition);
    producer.send(record.key(key).payload(value)).unwrap();
    producer.flush(WAIT).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_of_transactions_is_read_to_its_end() {
    let Some(setting) = setting("a topic of transactions as a source").await else { return };
    run(setting.writer("q").await).await.unwrap();
    // Each transaction leaves a marker that takes an offset and is no message: the last of a
    // partition is one.
    let lab = Lab::new();
    let options = [("topic", "out"), ("max_offsets_per_trigger", "17")];
    lab.clicks(&setting.servers, &options).await.unwrap();
    let sink = MemorySink::new("all");
    let writer = async || lab.query(SQL, "back", OutputMode::Append).await.sink(sink.clone());
    let query = run(writer().await).await.unwrap();
    let read: u64 = query.history().iter().map(|batch| batch.input_rows).sum();
    assert_eq!((read, query.history().len()), (60, 4));
    assert_eq!(rows(sink.rows()), lines_of(0..60));
    assert!(run(writer().await).await.unwrap().history().is_empty());
}
