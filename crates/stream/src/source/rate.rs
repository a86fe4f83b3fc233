//! Rows by the clock: so many a second, counted. For trying things out.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use datafusion::arrow::array::{Int64Array, RecordBatch, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::execution::context::SessionState;
use datafusion::physical_plan::ExecutionPlan;
use serde_json::{Value, json};

use super::{ReadRequest, Source, SourceFactory, StreamSource};
use crate::definition::StreamDefinition;
use crate::{Error, Options, Result};

/// Rows `(timestamp, value)`: the value counts from 0, the time is when the row was due.
#[derive(Clone, Debug)]
pub struct RateSource {
    rows_per_second: u64,
    max_rows: u64,
    schema: SchemaRef,
}

impl RateSource {
    /// So many rows a second, at most `max_rows` in a batch.
    ///
    /// # Errors
    /// No rows at all.
    pub fn new(rows_per_second: u64, max_rows: u64) -> Result<Self> {
        if rows_per_second == 0 || max_rows == 0 {
            return Err(Error::invalid("a RATE has one row a second or more"));
        }
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        let schema = Arc::new(Schema::new(vec![
            Field::new("timestamp", time, false),
            Field::new("value", DataType::Int64, false),
        ]));
        Ok(Self { rows_per_second, max_rows, schema })
    }

    /// Microseconds from the start to a row.
    fn due(&self, row: u64) -> u128 {
        u128::from(row) * 1_000_000 / u128::from(self.rows_per_second)
    }
}

/// Makes sources by the clock: `FROM RATE OPTIONS ('rows_per_second' '10')`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateFactory;

#[async_trait]
impl SourceFactory for RateFactory {
    async fn source(
        &self,
        _state: &SessionState,
        definition: &StreamDefinition,
    ) -> Result<Arc<dyn StreamSource>> {
        if definition.columns.is_some() {
            return Err(Error::invalid(
                "a RATE has its own columns, timestamp and value: leave the list out",
            ));
        }
        if definition.path.is_some() {
            return Err(Error::invalid("a RATE has no folder: leave the path out"));
        }
        let mut options = Options::new("FROM RATE", &definition.options);
        let rate = options.number("rows_per_second")?.unwrap_or(1);
        let max_rows = options.number("max_rows_per_trigger")?.unwrap_or(1_000_000);
        options.end()?;
        Ok(Arc::new(RateSource::new(rate, max_rows)?))
    }
}

#[async_trait]
impl StreamSource for RateSource {
    fn describe(&self) -> String {
        format!("RATE {} rows a second", self.rows_per_second)
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    async fn reader(&self, _state: &SessionState) -> Result<Box<dyn Source>> {
        let source = self.clone();
        Ok(Box::new(RateReader { source, start_us: now_us(), read: 0, end_us: None }))
    }
}

fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX)
}

#[derive(Debug)]
struct RateReader {
    source: RateSource,
    /// When row 0 was due, microseconds since 1970: of the query's first start.
    start_us: u64,
    read: u64,
    end_us: Option<u64>,
}

#[async_trait]
impl Source for RateReader {
    async fn resume(&mut self, remembered: Option<Value>, since: Vec<Value>) -> Result<()> {
        if let Some(last) = since.last().or(remembered.as_ref()) {
            let (start_us, _, to) = rows(last)?;
            (self.start_us, self.read) = (start_us, to);
        }
        Ok(())
    }

    async fn available_now(&mut self) -> Result<()> {
        self.end_us = Some(now_us());
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<Value>> {
        let passed = self.end_us.unwrap_or_else(now_us).saturating_sub(self.start_us);
        let due = u128::from(passed) * u128::from(self.source.rows_per_second) / 1_000_000;
        let due = u64::try_from(due).unwrap_or(u64::MAX);
        let to = due.min(self.read.saturating_add(self.source.max_rows));
        if to <= self.read {
            return Ok(None);
        }
        let from = std::mem::replace(&mut self.read, to);
        Ok(Some(json!({ "start_us": self.start_us, "from": from, "to": to })))
    }

    async fn read(
        &self,
        offsets: &Value,
        request: ReadRequest<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (start_us, from, to) = rows(offsets)?;
        let at = |row| i64::try_from(u128::from(start_us) + self.source.due(row));
        let times = (from..to).map(|row| at(row).unwrap_or(i64::MAX));
        let values = (from..to).map(|row| i64::try_from(row).unwrap_or(i64::MAX));
        let schema = Arc::clone(&self.source.schema);
        let times = Arc::new(TimestampMicrosecondArray::from_iter_values(times));
        let values = Arc::new(Int64Array::from_iter_values(values));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![times, values])?;
        let projection = Some(request.projection.to_vec());
        Ok(MemorySourceConfig::try_new_exec(&[vec![batch]], schema, projection)?)
    }

    fn remembered(&self) -> Value {
        json!({ "start_us": self.start_us, "from": 0, "to": self.read })
    }
}

fn rows(offsets: &Value) -> Result<(u64, u64, u64)> {
    let number = |name: &str| offsets[name].as_u64();
    match (number("start_us"), number("from"), number("to")) {
        (Some(start_us), Some(from), Some(to)) => Ok((start_us, from, to)),
        _ => Err(Error::corrupt(format!("offsets that are no range of rows: {offsets}"))),
    }
}
