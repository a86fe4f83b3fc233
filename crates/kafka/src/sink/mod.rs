//! Topics as sinks.
//!
//! ```text
//! encode       rows -> messages: key, value, headers
//! floats       NaN and the infinities as texts
//! producer     messages -> all acknowledged by all replicas, or an error
//! transaction  open until it is committed or given up
//! ledger       which batch was the last, in the same transaction
//! ```

mod definition;
mod encode;
mod floats;
mod ledger;
mod producer;
mod transaction;

pub use definition::KafkaSinkFactory;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::execute_stream_partitioned;
use futures::StreamExt;
use futures::future::try_join_all;
use partwise_stream::sink::delivery::Last;
use partwise_stream::sink::{Sink, SinkBatch, SinkQuery, Written};
use partwise_stream::{Error, Result};

use crate::cluster::Cluster;
use crate::source::Topic;
use definition::OutFormat;
use encode::Encoder;
use ledger::{Entry, Ledger};
use producer::{Producer, Tally};
use transaction::Transaction;

/// The most rows that are encoded at once.
const ROWS: usize = 4_096;

/// Rows as messages of a topic.
pub struct KafkaSink {
    cluster: Cluster,
    topic: Option<String>,
    format: OutFormat,
    keys: Vec<String>,
    ledger: Option<Ledger>,
    open: Mutex<HashMap<String, Arc<Session>>>,
}

/// A query that writes.
struct Session {
    producer: Arc<Producer>,
    encoder: Encoder,
    /// The last batch in the ledger.
    last: Mutex<Option<Entry>>,
}

impl KafkaSink {
    fn of(
        cluster: Cluster,
        topic: Option<String>,
        format: OutFormat,
        keys: Vec<String>,
        ledger: Option<String>,
    ) -> Self {
        let ledger = ledger.map(|topic| Ledger::new(&cluster, &topic));
        Self { cluster, topic, format, keys, ledger, open: Mutex::default() }
    }

    /// The topic in words; where the rows choose, it is in each of them.
    fn topic(&self) -> &str {
        self.topic.as_deref().unwrap_or("*")
    }

    fn words(&self, at: &str) -> String {
        let ledger = self.ledger.as_ref().map(|ledger| format!(", ledger '{}'", ledger.topic()));
        let (topic, format) = (self.topic(), self.format.name());
        format!("KAFKA '{topic}'{at} ({format}{})", ledger.unwrap_or_default())
    }

    /// A map that a panic leaves whole.
    fn open_ones(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn check_topic(&self) -> Result<()> {
        let Some(topic) = &self.topic else { return Ok(()) };
        let topic = Topic::new(self.cluster.clone(), topic);
        let client = Arc::new(topic.client()?);
        topic.look(&client).await?.map(drop).ok_or_else(|| topic.missing())
    }

    /// Sends the rows; how many there were.
    async fn send(&self, session: &Session, batch: &SinkBatch, tally: &Arc<Tally>) -> Result<u64> {
        let plan = batch.rows.as_plan()?;
        let tasks = execute_stream_partitioned(plan, batch.state.task_ctx())?;
        let sent = AtomicU64::new(0);
        let send = |(task, rows): (usize, SendableRecordBatchStream)| {
            self.send_task(session, batch, tally, task, rows, &sent)
        };
        try_join_all(tasks.into_iter().enumerate().map(send)).await?;
        Ok(sent.into_inner())
    }

    /// Sends the rows of one of the plan's tasks. A row is known by its task and its number there,
    /// which are the same when the batch is run again.
    async fn send_task(
        &self,
        session: &Session,
        batch: &SinkBatch,
        tally: &Arc<Tally>,
        task: usize,
        mut rows: SendableRecordBatchStream,
        sent: &AtomicU64,
    ) -> Result<()> {
        let (query, number) = (batch.query.full_name(), batch.batch.to_string());
        let mut row = 0_u64;
        while let Some(rows) = rows.next().await {
            let rows = rows?;
            if self.ledger.is_none() && rows.num_rows() > 0 {
                batch.gives_out();
            }
            for from in (0..rows.num_rows()).step_by(ROWS) {
                let slice = rows.slice(from, ROWS.min(rows.num_rows() - from));
                for mut message in session.encoder.messages(&slice)? {
                    let id = format!("{task}.{row}");
                    let own = [("query", &query), ("batch", &number), ("row", &id)];
                    message.headers.extend(own.map(|(name, value)| {
                        (format!("partwise.{name}"), Some(value.clone().into_bytes()))
                    }));
                    let topic = message.topic.take();
                    let topic = topic.as_deref().or(self.topic.as_deref());
                    let topic = topic.ok_or_else(no_topic)?;
                    session.producer.send(topic, &message, tally).await?;
                    row += 1;
                }
            }
        }
        sent.fetch_add(row, Ordering::Relaxed);
        Ok(())
    }

    async fn deliver(
        &self,
        session: &Session,
        batch: &SinkBatch,
        tally: &Arc<Tally>,
    ) -> Result<u64> {
        let sent = self.send(session, batch, tally).await?;
        session.producer.all_arrived(self.topic(), tally).await?;
        Ok(sent)
    }

    /// The rows and the ledger's entry in one transaction.
    async fn transact(
        &self,
        session: &Session,
        batch: &SinkBatch,
        ledger: &Ledger,
    ) -> Result<Written> {
        let name = &batch.query.name;
        let known = {
            let last = session.last.lock().unwrap_or_else(PoisonError::into_inner);
            ledger::has(ledger.topic(), last.as_ref(), name, numbers(batch), batch.replayed)?
        };
        if known {
            return Ok(Written::Already);
        }
        let (id, digest) = (batch.query.id.clone(), batch.digest.clone());
        let entry = Entry { id, batch: batch.batch, digest };
        let note = Ledger::message(name, self.topic(), &entry)?;
        let transaction = Transaction::begin(&session.producer)?;
        let tally = Arc::new(Tally::default());
        let delivered = async {
            let sent = self.deliver(session, batch, &tally).await?;
            session.producer.send(ledger.topic(), &note, &tally).await?;
            session.producer.all_arrived(ledger.topic(), &tally).await?;
            Ok(sent)
        };
        let sent = match delivered.await {
            Ok(sent) => sent,
            Err(error) => return Err(transaction.abort(&tally, error).await),
        };
        transaction.commit().await?;
        *session.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(entry);
        Ok(Written::Rows(sent))
    }
}

/// The batch before a batch, and the batch.
fn numbers(batch: &SinkBatch) -> (Option<Last<String>>, Last<String>) {
    (batch.previous.clone(), (batch.batch, batch.digest.clone()))
}

fn no_topic() -> Error {
    Error::invalid("a row whose column `topic` is NULL, and the sink has no 'topic' of its own")
}

#[async_trait]
impl Sink for KafkaSink {
    fn replaces_rows(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        let at = format!(" at {}", self.cluster.servers());
        self.words(&at)
    }

    /// Without the servers: a cluster goes on under other addresses.
    fn identity(&self) -> String {
        self.words("")
    }

    fn keys(&self) -> &[String] {
        &self.keys
    }

    async fn open(&self, query: &SinkQuery) -> Result<()> {
        let encoder = Encoder::new(self.format, query, self.topic.is_some())?;
        self.check_topic().await?;
        let id = format!("partwise-{}", query.id);
        let id = self.ledger.as_ref().map(|_| id.as_str());
        let producer = Arc::new(Producer::new(&self.cluster, id)?);
        let mut last = None;
        if let Some(ledger) = &self.ledger {
            // First, so that a transaction that is still open is over before the ledger is read.
            producer.take_over().await?;
            last = ledger.last(&query.name, self.topic()).await?;
            ledger::check(ledger.topic(), last.as_ref(), query)?;
        }
        let session = Session { producer, encoder, last: Mutex::new(last) };
        self.open_ones().insert(query.id.clone(), Arc::new(session));
        Ok(())
    }

    async fn write(&self, batch: SinkBatch) -> Result<Written> {
        let session = self.open_ones().get(&batch.query.id).map(Arc::clone);
        let session = session.ok_or_else(|| Error::internal("a batch before its sink is open"))?;
        let written = match &self.ledger {
            Some(ledger) => self.transact(&session, &batch, ledger).await,
            None => self.deliver(&session, &batch, &Arc::default()).await.map(Written::Rows),
        };
        if written.is_err() {
            // What is still on its way is given up with the producer.
            self.open_ones().remove(&batch.query.id);
        }
        written
    }

    async fn lacks(&self, batch: &SinkBatch) -> Result<bool> {
        let Some(ledger) = &self.ledger else { return Ok(false) };
        let last = ledger.last(&batch.query.name, self.topic()).await?;
        let (previous, batch) = numbers(batch);
        Ok(Entry::precedes(last.as_ref(), previous, batch))
    }
}

impl fmt::Debug for KafkaSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaSink")
            .field("cluster", &self.cluster)
            .field("topic", &self.topic)
            .field("format", &self.format)
            .field("keys", &self.keys)
            .field("ledger", &self.ledger)
            .finish_non_exhaustive()
    }
}
