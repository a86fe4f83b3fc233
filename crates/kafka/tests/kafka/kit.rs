//! Clients that write and read topics, with the lab that all tests of streams have.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use partwise_kafka::KafkaSink;
use partwise_stream::{MemorySource, Result, SinkDefinition, StreamDefinition};
pub use partwise_streamkit::{copy_folder, forget_last_commit, rows, run, until_done};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{Headers, Message};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer};
use rdkafka::{Offset, TopicPartitionList};

/// librdkafka's own brokers, in this process.
pub type Mock = MockCluster<'static, DefaultProducerContext>;

/// A mock with a topic.
pub fn mock(topic: &str, partitions: i32) -> (Mock, String) {
    let mock = MockCluster::new(1).unwrap();
    mock.create_topic(topic, partitions, 1).unwrap();
    let servers = mock.bootstrap_servers();
    (mock, servers)
}

pub struct Lab(partwise_streamkit::Lab);

impl Deref for Lab {
    type Target = partwise_streamkit::Lab;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Lab {
    pub fn new() -> Self {
        Self(partwise_streamkit::Lab::new(partwise_kafka::register))
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
        self.0.memory("rows", schema, None)
    }

    /// The rows of a query over the table `t` of Partwise in a directory, in order.
    pub async fn table(&self, dir: impl AsRef<Path>, sql: &str) -> Vec<String> {
        self.0.table(dir, "t", sql).await
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
