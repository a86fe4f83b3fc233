//! [`Ledger`]: the last batch of each query, written in the transaction that delivers it.
//!
//! A topic of its own, compacted, with one message for each batch: its key is the query's name and
//! its topic, its value the batch. It is visible if and only if the batch is, so that a batch that
//! is run again after a crash between Kafka's commit and the checkpoint's is recognised.

use std::sync::Arc;
use std::time::{Duration, Instant};

use partwise_stream::sink::SinkQuery;
use partwise_stream::sink::delivery::{Last, Place, Verdict, fits, verdict};
use partwise_stream::{Error, ErrorKind, Result};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::config::FromClientConfig;
use rdkafka::message::{BorrowedMessage, Message};
use serde::{Deserialize, Serialize};

use super::encode::Outgoing;
use crate::cluster::{Cluster, Heard, blocking};
use crate::source::{Client, Flow, Held, Isolation, Span, SpanReader, Topic};

/// The one that is written and read, however many the topic has: entries have an order.
const PARTITION: i32 = 0;
/// Between two looks at a ledger that isn't ready.
const PAUSE: Duration = Duration::from_millis(100);

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

impl Entry {
    fn last(&self) -> Last<String> {
        (self.batch, self.digest.clone())
    }

    /// Whether the ledger, whose last entry this is, has all before a batch and not the batch.
    pub fn precedes(
        last: Option<&Self>,
        previous: Option<Last<String>>,
        batch: Last<String>,
    ) -> bool {
        verdict(last.map(Self::last), previous, batch) == Ok(Verdict::Write)
    }
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
        let partition = Some(PARTITION);
        Ok(Outgoing { key, value: Some(value), partition, ..Outgoing::default() })
    }

    /// The last batch of a query into a topic. The ledger is made if it is missing.
    ///
    /// # Errors
    /// Brokers that can't be reached; a ledger that can't be made; a transaction in it that stays
    /// open; entries that are none.
    pub async fn last(&self, query: &str, into: &str) -> Result<Option<Entry>> {
        // All that is there now, what isn't committed as well: an open transaction hides what others
        // have committed behind it.
        let all = Arc::new(self.topic.client_of(Isolation::Uncommitted)?);
        let Held { low, high } = self.held(&all).await?;
        let client = Arc::new(self.topic.client_of(Isolation::Committed)?);
        self.settled(&client, high).await?;
        let (topic, key) = (self.topic.clone(), key(query, into));
        let last = blocking(move || newest(&topic, &client, Span { from: low, until: high }, &key));
        let entry = last.await??.map(|value| serde_json::from_slice(&value)).transpose();
        entry.map_err(|cause| Error::corrupt(format!("the ledger '{}': {cause}", self.topic())))
    }

    /// What the ledger holds. It is there once it was made, if not at once.
    async fn held(&self, client: &Arc<Client>) -> Result<Held> {
        let started = Instant::now();
        loop {
            let held = self.topic.look(client).await?;
            if let Some(held) = held.and_then(|held| held.get(&PARTITION).copied()) {
                return Ok(held);
            }
            if started.elapsed() > self.topic.cluster().patience() {
                return Err(Error::new(
                    ErrorKind::Unavailable,
                    format!("the ledger's topic '{}' was made and isn't there yet", self.topic()),
                ));
            }
            self.make().await?;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until no transaction is open before an offset.
    async fn settled(&self, client: &Arc<Client>, until: i64) -> Result<()> {
        let started = Instant::now();
        while self.held(client).await?.high < until {
            if started.elapsed() > self.topic.cluster().patience() {
                return Err(open_for(self.topic(), started.elapsed()));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
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

/// The value of the last message of a key.
fn newest(topic: &Topic, client: &Client, span: Span, key: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut last = None;
    let reader = SpanReader { topic, client, partition: PARTITION, span, fail_on_data_loss: false };
    let mut note = |message: &BorrowedMessage<'_>| {
        if message.key() == Some(key) {
            last = message.payload().map(<[u8]>::to_vec);
        }
        Ok(Flow::On)
    };
    reader.read(&mut note, &|| Flow::On)?;
    Ok(last)
}

fn open_for(ledger: &str, waited: Duration) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!(
            "the ledger '{ledger}' can't be read to its end: a transaction of another query has been \
             open in it for {} s, and what lies behind can't be told yet. It ends when that query goes \
             on or is started again, at the latest after its 'kafka.transaction.timeout.ms', ten \
             minutes if nothing is said. Start this one again then; 'timeout_seconds' has it wait \
             longer, and with a 'ledger' of its own a query waits for nobody",
            waited.as_secs()
        ),
    )
}

/// Checks that what the ledger says of a query fits its checkpoint.
///
/// # Errors
/// Another checkpoint's batches; batches that were delivered and aren't there.
pub(super) fn check(ledger: &str, last: Option<&Entry>, query: &SinkQuery) -> Result<()> {
    if let Some(other) = last.filter(|last| last.id != query.id) {
        let lost = |place: Place<'_>| place.lost_checkpoint(Some(other.batch));
        return Err(refusal(ledger, &query.name, lost));
    }
    fits(last.map(Entry::last), query.delivered.clone())
        .map_err(|misfit| refusal(ledger, &query.name, |place| place.misfit(misfit)))
}

/// Whether the ledger has a batch.
///
/// # Errors
/// It has one of the same number with other input, or lacks the one before it.
pub(super) fn has(
    ledger: &str,
    last: Option<&Entry>,
    query: &str,
    (previous, batch): (Option<Last<String>>, Last<String>),
    replayed: bool,
) -> Result<bool> {
    let number = batch.0;
    match verdict(last.map(Entry::last), previous, batch) {
        Ok(Verdict::Write) => Ok(false),
        Ok(Verdict::Already) => Ok(true),
        // Planned before the restart, as it was when it was delivered.
        Ok(Verdict::Older) if replayed => Ok(true),
        Ok(Verdict::Older) => Err(refusal(ledger, query, |place| place.other_input(number))),
        Err(misfit) => Err(refusal(ledger, query, |place| place.misfit(misfit))),
    }
}

/// A refusal, with the ledger's ways on.
fn refusal(ledger: &str, query: &str, of: impl FnOnce(Place<'_>) -> Error) -> Error {
    of(Place {
        name: &format_args!("the ledger '{ledger}'"),
        query,
        empty: &"empty the topic and name a new 'ledger'",
        restore: &"name the 'ledger' that it was delivered with",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_known_by_its_number_and_digest() {
        let last = Entry { id: "i".to_owned(), batch: 7, digest: "d".to_owned() };
        let of = |batch: u64, digest: &str| (batch, digest.to_owned());
        let has = |before, batch, replayed| has("l", Some(&last), "q", (before, batch), replayed);
        assert!(has(Some(of(6, "c")), of(7, "d"), true).expect("known"));
        assert!(has(None, of(6, "x"), true).expect("known"));
        assert!(!has(Some(of(7, "d")), of(8, "x"), false).expect("new"));
        assert!(has(Some(of(6, "c")), of(7, "x"), true).is_err());
        assert!(has(None, of(6, "x"), false).is_err());
        assert!(has(Some(of(8, "e")), of(9, "f"), false).is_err());
    }
}
