//! Messages that are no rows.

use std::time::Duration;

use async_trait::async_trait;
use datafusion::arrow::datatypes::DataType;
use partwise_stream::sink::{Sink, SinkBatch, SinkQuery, Written};
use partwise_stream::{ErrorKind, MemorySink, OutputMode, Result, StreamDefinition};
use rdkafka::producer::{BaseRecord, Producer};

use crate::kit::{Lab, clicks_of, mock, producer, put, rows, run, schema};

const SQL: &str = "SELECT n, page FROM clicks";

async fn lab() -> (crate::kit::Mock, String, Lab) {
    let (mock, servers) = mock("clicks", 2);
    let values = ["not json", r#"{"n": "many"}"#, r#"{"n": 4} {"n": 5}"#, "[]", ""];
    put(&servers, "clicks", 1, &clicks_of(0..3));
    put(&servers, "clicks", 1, &values);
    put(&servers, "clicks", 1, &clicks_of(3..5));
    (mock, servers, Lab::new())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_no_row_is_named_and_can_be_left_out_or_made_null() {
    let (_mock, servers, lab) = lab().await;
    lab.clicks(&servers, &[]).await.unwrap();
    let sink = MemorySink::new("all");
    let writer = async || lab.query(SQL, "q", OutputMode::Append).await.sink(sink.clone());
    let error = run(writer().await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let said = error.to_string();
    assert!(said.contains("offset 3 of the topic 'clicks', partition 1"), "{said}");
    assert!(said.contains("'on_bad_record' 'skip'"), "{said}");
    assert!(rows(sink.rows()).is_empty());

    // The same batch with another choice: the checkpoint isn't tied to it.
    lab.clicks_again(&servers, &[("on_bad_record", "skip")]).await;
    let query = run(writer().await).await.unwrap();
    let batch = query.progress().unwrap();
    assert_eq!((batch.input_rows, batch.bad_rows), (5, 5));
    assert!(batch.to_string().contains(", 5 bad"), "{batch}");
    assert_eq!(rows(sink.rows()).len(), 5);

    lab.clicks_again(&servers, &[("on_bad_record", "null")]).await;
    let nulls = MemorySink::new("nulls");
    let query = run(lab.query(SQL, "r", OutputMode::Append).await.sink(nulls.clone())).await;
    assert_eq!(query.unwrap().progress().unwrap().bad_rows, 5);
    let nulls = rows(nulls.rows());
    assert_eq!(nulls.iter().filter(|row| *row == "NULL | NULL").count(), 5);
    assert_eq!(nulls.len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_no_text_is_null_or_named() {
    let (_mock, servers) = mock("clicks", 1);
    let producer = producer(&servers, &[]);
    for key in [b"\xff".as_slice(), b"good"] {
        let record: BaseRecord<'_, [u8], str> = BaseRecord::to("clicks").key(key);
        producer.send(record.payload(r#"{"n": 1}"#)).unwrap();
    }
    producer.flush(Duration::from_secs(30)).unwrap();
    let lab = Lab::new();
    let columns = schema(&[("n", DataType::Int64), ("_key", DataType::Utf8)]);
    let stream = StreamDefinition::new("keys", "KAFKA").columns(columns);
    let stream = stream.option("bootstrap.servers", servers).option("topic", "clicks");
    lab.streams.create_stream(&stream).await.unwrap();
    let sql = "SELECT n, _key FROM keys";
    let sink = MemorySink::new("all");
    let writer = async || lab.query(sql, "q", OutputMode::Append).await.sink(sink.clone());
    let error = run(writer().await).await.unwrap_err().to_string();
    assert!(error.contains("the column _key is Utf8") && error.contains("BYTEA"), "{error}");
    lab.streams.drop_stream("keys").await.unwrap();
    lab.streams.create_stream(&stream.option("on_bad_record", "null")).await.unwrap();
    let query = run(writer().await).await.unwrap();
    assert_eq!(query.progress().unwrap().bad_rows, 1);
    assert_eq!(rows(sink.rows()), ["1 | NULL", "1 | good"]);
}

/// A sink that runs the plan of its rows before it writes them.
#[derive(Debug)]
struct Twice(MemorySink);

#[async_trait]
impl Sink for Twice {
    fn describe(&self) -> String {
        self.0.describe()
    }

    async fn open(&self, query: &SinkQuery) -> Result<()> {
        self.0.open(query).await
    }

    async fn write(&self, batch: SinkBatch) -> Result<Written> {
        batch.rows.collect(&batch.state).await?;
        self.0.write(batch).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_messages_count_once_however_often_a_sink_reads_them() {
    let (_mock, servers, lab) = lab().await;
    lab.clicks(&servers, &[("on_bad_record", "skip")]).await.unwrap();
    let sink = MemorySink::new("all");
    let writer = lab.query(SQL, "q", OutputMode::Append).await.sink(Twice(sink.clone()));
    let query = run(writer).await.unwrap();
    assert_eq!((query.progress().unwrap().bad_rows, rows(sink.rows()).len()), (5, 5));
}
