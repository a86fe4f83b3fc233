//! Rows that a program puts in: for tests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::execution::context::SessionState;
use datafusion::physical_plan::ExecutionPlan;
use serde_json::{Value, json};

use super::{ReadRequest, Source, StreamSource};
use crate::{Error, Result};

/// Batches that a program adds. Clones share them; queries read them as long as the program lives.
#[derive(Clone, Debug)]
pub struct MemorySource {
    schema: SchemaRef,
    added: Arc<Mutex<Vec<RecordBatch>>>,
    max_batches: usize,
}

impl MemorySource {
    /// A source of these columns, without rows.
    pub fn new(schema: SchemaRef) -> Self {
        Self { schema, added: Arc::default(), max_batches: usize::MAX }
    }

    /// The most added batches that one batch of a query reads.
    #[must_use]
    pub fn max_batches_per_trigger(self, max_batches: usize) -> Self {
        Self { max_batches: max_batches.max(1), ..self }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Other columns.
    pub fn add(&self, rows: RecordBatch) -> Result<()> {
        if rows.schema().fields() != self.schema.fields() {
            return Err(Error::invalid("rows of other columns than the stream's"));
        }
        self.locked().push(rows);
        Ok(())
    }

    /// Only ever pushed to: whole after any panic.
    fn locked(&self) -> MutexGuard<'_, Vec<RecordBatch>> {
        self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl StreamSource for MemorySource {
    fn describe(&self) -> String {
        "MEMORY".to_owned()
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    async fn reader(&self, _state: &SessionState) -> Result<Box<dyn Source>> {
        Ok(Box::new(MemoryReader { source: self.clone(), read: 0, end: None }))
    }
}

#[derive(Debug)]
struct MemoryReader {
    source: MemorySource,
    /// Batches read.
    read: usize,
    /// Where to end.
    end: Option<usize>,
}

#[async_trait]
impl Source for MemoryReader {
    async fn resume(&mut self, remembered: Option<Value>, since: Vec<Value>) -> Result<()> {
        if let Some(last) = since.last().or(remembered.as_ref()) {
            self.read = range(last)?.1;
        }
        Ok(())
    }

    async fn available_now(&mut self) -> Result<()> {
        self.end = Some(self.source.locked().len());
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<Value>> {
        let there = self.source.locked().len();
        let end = self.end.unwrap_or(there).min(self.read.saturating_add(self.source.max_batches));
        if end <= self.read {
            return Ok(None);
        }
        let from = std::mem::replace(&mut self.read, end);
        Ok(Some(json!({ "from": from, "to": end })))
    }

    async fn read(
        &self,
        offsets: &Value,
        request: ReadRequest<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (from, to) = range(offsets)?;
        let rows = self.source.locked().get(from..to).map(<[RecordBatch]>::to_vec);
        let rows = rows.ok_or_else(|| {
            Error::invalid("the rows of the batch are gone: they were in a program's memory")
        })?;
        let schema = Arc::clone(&self.source.schema);
        let projection = Some(request.projection.to_vec());
        Ok(MemorySourceConfig::try_new_exec(&[rows], schema, projection)?)
    }

    fn remembered(&self) -> Value {
        json!({ "from": 0, "to": self.read })
    }
}

fn range(offsets: &Value) -> Result<(usize, usize)> {
    let number = |name: &str| offsets[name].as_u64().and_then(|n| usize::try_from(n).ok());
    match (number("from"), number("to")) {
        (Some(from), Some(to)) => Ok((from, to)),
        _ => Err(Error::corrupt(format!("offsets that are no range of batches: {offsets}"))),
    }
}
