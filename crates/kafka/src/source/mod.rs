//! Topics as sources.
//!
//! ```text
//! topic    the brokers -> what each partition holds now
//! offsets  held, position -> from/until of each partition: the batch's exact input
//! scan     offsets -> a plan, the partitions dealt out to its tasks
//! span     a partition: messages from .. until, whatever gaps are among them -> rows
//! ```

mod definition;
mod offsets;
mod scan;
mod span;
mod start;
mod topic;

pub use definition::KafkaSourceFactory;
pub(crate) use offsets::{Held, Span};
pub(crate) use span::{Flow, SpanReader};
pub(crate) use topic::{Client, ISOLATION, Isolation, OWNED, Topic};

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::context::SessionState;
use datafusion::physical_plan::ExecutionPlan;
use partwise_stream::source::{ReadRequest, Source, StreamSource};
use partwise_stream::{Error, Result};
use serde_json::Value;

use crate::rows::{Format, OnBadRecord, RowColumns};
use offsets::{BatchOffsets, Position};
use scan::Reading;
use start::Start;

/// The messages of a topic as rows.
#[derive(Clone, Debug)]
pub struct KafkaSource {
    topic: Topic,
    format: Format,
    columns: RowColumns,
    start: Start,
    max_offsets: Option<u64>,
    fail_on_data_loss: bool,
    on_bad: OnBadRecord,
}

#[async_trait]
impl StreamSource for KafkaSource {
    fn describe(&self) -> String {
        let servers = self.topic.cluster().servers();
        format!("KAFKA '{}' at {servers} ({})", self.topic.name(), self.format.name())
    }

    /// Without the servers: a cluster goes on under other addresses.
    fn identity(&self) -> String {
        format!("KAFKA '{}' ({})", self.topic.name(), self.format.name())
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(self.columns.schema())
    }

    async fn reader(&self, _state: &SessionState) -> Result<Box<dyn Source>> {
        Ok(Box::new(KafkaReader {
            client: Arc::new(self.topic.client()?),
            reading: Reading::default(),
            position: Position::default(),
            ends: None,
            source: self.clone(),
        }))
    }
}

/// Times a topic is looked at that seems to have lost what was read: a broker that comes back may
/// know less for a moment.
const LOOKS: usize = 5;
/// Between two such looks.
const PAUSE: Duration = Duration::from_millis(500);

/// One query's reader.
struct KafkaReader {
    source: KafkaSource,
    /// Asks what there is.
    client: Arc<Client>,
    reading: Reading,
    position: Position,
    /// Where to end.
    ends: Option<BTreeMap<i32, i64>>,
}

#[async_trait]
impl Source for KafkaReader {
    async fn resume(&mut self, remembered: Option<Value>, since: Vec<Value>) -> Result<()> {
        for offsets in remembered.iter().chain(&since) {
            self.position.passed(&BatchOffsets::of(offsets, self.source.topic.name())?);
        }
        Ok(())
    }

    async fn available_now(&mut self) -> Result<()> {
        self.ends = Some(self.look().await?);
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<Value>> {
        let ends = match &self.ends {
            Some(ends) => ends.clone(),
            None => self.look().await?,
        };
        let KafkaSource { topic, max_offsets, start, .. } = &self.source;
        let Some(batch) = self.position.batch(topic.name(), &ends, *max_offsets, start) else {
            return Ok(None);
        };
        as_json(&batch).map(Some)
    }

    async fn read(
        &self,
        offsets: &Value,
        request: ReadRequest<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let batch = BatchOffsets::of(offsets, self.source.topic.name())?;
        scan::plan(&self.source, &self.reading, &batch, request)
    }

    fn bad_rows(&self) -> u64 {
        self.reading.bad()
    }

    fn remembered(&self) -> Value {
        as_json(&self.position.remembered(self.source.topic.name())).unwrap_or_default()
    }
}

impl KafkaReader {
    /// Looks what there is: where each partition ends.
    async fn look(&mut self) -> Result<BTreeMap<i32, i64>> {
        let mut looks = 1;
        let (held, losses) = loop {
            let held = self.source.topic.look(&self.client).await?;
            let losses = held.as_ref().map(|held| self.position.found(held, &self.source.start));
            let last = looks == LOOKS;
            match held.zip(losses) {
                Some((held, losses)) if losses.is_empty() || last => break (held, losses),
                None if last || !self.position.has_begun() => {
                    return Err(self.source.topic.missing());
                }
                _ => {}
            }
            looks += 1;
            tokio::time::sleep(PAUSE).await;
        };
        match losses.first() {
            Some(first) if self.source.fail_on_data_loss => {
                return Err(span::lost(&self.source.topic, first, None));
            }
            _ => self.position.accept(&losses),
        }
        Ok(held.into_iter().map(|(partition, held)| (partition, held.high)).collect())
    }
}

impl fmt::Debug for KafkaReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaReader")
            .field("source", &self.source)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

fn as_json(batch: &BatchOffsets) -> Result<Value> {
    serde_json::to_value(batch).map_err(|cause| Error::internal(format!("offsets: {cause}")))
}
