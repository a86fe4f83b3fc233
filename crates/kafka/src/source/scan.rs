//! A plan of exactly the messages of a batch: its partitions, dealt out to the query's tasks.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result as DFResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use partwise_stream::Result;
use partwise_stream::source::ReadRequest;
use tokio::sync::mpsc::Sender;

use super::KafkaSource;
use super::offsets::{BatchOffsets, Span};
use super::span::{Flow, SpanReader};
use super::topic::{Client, Topic};
use crate::rows::{Message, OnBadRecord, RowColumns, RowDecoder};

/// The most that messages take before they become rows.
const PIECE_BYTES: usize = 4 << 20;
/// Pieces of rows that wait for the query.
const AHEAD: usize = 2;

pub(super) fn plan(
    source: &KafkaSource,
    reading: &Reading,
    batch: &BatchOffsets,
    request: ReadRequest<'_>,
) -> Result<Arc<dyn ExecutionPlan>> {
    reading.begin();
    let columns = source.columns.project(request.projection)?;
    let schema = Arc::clone(columns.schema());
    let tasks = dealt(batch, request.state.config().target_partitions());
    let task = |(number, spans): (usize, Vec<(i32, Span)>)| -> Arc<dyn PartitionStream> {
        Arc::new(Task(Work {
            topic: source.topic.clone(),
            reading: reading.clone(),
            columns: columns.clone(),
            on_bad: source.on_bad,
            fail_on_data_loss: source.fail_on_data_loss,
            number,
            spans,
        }))
    };
    let tasks: Vec<_> = tasks.into_iter().enumerate().map(task).collect();
    if tasks.is_empty() {
        return Ok(Arc::new(EmptyExec::new(schema)));
    }
    Ok(Arc::new(StreamingTableExec::try_new(schema, tasks, None, [], false, None)?))
}

/// The partitions that have something, one after another to each of at most `tasks`: a client reads
/// for each. The same batch is dealt out in the same way again.
fn dealt(batch: &BatchOffsets, tasks: usize) -> Vec<Vec<(i32, Span)>> {
    let spans = batch.partitions.iter().filter(|(_, span)| span.offsets() > 0);
    let spans: Vec<(i32, Span)> = spans.map(|(partition, span)| (*partition, *span)).collect();
    let mut dealt = vec![Vec::new(); tasks.max(1).min(spans.len())];
    let tasks = dealt.len();
    for (at, span) in spans.into_iter().enumerate() {
        dealt[at % tasks].push(span);
    }
    dealt
}

/// What the tasks of a query share.
#[derive(Clone, Default)]
pub(super) struct Reading {
    /// Clients that have read and can read again: connecting takes longer than a small batch.
    clients: Arc<Mutex<Vec<Client>>>,
    /// By task, the messages of the batch that were no rows.
    bad: Arc<Mutex<BTreeMap<usize, Arc<AtomicU64>>>>,
}

impl Reading {
    /// Begins a batch.
    fn begin(&self) {
        self.counts().clear();
    }

    /// Begins a task, from zero: a sink may run the plan again.
    fn count(&self, task: usize) -> Arc<AtomicU64> {
        let count = Arc::default();
        self.counts().insert(task, Arc::clone(&count));
        count
    }

    pub fn bad(&self) -> u64 {
        self.counts().values().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<AtomicU64>>> {
        self.bad.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Partitions of a batch that are read one after another.
#[derive(Clone, Debug)]
struct Work {
    topic: Topic,
    reading: Reading,
    columns: RowColumns,
    on_bad: OnBadRecord,
    fail_on_data_loss: bool,
    number: usize,
    spans: Vec<(i32, Span)>,
}

#[derive(Debug)]
struct Task(Work);

impl PartitionStream for Task {
    fn schema(&self) -> &SchemaRef {
        self.0.columns.schema()
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(self.schema());
        let mut builder = RecordBatchReceiverStream::builder(schema, AHEAD);
        let (work, rows) = (self.0.clone(), context.session_config().batch_size());
        let out = Out { to: builder.tx(), rows, bad: work.reading.count(work.number) };
        builder.spawn_blocking(move || Ok(work.run(&out)?));
        builder.build()
    }
}

/// Where the rows of a task go.
struct Out {
    to: Sender<DFResult<RecordBatch>>,
    /// The most rows of a piece.
    rows: usize,
    bad: Arc<AtomicU64>,
}

impl Work {
    fn run(&self, out: &Out) -> Result<()> {
        let client = self.reading.take(&self.topic)?;
        for (partition, span) in &self.spans {
            self.read(&client, *partition, *span, out)?;
        }
        self.reading.put(client);
        Ok(())
    }

    fn read(&self, client: &Client, partition: i32, span: Span, out: &Out) -> Result<()> {
        let reader = SpanReader {
            topic: &self.topic,
            client,
            partition,
            span,
            fail_on_data_loss: self.fail_on_data_loss,
        };
        let decoder = RowDecoder {
            columns: self.columns.clone(),
            on_bad: self.on_bad,
            topic: self.topic.name().to_owned(),
            partition,
        };
        let mut piece = Piece { decoder, out, bytes: 0, messages: vec![] };
        let wanted = self.columns.wanted();
        // Nobody waits for rows any more: the query was given up.
        let idle = || if out.to.is_closed() { Flow::Stop } else { Flow::On };
        reader.read(&mut |message| piece.add(Message::of(message, wanted)), &idle)?;
        piece.give().map(drop)
    }
}

/// Messages that become rows together.
struct Piece<'a> {
    decoder: RowDecoder,
    out: &'a Out,
    bytes: usize,
    messages: Vec<Message>,
}

impl Piece<'_> {
    fn add(&mut self, message: Message) -> Result<Flow> {
        self.bytes += message.bytes();
        self.messages.push(message);
        if self.messages.len() < self.out.rows && self.bytes < PIECE_BYTES {
            return Ok(Flow::On);
        }
        self.give()
    }

    fn give(&mut self) -> Result<Flow> {
        if self.messages.is_empty() {
            return Ok(Flow::On);
        }
        let (rows, bad) = self.decoder.rows(&self.messages)?;
        self.out.bad.fetch_add(bad, Ordering::Relaxed);
        self.messages.clear();
        self.bytes = 0;
        let sent = self.out.to.blocking_send(Ok::<_, DataFusionError>(rows));
        Ok(if sent.is_ok() { Flow::On } else { Flow::Stop })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_dealt_out_to_the_tasks_in_the_same_way_each_time() {
        let span = |partition: i32| (partition, Span { from: 0, until: i64::from(partition % 4) });
        let partitions = (0..10).map(span).collect();
        let batch = BatchOffsets { topic: "t".to_owned(), partitions };
        let of = |tasks| -> Vec<Vec<i32>> {
            let names = |spans: Vec<(i32, Span)>| spans.into_iter().map(|(name, _)| name).collect();
            dealt(&batch, tasks).into_iter().map(names).collect()
        };
        // Those that end where they begin are left out.
        assert_eq!(of(3), [vec![1, 5, 9], vec![2, 6], vec![3, 7]]);
        assert_eq!(of(100).len(), 7);
        assert_eq!(of(0).len(), 1);
        assert!(dealt(&BatchOffsets::default(), 4).is_empty());
    }
}
