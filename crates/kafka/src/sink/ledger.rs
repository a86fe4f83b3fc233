//! [`Ledger`]: the last batch of each query, written in the transaction that delivers it.
//!
//! A topic of its own, compacted, with one message for each batch: its key is the query's name and
//! its topic, its value the batch. It is visible if and only if the batch is, so that a batch that
//! is run again after a crash between Kafka's commit and the checkpoint's is recognised.

use std::sync::{Arc, Mutex, PoisonError};

use partwise_stream::sink::SinkQuery;
use partwise_stream::{Error, Result};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::config::FromClientConfig;
use rdkafka::message::Message;
use serde::{Deserialize, Serialize};

use super::encode::Outgoing;
use crate::cluster::{Cluster, Heard, blocking};
use crate::source::{Flow, Span, SpanReader, Topic};

/// The topic that is the ledger.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    topic: Topic,
}

/// A batch in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The query's id, of its checkpoint.
    pub id: String,
    pub batch: u64,
    pub digest: String,
}

impl Ledger {
    pub fn new(cluster: &Cluster, topic: &str) -> Self {
        Self { topic: Topic::new(cluster.clone(), topic) }
    }

    pub fn topic(&self) -> &str {
        self.topic.name()
    }

    /// A batch as a message.
    pub fn message(query: &str, into: &str, entry: &Entry) -> Result<Outgoing> {
        let value = serde_json::to_vec(entry);
        let value = value.map_err(|cause| Error::internal(format!("a ledger's entry: {cause}")))?;
        let key = Some(key(query, into));
        Ok(Outgoing { key, value: Some(value), ..Outgoing::default() })
    }

    /// The last batch of a query into a topic. The ledger is made if it is missing.
    ///
    /// # Errors
    /// Brokers that can't be reached; a ledger that can't be made; entries that are none.
    pub async fn last(&self, query: &str, into: &str) -> Result<Option<Entry>> {
        let client = Arc::new(self.topic.client()?);
        let Some(held) = self.topic.look(&client).await? else {
            self.make().await?;
            return Ok(None);
        };
        let key = key(query, into);
        let last: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
        for (partition, held) in held {
            let (topic, client) = (self.topic.clone(), Arc::clone(&client));
            let (last, key) = (Arc::clone(&last), key.clone());
            blocking(move || {
                let span = Span { from: held.low, until: held.high };
                let (topic, client) = (&topic, client.as_ref());
                let reader =
                    SpanReader { topic, client, partition, span, fail_on_data_loss: false };
                let mut note = |message: &rdkafka::message::BorrowedMessage<'_>| {
                    if message.key() == Some(key.as_slice()) {
                        let value = message.payload().map(<[u8]>::to_vec);
                        *last.lock().unwrap_or_else(PoisonError::into_inner) = value;
                    }
                    Ok(Flow::On)
                };
                reader.read(&mut note, &|| Flow::On)
            })
            .await??;
        }
        let last = last.lock().unwrap_or_else(PoisonError::into_inner).take();
        let entry = last.map(|value| serde_json::from_slice(&value)).transpose();
        entry.map_err(|cause| Error::corrupt(format!("the ledger '{}': {cause}", self.topic())))
    }

    async fn make(&self) -> Result<()> {
        let (cluster, heard, name) = (self.topic.cluster(), Heard::default(), self.topic());
        let doing = format!(
            "make the ledger's topic '{name}' (make it by hand, with cleanup.policy=compact, where \
             this user may not)"
        );
        let admin = AdminClient::from_config(&cluster.config(&[]));
        let admin = admin.map_err(|error| cluster.failed(&doing, &error, &heard))?;
        let topic = NewTopic::new(name, 1, TopicReplication::Fixed(-1));
        let topic = topic.set("cleanup.policy", "compact");
        let options = AdminOptions::new().request_timeout(Some(cluster.patience()));
        let made = admin.create_topics([&topic], &options).await;
        let made = made.map_err(|error| cluster.failed(&doing, &error, &heard))?;
        match made.into_iter().next() {
            Some(Err((_, code)))
                if code != rdkafka::error::RDKafkaErrorCode::TopicAlreadyExists =>
            {
                let error = rdkafka::error::KafkaError::AdminOp(code);
                Err(cluster.failed(&doing, &error, &heard))
            }
            _ => Ok(()),
        }
    }
}

fn key(query: &str, into: &str) -> Vec<u8> {
    serde_json::json!([query, into]).to_string().into_bytes()
}

/// Checks that what the ledger says of a query fits its checkpoint.
///
/// # Errors
/// Another checkpoint's batches; batches that were delivered and aren't there.
pub(super) fn check(ledger: &str, last: Option<&Entry>, query: &SinkQuery) -> Result<()> {
    let name = &query.name;
    if let Some(other) = last.filter(|last| last.id != query.id) {
        return Err(Error::refused(format!(
            "the topic has batches of a query {name} with another checkpoint (id {}, batch {} is \
             its last, says the ledger '{ledger}'): this one would send them again. Start it with \
             that checkpoint, or under another name",
            other.id, other.batch
        )));
    }
    let Some((batch, digest)) = &query.delivered else { return Ok(()) };
    match last {
        Some(last) if last.batch > *batch => Ok(()),
        Some(last) if last.batch == *batch && last.digest == *digest => Ok(()),
        Some(last) if last.batch == *batch => Err(other_input(ledger, name, *batch)),
        _ => Err(Error::refused(format!(
            "the checkpoint of {name} says that batch {batch} was delivered, and the ledger \
             '{ledger}' doesn't have it: the ledger or the topic was made anew, or another \
             'ledger' is meant. Name the right one, or start {name} with a new CHECKPOINT: it \
             reads its source from the beginning"
        ))),
    }
}

/// Whether the ledger has a batch.
///
/// # Errors
/// It has one of the same number with other input.
pub(super) fn has(
    ledger: &str,
    last: Option<&Entry>,
    query: &str,
    batch: u64,
    digest: &str,
    replayed: bool,
) -> Result<bool> {
    match last {
        Some(last) if last.batch == batch && last.digest == digest => Ok(true),
        // Planned before the restart, as it was when it was delivered.
        Some(last) if last.batch > batch && replayed => Ok(true),
        Some(last) if last.batch >= batch => Err(other_input(ledger, query, batch)),
        _ => Ok(false),
    }
}

fn other_input(ledger: &str, query: &str, batch: u64) -> Error {
    Error::refused(format!(
        "the ledger '{ledger}' has batch {batch} of {query} with other input: its checkpoint is a \
         copy that others have gone on from. Go on with the newest, or start under another name"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(batch: u64, digest: &str) -> Entry {
        Entry { id: "i".to_owned(), batch, digest: digest.to_owned() }
    }

    #[test]
    fn a_batch_is_known_by_its_number_and_digest() {
        let last = entry(7, "d");
        let has = |batch, digest, replayed| has("l", Some(&last), "q", batch, digest, replayed);
        assert!(has(7, "d", true).expect("known"));
        assert!(has(6, "x", true).expect("known"));
        assert!(!has(8, "x", false).expect("new"));
        assert!(has(7, "x", true).is_err());
        assert!(has(6, "x", false).is_err());
    }
}
