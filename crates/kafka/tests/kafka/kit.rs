//! A lab for a test: a folder, a session that knows Kafka, clients that write and read topics.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::{SessionConfig, SessionContext};
use partwise_commit::Location;
use partwise_kafka::KafkaSink;
use partwise_stream::{
    Error, MemorySource, OutputMode, Result, SinkDefinition, Step, StreamContext, StreamDefinition,
    StreamQuery, StreamWriter, WriteStream,
};
use partwise_table::{OpenOptions, PartwiseTable};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{Headers, Message};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer};
use rdkafka::{Offset, TopicPartitionList};
use tempfile::TempDir;

/// librdkafka's own brokers, in this process.
pub type Mock = MockCluster<'static, DefaultProducerContext>;

/// A mock with a topic.
pub fn mock(topic: &str, partitions: i32) -> (Mock, String) {
    let mock = MockCluster::new(1).unwrap();
    mock.create_topic(topic, partitions, 1).unwrap();
    let servers = mock.bootstrap_servers();
    (mock, servers)
}

pub struct Lab {
    folder: TempDir,
    pub session: SessionContext,
    pub streams: StreamContext,
}

impl Lab {
    pub fn new() -> Self {
        let session =
            SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
        let streams = StreamContext::new(&session);
        partwise_kafka::register(&streams);
        Self { folder: tempfile::tempdir().unwrap(), session, streams }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The stream `clicks` (n, page) over a topic `clicks`.
    pub async fn clicks(&self, servers: &str, options: &[(&str, &str)]) -> Result<()> {
        self.streams.create_stream(&clicks(servers, options)).await
    }

    /// The same anew, with other options.
    pub async fn clicks_again(&self, servers: &str, options: &[(&str, &str)]) {
        self.streams.drop_stream("clicks").await.unwrap();
        self.clicks(servers, options).await.unwrap();
    }

    /// A stream `rows` over rows in memory, one added batch for each of the query's.
    pub fn memory(&self, schema: SchemaRef) -> MemorySource {
        let source = MemorySource::new(schema).max_batches_per_trigger(1);
        self.streams.add_stream("rows", Arc::new(source.clone()), None).unwrap();
        source
    }

    /// A query with a checkpoint in the lab's folder.
    pub async fn query(&self, sql: &str, name: &str, mode: OutputMode) -> StreamWriter {
        let frame = self.session.sql(sql).await.unwrap();
        let checkpoint = self.path(&format!("ck-{name}"));
        frame.write_stream().name(name).output_mode(mode).checkpoint(checkpoint)
    }

    /// The rows of a query over a table of Partwise, in order.
    pub async fn table(&self, dir: impl AsRef<Path>, sql: &str) -> Vec<String> {
        let location = Location::local(dir.as_ref());
        let session = SessionContext::new();
        let state = session.state();
        let table = PartwiseTable::open(location, OpenOptions::default(), &state).await.unwrap();
        session.register_table("t", Arc::new(table.unwrap())).unwrap();
        rows(session.sql(sql).await.unwrap().collect().await.unwrap())
    }
}

pub fn schema(columns: &[(&str, DataType)]) -> SchemaRef {
    let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

fn clicks(servers: &str, options: &[(&str, &str)]) -> StreamDefinition {
    let columns = schema(&[("n", DataType::Int64), ("page", DataType::Utf8)]);
    let definition = StreamDefinition::new("clicks", "kafka").columns(columns);
    let definition = definition.option("bootstrap.servers", servers).option("topic", "clicks");
    options.iter().fold(definition, |definition, (name, value)| definition.option(*name, *value))
}

/// A sink into a topic.
pub fn sink(servers: &str, topic: &str, options: &[(&str, &str)]) -> KafkaSink {
    KafkaSink::new(&sink_definition(servers, topic, options)).unwrap()
}

pub fn sink_definition(servers: &str, topic: &str, options: &[(&str, &str)]) -> SinkDefinition {
    let mut definition = SinkDefinition { kind: "KAFKA".to_owned(), ..SinkDefinition::default() };
    let all = [("bootstrap.servers", servers), ("topic", topic)];
    for (name, value) in all.iter().chain(options) {
        definition.options.insert((*name).to_owned(), (*value).to_owned());
    }
    definition
}

/// Runs a query to its end.
pub async fn run(writer: StreamWriter) -> Result<StreamQuery> {
    let query = writer.start().await?;
    query.await_termination().await?;
    Ok(query)
}

/// Runs until nothing stops it any more: once before each step of each batch. How often.
pub async fn until_done(mut writer: impl AsyncFnMut() -> StreamWriter) -> usize {
    let had: Arc<Mutex<HashSet<(u8, u64)>>> = Arc::default();
    for stops in 0..200 {
        let had = Arc::clone(&had);
        let stopping = writer().await.before_each_step(move |step: Step, batch| {
            let place = Step::ALL.iter().position(|s| *s == step).unwrap() as u8;
            match had.lock().unwrap().insert((place, batch)) {
                true => Err(Error::internal(format!("stopped before {step:?} of {batch}"))),
                false => Ok(()),
            }
        });
        match run(stopping).await {
            Ok(_) => return stops,
            Err(error) => assert!(error.to_string().contains("stopped before"), "{error}"),
        }
    }
    panic!("it never ends");
}

/// Takes the last commit of a checkpoint away, as if the process had died before writing it.
pub fn forget_last_commit(checkpoint: &Path) -> u64 {
    let commits = checkpoint.join("commits");
    let names = std::fs::read_dir(&commits).unwrap().map(|e| e.unwrap().file_name());
    let last = names.map(|name| name.to_string_lossy().parse::<u64>().unwrap()).max().unwrap();
    std::fs::remove_file(commits.join(last.to_string())).unwrap();
    last
}

/// Rows as lines, in order.
pub fn rows(batches: Vec<RecordBatch>) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut lines = Vec::new();
    for batch in &batches {
        let columns = batch.columns().iter();
        let columns: Vec<_> =
            columns.map(|c| ArrayFormatter::try_new(c.as_ref(), &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            let line: Vec<String> = columns.iter().map(|c| c.value(row).to_string()).collect();
            lines.push(line.join(" | "));
        }
    }
    lines.sort();
    lines
}

/// A producer whose requests hold one message each: Tansu counts the last request as one when it
/// is asked where a partition ends.
pub fn producer(servers: &str, more: &[(&str, &str)]) -> BaseProducer {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", servers).set("linger.ms", "0").set("acks", "all");
    config.set("batch.num.messages", "1");
    more.iter().fold(&mut config, |config, (name, value)| config.set(*name, *value));
    config.create().unwrap()
}

/// Puts values into a partition, and waits until they are there.
pub fn put<V: AsRef<[u8]>>(servers: &str, topic: &str, partition: i32, values: &[V]) {
    let producer = producer(servers, &[]);
    for value in values {
        let record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(topic).partition(partition);
        let key = format!("key{partition}");
        producer.send(record.key(key.as_bytes()).payload(value.as_ref())).unwrap();
    }
    producer.flush(Duration::from_secs(60)).unwrap();
}

/// `{"n": .., "page": ..}` for each number.
pub fn clicks_of(numbers: std::ops::Range<i64>) -> Vec<String> {
    numbers.map(|n| format!(r#"{{"n": {n}, "page": "p{}"}}"#, n % 7)).collect()
}

/// The rows `n | page` of these.
pub fn lines_of(numbers: std::ops::Range<i64>) -> Vec<String> {
    let mut lines: Vec<String> = numbers.map(|n| format!("{n} | p{}", n % 7)).collect();
    lines.sort();
    lines
}

/// Makes a topic of a real broker.
pub async fn make_topic(servers: &str, topic: &str, partitions: i32) {
    let admin = admin(servers);
    let options = AdminOptions::new().request_timeout(Some(Duration::from_secs(30)));
    let topic = NewTopic::new(topic, partitions, TopicReplication::Fixed(1));
    for made in admin.create_topics([&topic], &options).await.unwrap() {
        made.unwrap();
    }
}

/// Takes a topic of a real broker away.
pub async fn drop_topic(servers: &str, topic: &str) {
    let options = AdminOptions::new().request_timeout(Some(Duration::from_secs(30)));
    for gone in admin(servers).delete_topics(&[topic], &options).await.unwrap() {
        gone.unwrap();
    }
}

fn admin(servers: &str) -> AdminClient<DefaultClientContext> {
    ClientConfig::new().set("bootstrap.servers", servers).create().unwrap()
}

/// A message as a test compares it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Got {
    pub key: Option<String>,
    pub value: Option<String>,
    pub headers: Vec<(String, String)>,
}

impl Got {
    pub fn header(&self, name: &str) -> &str {
        let named = self.headers.iter().find(|(key, _)| key == name);
        named.map_or("", |(_, value)| value)
    }
}

/// All messages of a topic, partition by partition, in order.
pub fn got(servers: &str, topic: &str) -> Vec<Got> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", servers)
        .set("group.id", "test")
        .set("enable.auto.commit", "false")
        .set("enable.partition.eof", "true")
        .set("fetch.wait.max.ms", "50")
        .create()
        .unwrap();
    let metadata = consumer.fetch_metadata(Some(topic), Duration::from_secs(30)).unwrap();
    let mut list = TopicPartitionList::new();
    for partition in metadata.topics()[0].partitions() {
        list.add_partition_offset(topic, partition.id(), Offset::Beginning).unwrap();
    }
    let mut open = list.count();
    consumer.assign(&list).unwrap();
    let (mut all, started) = (Vec::new(), Instant::now());
    while open > 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "the topic {topic} doesn't end");
        match consumer.poll(Duration::from_millis(100)) {
            Some(Ok(message)) => {
                all.push((message.partition(), message.offset(), as_got(&message)))
            }
            Some(Err(KafkaError::PartitionEOF(_))) => open -= 1,
            Some(Err(error)) => panic!("{error}"),
            None => {}
        }
    }
    all.sort();
    all.into_iter().map(|(_, _, got)| got).collect()
}

fn as_got(message: &impl Message<Headers = rdkafka::message::BorrowedHeaders>) -> Got {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = message.headers().map(|headers| {
        let header = |h: rdkafka::message::Header<'_, &[u8]>| {
            (h.key.to_owned(), h.value.map(text).unwrap_or_default())
        };
        headers.iter().map(header).collect()
    });
    Got {
        key: message.key().map(text),
        value: message.payload().map(text),
        headers: headers.unwrap_or_default(),
    }
}
