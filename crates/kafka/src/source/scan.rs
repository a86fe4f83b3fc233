//! A plan of exactly the messages of a batch, a task for each partition.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result as DFResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use partwise_stream::Result;
use tokio::sync::mpsc::Sender;

use super::KafkaSource;
use super::offsets::{BatchOffsets, Span};
use super::span::{Flow, SpanReader};
use super::topic::{Client, Topic};
use crate::rows::{Message, RowDecoder};

/// The most that messages take before they become rows.
const PIECE_BYTES: usize = 4 << 20;
/// Pieces of rows that wait for the query.
const AHEAD: usize = 2;

pub(super) fn plan(
    source: &KafkaSource,
    reading: &Reading,
    batch: &BatchOffsets,
    projection: &[usize],
) -> Result<Arc<dyn ExecutionPlan>> {
    reading.begin();
    let columns = source.columns.project(projection)?;
    let schema = Arc::clone(columns.schema());
    let task = |(partition, span): (&i32, &Span)| -> Arc<dyn PartitionStream> {
        let decoder = RowDecoder {
            columns: columns.clone(),
            on_bad: source.on_bad,
            topic: source.topic.name().to_owned(),
            partition: *partition,
        };
        Arc::new(PartitionTask(Work {
            topic: source.topic.clone(),
            reading: reading.clone(),
            partition: *partition,
            span: *span,
            fail_on_data_loss: source.fail_on_data_loss,
            decoder,
        }))
    };
    let spans = batch.partitions.iter().filter(|(_, span)| span.offsets() > 0);
    let tasks: Vec<_> = spans.map(task).collect();
    if tasks.is_empty() {
        return Ok(Arc::new(EmptyExec::new(schema)));
    }
    Ok(Arc::new(StreamingTableExec::try_new(schema, tasks, None, [], false, None)?))
}

/// What the tasks of a query share.
#[derive(Clone, Default)]
pub(super) struct Reading {
    /// Clients that have read and can read again: connecting takes longer than a small batch.
    clients: Arc<Mutex<Vec<Client>>>,
    /// Messages of the batch that were no rows.
    bad: Arc<AtomicU64>,
}

impl Reading {
    /// Begins a batch.
    fn begin(&self) {
        self.bad.store(0, Ordering::Relaxed);
    }

    pub fn bad(&self) -> u64 {
        self.bad.load(Ordering::Relaxed)
    }

    fn take(&self, topic: &Topic) -> Result<Client> {
        let idle = self.clients.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| topic.client(), Ok)
    }

    fn put(&self, client: Client) {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).push(client);
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reading(bad: {})", self.bad())
    }
}

/// A partition of a batch.
#[derive(Clone, Debug)]
struct Work {
    topic: Topic,
    reading: Reading,
    partition: i32,
    span: Span,
    fail_on_data_loss: bool,
    decoder: RowDecoder,
}

#[derive(Debug)]
struct PartitionTask(Work);

impl PartitionStream for PartitionTask {
    fn schema(&self) -> &SchemaRef {
        self.0.decoder.columns.schema()
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = context.session_config().batch_size();
        let schema = Arc::clone(self.schema());
        let mut builder = RecordBatchReceiverStream::builder(schema, AHEAD);
        let (work, out) = (self.0.clone(), builder.tx());
        builder.spawn_blocking(move || Ok(work.run(rows, &out)?));
        builder.build()
    }
}

impl Work {
    fn run(&self, rows: usize, out: &Sender<DFResult<RecordBatch>>) -> Result<()> {
        let client = self.reading.take(&self.topic)?;
        let reader = SpanReader {
            topic: &self.topic,
            client: &client,
            partition: self.partition,
            span: self.span,
            fail_on_data_loss: self.fail_on_data_loss,
        };
        let mut piece = Piece { work: self, out, rows, bytes: 0, messages: vec![] };
        let wanted = self.decoder.columns.wanted();
        // Nobody waits for rows any more: the query was given up.
        let idle = || if out.is_closed() { Flow::Stop } else { Flow::On };
        reader.read(&mut |message| piece.add(Message::of(message, wanted)), &idle)?;
        piece.give()?;
        self.reading.put(client);
        Ok(())
    }
}

/// Messages that become rows together.
struct Piece<'a> {
    work: &'a Work,
    out: &'a Sender<DFResult<RecordBatch>>,
    rows: usize,
    bytes: usize,
    messages: Vec<Message>,
}

impl Piece<'_> {
    fn add(&mut self, message: Message) -> Result<Flow> {
        self.bytes += message.bytes();
        self.messages.push(message);
        if self.messages.len() < self.rows && self.bytes < PIECE_BYTES {
            return Ok(Flow::On);
        }
        self.give()
    }

    fn give(&mut self) -> Result<Flow> {
        if self.messages.is_empty() {
            return Ok(Flow::On);
        }
        let (rows, bad) = self.work.decoder.rows(&self.messages)?;
        self.work.reading.bad.fetch_add(bad, Ordering::Relaxed);
        self.messages.clear();
        self.bytes = 0;
        let sent = self.out.blocking_send(Ok::<_, DataFusionError>(rows));
        Ok(if sent.is_ok() { Flow::On } else { Flow::Stop })
    }
}
