//! Asking the brokers what a topic holds.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use partwise_stream::{Error, Result};
use rdkafka::config::{ClientConfig, FromClientConfigAndContext};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use rdkafka::{Offset, TopicPartitionList};

use super::offsets::Held;
use crate::cluster::{Cluster, Heard};

/// A consumer, and what it heard of its connections.
pub(crate) type Client = BaseConsumer<Heard>;

/// The setting that says whether a reader sees transactions that are open or were given up.
pub(crate) const ISOLATION: &str = "isolation.level";

/// What a reader sees of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// Those that are committed, up to the first that is open.
    Committed,
    /// All that is there.
    Uncommitted,
}

impl Isolation {
    fn name(self) -> &'static str {
        match self {
            Self::Committed => "read_committed",
            Self::Uncommitted => "read_uncommitted",
        }
    }
}

/// What readers have preset; the last three are theirs alone.
const PRESET: [(&str, &str); 8] = [
    // A name for the client: offsets are the checkpoint's, no group is joined.
    ("group.id", "partwise"),
    (ISOLATION, "read_committed"),
    // What a partition has fetched ahead: bounded for many of them.
    ("queued.max.messages.kbytes", "4096"),
    ("fetch.wait.max.ms", "100"),
    ("reconnect.backoff.max.ms", "2000"),
    ("enable.auto.commit", "false"),
    ("auto.offset.reset", "error"),
    ("enable.partition.eof", "true"),
];

/// Settings of readers that are not a user's to make. With `client.rack`, reads would go to
/// followers, whose end may lie before the leader's.
pub(crate) const OWNED: [&str; 5] = [
    "enable.auto.commit",
    "auto.offset.reset",
    "enable.partition.eof",
    "enable.auto.offset.store",
    "client.rack",
];

/// A topic of a cluster.
#[derive(Clone)]
pub(crate) struct Topic {
    cluster: Cluster,
    name: String,
}

impl Topic {
    pub fn new(cluster: Cluster, name: impl Into<String>) -> Self {
        Self { cluster, name: name.into() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// A consumer that sees what the settings have it see: what is committed, if nothing is said.
    ///
    /// # Errors
    /// Settings that librdkafka doesn't take.
    pub fn client(&self) -> Result<Client> {
        self.made(&self.cluster.config(&PRESET))
    }

    /// A consumer that sees this, whatever the settings say.
    ///
    /// # Errors
    /// Settings that librdkafka doesn't take.
    pub fn client_of(&self, isolation: Isolation) -> Result<Client> {
        let mut config = self.cluster.config(&PRESET);
        config.set(ISOLATION, isolation.name());
        self.made(&config)
    }

    fn made(&self, config: &ClientConfig) -> Result<Client> {
        let made = BaseConsumer::from_config_and_context(config, Heard::default());
        made.map_err(|error| self.cluster.failed("make a Kafka client", &error, &Heard::default()))
    }

    /// What each partition holds; none where there is no such topic.
    ///
    /// # Errors
    /// Brokers that can't be reached or don't answer.
    pub async fn look(&self, client: &Arc<Client>) -> Result<Option<BTreeMap<i32, Held>>> {
        let doing = format!("look into the topic '{}'", self.name);
        let (asked, name) = (Arc::clone(client), self.name.clone());
        let heard = client.context();
        let look = move |limit| held(&asked, &name, limit);
        self.cluster.ask(heard, &doing, look).await
    }

    /// There is no such topic.
    pub fn missing(&self) -> Error {
        Error::invalid(format!(
            "there is no topic '{}' at {}: make it first",
            self.name,
            self.cluster.servers()
        ))
    }
}

impl fmt::Debug for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Topic({} of {:?})", self.name, self.cluster)
    }
}

fn held(client: &Client, topic: &str, limit: Duration) -> KafkaResult<Option<BTreeMap<i32, Held>>> {
    // Connections report to this queue why they fail.
    let _ = client.poll(Duration::ZERO);
    let Some(partitions) = partitions(client, topic, limit)? else { return Ok(None) };
    let ends = |end| ends(client, topic, &partitions, end, limit);
    let (lows, highs) = match (ends(Offset::Beginning), ends(Offset::End)) {
        // Known by name, and not there yet or any more.
        (Err(error), _) | (_, Err(error)) if is_missing(&error) => return Ok(None),
        (lows, highs) => (lows?, highs?),
    };
    let held = |(partition, low): (i32, i64)| {
        highs.get(&partition).map(|high| (partition, Held { low, high: (*high).max(low) }))
    };
    Ok(Some(lows.into_iter().filter_map(held).collect()))
}

fn is_missing(error: &KafkaError) -> bool {
    let code = error.rdkafka_error_code();
    matches!(code, Some(Code::UnknownTopicOrPartition | Code::UnknownTopic))
}

/// The partitions of a topic.
fn partitions(client: &Client, topic: &str, limit: Duration) -> KafkaResult<Option<Vec<i32>>> {
    let metadata = client.fetch_metadata(Some(topic), limit)?;
    let Some(found) = metadata.topics().first() else { return Ok(None) };
    match found.error().map(Code::from) {
        Some(Code::UnknownTopicOrPartition | Code::UnknownTopic) => Ok(None),
        Some(code) => Err(KafkaError::MetadataFetch(code)),
        None => Ok(Some(found.partitions().iter().map(|partition| partition.id()).collect())),
    }
}

/// The first or last offsets, asked of each leader once.
fn ends(
    client: &Client,
    topic: &str,
    partitions: &[i32],
    end: Offset,
    limit: Duration,
) -> KafkaResult<BTreeMap<i32, i64>> {
    let mut asked = TopicPartitionList::with_capacity(partitions.len());
    for partition in partitions {
        asked.add_partition_offset(topic, *partition, end)?;
    }
    let answers = client.offsets_for_times(asked, limit)?;
    let mut ends = BTreeMap::new();
    for answer in answers.elements() {
        answer.error()?;
        match answer.offset() {
            Offset::Offset(offset) => ends.insert(answer.partition(), offset),
            _ => return Err(KafkaError::OffsetFetch(Code::OffsetNotAvailable)),
        };
    }
    Ok(ends)
}

/// The partition's own: what it holds, asked by one that reads it.
pub(super) fn held_by(
    client: &Client,
    topic: &str,
    partition: i32,
    limit: Duration,
) -> KafkaResult<Held> {
    let (low, high) = client.fetch_watermarks(topic, partition, limit)?;
    Ok(Held { low, high })
}
