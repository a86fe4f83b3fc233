//! Rows on the screen, for development. A batch that is repeated is shown again.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::execution::context::SessionContext;

use super::{Sink, SinkBatch, SinkFactory, SinkQuery, Written, count};
use crate::definition::{Clause, SinkDefinition};
use crate::{Error, Result};

/// Shows each batch as a table.
#[derive(Clone)]
pub struct ConsoleSink {
    out: Arc<Mutex<dyn Write + Send>>,
}

impl ConsoleSink {
    /// Shows batches on the standard output.
    pub fn stdout() -> Self {
        Self::to(std::io::stdout())
    }

    /// Shows batches somewhere else.
    pub fn to(out: impl Write + Send + 'static) -> Self {
        Self { out: Arc::new(Mutex::new(out)) }
    }
}

impl fmt::Debug for ConsoleSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConsoleSink")
    }
}

/// Makes sinks on the standard output.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConsoleFactory;

#[async_trait]
impl SinkFactory for ConsoleFactory {
    async fn sink(&self, _: &SessionContext, definition: &SinkDefinition) -> Result<Arc<dyn Sink>> {
        definition.refuse(&[
            Clause::Target,
            Clause::PartitionedBy,
            Clause::Keys,
            Clause::Options,
        ])?;
        Ok(Arc::new(ConsoleSink::stdout()))
    }
}

#[async_trait]
impl Sink for ConsoleSink {
    fn replaces_rows(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        "CONSOLE".to_owned()
    }

    async fn open(&self, _query: &SinkQuery) -> Result<()> {
        Ok(())
    }

    async fn write(&self, batch: SinkBatch) -> Result<Written> {
        let rows = batch.rows.collect(&batch.state).await?;
        let table = pretty_format_batches(&rows)?;
        batch.gives_out();
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = writeln!(out, "{} batch {}\n{table}", batch.query.name, batch.batch);
        shown.map_err(|cause| Error::invalid(format!("the rows can't be shown: {cause}")))?;
        Ok(Written::Rows(count(&rows)))
    }
}
