//! Sending messages and knowing that they have arrived.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use partwise_stream::{Error, Result};
use rdkafka::ClientContext;
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{
    BaseRecord, DeliveryResult, Producer as _, ProducerContext, ThreadedProducer,
};
use tokio::sync::Notify;

use super::encode::Outgoing;
use crate::cluster::{Cluster, Heard};

/// Settings of writers that are not a user's to make.
pub(super) const OWNED: [&str; 3] = ["acks", "enable.idempotence", "transactional.id"];

/// How long to wait for room among the messages on their way, before trying again.
const ROOM: Duration = Duration::from_millis(50);
/// How long a transaction may be open: a batch is run within it.
const TRANSACTION_MS: u64 = 600_000;

/// The setting for that.
pub(super) const TIMEOUT: &str = "transaction.timeout.ms";

/// What brokers say to a producer whose transactional id another one has taken.
pub(super) const FENCED: [Code; 3] =
    [Code::ProducerFenced, Code::Fenced, Code::InvalidProducerEpoch];

/// A producer and what it heard.
pub(super) struct Producer {
    pub(super) cluster: Cluster,
    pub(super) client: ThreadedProducer<Deliveries>,
    /// How long Kafka lets a transaction be open.
    pub(super) limit: Duration,
}

/// Tells each batch of its messages.
#[derive(Debug, Default)]
pub(super) struct Deliveries(Heard);

impl ClientContext for Deliveries {
    fn error(&self, error: KafkaError, reason: &str) {
        self.0.error(error, reason);
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Arc<Tally>;

    fn delivery(&self, result: &DeliveryResult<'_>, tally: Arc<Tally>) {
        tally.arrived(result.as_ref().err().map(|(error, _)| error.clone()));
    }
}

/// The messages of a batch that are on their way.
#[derive(Debug, Default)]
pub(super) struct Tally {
    waiting: AtomicU64,
    failed: Mutex<Option<KafkaError>>,
    moved: Notify,
}

impl Tally {
    fn arrived(&self, error: Option<KafkaError>) {
        if let Some(error) = error {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            // Fencing has what waits behind it fail for other reasons.
            if failed.is_none() || is_fenced(&error) {
                *failed = Some(error);
            }
        }
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        self.moved.notify_one();
    }

    pub(super) fn failed(&self) -> Option<KafkaError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Producer {
    /// A producer whose messages are acknowledged by all replicas and never doubled by a retry;
    /// with an id, for transactions.
    ///
    /// # Errors
    /// Settings that librdkafka doesn't take.
    pub fn new(cluster: &Cluster, transactional_id: Option<&str>) -> Result<Self> {
        let patience = cluster.patience().as_millis().to_string();
        let transaction = TRANSACTION_MS.max(cluster.patience().as_millis() as u64).to_string();
        let mut config = cluster.config(&[
            // What is on its way is bounded.
            ("queue.buffering.max.kbytes", "65536"),
            // Where Java's clients would put a key.
            ("partitioner", "murmur2_random"),
            ("message.timeout.ms", &patience),
            ("reconnect.backoff.max.ms", "2000"),
        ]);
        config.set("acks", "all").set("enable.idempotence", "true");
        if let Some(id) = transactional_id {
            config.set("transactional.id", id);
            if config.get(TIMEOUT).is_none() {
                config.set(TIMEOUT, transaction);
            }
        }
        let made = ThreadedProducer::from_config_and_context(&config, Deliveries::default());
        let heard = Heard::default();
        let client = made.map_err(|error| cluster.failed("make a Kafka client", &error, &heard))?;
        let limit = config.get(TIMEOUT).and_then(|said| said.parse().ok());
        let limit = Duration::from_millis(limit.unwrap_or(TRANSACTION_MS));
        Ok(Self { cluster: cluster.clone(), client, limit })
    }

    /// Sends a message; it is on its way then.
    ///
    /// # Errors
    /// A message that can't be sent, or one of the batch that didn't arrive.
    pub async fn send(&self, topic: &str, message: &Outgoing, tally: &Arc<Tally>) -> Result<()> {
        if let Some(error) = tally.failed() {
            return Err(self.undelivered(topic, &error));
        }
        let mut record = record(topic, message, tally);
        tally.waiting.fetch_add(1, Ordering::AcqRel);
        loop {
            let (error, back) = match self.client.send(record) {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            };
            if error.rdkafka_error_code() != Some(Code::QueueFull) {
                tally.waiting.fetch_sub(1, Ordering::AcqRel);
                return Err(self.undelivered(topic, &error));
            }
            record = back;
            let _ = tokio::time::timeout(ROOM, tally.moved.notified()).await;
        }
    }

    /// Waits until all messages of a batch have arrived: each does, or fails, within the patience.
    ///
    /// # Errors
    /// One that didn't arrive.
    pub async fn all_arrived(&self, topic: &str, tally: &Tally) -> Result<()> {
        while tally.waiting.load(Ordering::Acquire) > 0 {
            let _ = tokio::time::timeout(ROOM, tally.moved.notified()).await;
        }
        match tally.failed() {
            Some(error) => Err(self.undelivered(topic, &error)),
            None => Ok(()),
        }
    }

    fn undelivered(&self, topic: &str, error: &KafkaError) -> Error {
        let doing = format!("send a batch to the topic '{topic}'");
        if is_fenced(error) {
            return fenced();
        }
        match error.rdkafka_error_code() {
            Some(Code::MessageTimedOut) => self.cluster.gave_up(&doing, error, self.heard()),
            _ => self.cluster.failed(&doing, error, self.heard()),
        }
    }

    pub(super) fn heard(&self) -> &Heard {
        &self.client.context().0
    }

    /// Takes the transactional id: what another producer of the id had open is given up, and it
    /// can't go on.
    ///
    /// # Errors
    /// Brokers that can't be reached, or can't do transactions.
    pub async fn take_over(self: &Arc<Self>) -> Result<()> {
        let client = Arc::clone(self);
        let take = move |limit| client.client.init_transactions(limit);
        let doing = "begin transactions (the broker has to support them)";
        self.cluster.ask(self.heard(), doing, take).await
    }
}

fn record<'a>(
    topic: &'a str,
    message: &'a Outgoing,
    tally: &Arc<Tally>,
) -> BaseRecord<'a, [u8], [u8], Arc<Tally>> {
    let mut record = BaseRecord::with_opaque_to(topic, Arc::clone(tally));
    record.key = message.key.as_deref();
    record.payload = message.value.as_deref();
    record.partition = message.partition;
    let headers = message.headers.iter().fold(OwnedHeaders::new(), |headers, (key, value)| {
        headers.insert(Header { key, value: value.as_deref() })
    });
    record.headers(headers)
}

/// Whether the brokers say that another producer has the id.
pub(super) fn is_fenced(error: &KafkaError) -> bool {
    error.rdkafka_error_code().is_some_and(|code| FENCED.contains(&code))
}

/// Another producer has the id.
pub(super) fn fenced() -> Error {
    Error::conflict(
        "another instance of the query has begun to write in its place, and Kafka takes no more \
         from this one: the other goes on",
    )
}
