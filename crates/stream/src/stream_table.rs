//! A stream as a table of the session: queries are planned on it, batches replace it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as DFResult;
use datafusion::datasource::TableType;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;

use crate::definition::Watermark;
use crate::source::StreamSource;
use crate::window::EventTime;
use crate::{Error, Result};

/// A stream by its name: where its rows come from, its columns, its event time.
#[derive(Clone)]
pub struct StreamTable {
    name: String,
    source: Arc<dyn StreamSource>,
    watermark: Option<Watermark>,
    event_time: Option<EventTime>,
}

impl StreamTable {
    /// A stream.
    ///
    /// # Errors
    /// A watermark over a column that isn't there or is no timestamp.
    pub fn new(
        name: impl Into<String>,
        source: Arc<dyn StreamSource>,
        watermark: Option<Watermark>,
    ) -> Result<Self> {
        let schema = source.schema();
        let event_time = watermark.as_ref().map(|w| EventTime::new(&schema, w)).transpose()?;
        Ok(Self { name: name.into(), source, watermark, event_time })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its rows come from.
    pub fn source(&self) -> &Arc<dyn StreamSource> {
        &self.source
    }

    /// Its event time and how late a row may be.
    pub fn watermark(&self) -> Option<&Watermark> {
        self.watermark.as_ref()
    }

    pub(crate) fn event_time(&self) -> Option<&EventTime> {
        self.event_time.as_ref()
    }

    pub(crate) fn schema_ref(&self) -> SchemaRef {
        self.source.schema()
    }
}

impl fmt::Debug for StreamTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamTable({} from {})", self.name, self.source.describe())
    }
}

#[async_trait]
impl TableProvider for StreamTable {
    fn schema(&self) -> SchemaRef {
        self.source.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        _projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        Err(Error::invalid(format!(
            "{} is a stream, which has no end: START QUERY .. AS SELECT .. FROM {0} runs over it (in \
             Rust write_stream()), and its sink is what can be asked",
            self.name
        ))
        .into())
    }
}
