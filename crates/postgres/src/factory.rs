//! The options of `INTO POSTGRES`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use datafusion::execution::context::SessionContext;
use partwise_stream::sink::{Sink, SinkFactory};
use partwise_stream::{Error, Options, Result, SinkDefinition};

use crate::PostgresSink;

/// Makes the sinks of `INTO POSTGRES OPTIONS (..) KEYS (..)`.
///
/// | option | what it says |
/// |---|---|
/// | `url` | `postgres://user:password@host:5432/database?sslmode=..`; without a password, that of the environment variable `PGPASSWORD` |
/// | `table` | `schema.name`, as in SQL: `"Name"` keeps capitals; without a schema, `public` |
/// | `staging_rows` | batches of more rows by key go through a temporary table; 10,000 if nothing is said |
/// | `retry_seconds` | how long a batch is tried again while the server is away, read-only or has what it needs locked, and how long each try waits for a lock; 60 if nothing is said. The start of a query tries once |
#[derive(Clone, Copy, Debug, Default)]
pub struct PostgresFactory;

#[async_trait]
impl SinkFactory for PostgresFactory {
    async fn sink(
        &self,
        _session: &SessionContext,
        definition: &SinkDefinition,
    ) -> Result<Arc<dyn Sink>> {
        if definition.target.is_some() || !definition.partitioned_by.is_empty() {
            return Err(Error::invalid(
                "INTO POSTGRES takes its table as an option, and no PARTITIONED BY: \
                 OPTIONS ('url' '..', 'table' 'schema.name')",
            ));
        }
        let mut options = Options::new("INTO POSTGRES", &definition.options);
        let url = options.need("url", "postgres://user:password@host:5432/database")?;
        let table = options.need("table", "schema.name")?;
        let mut sink = PostgresSink::new(&url, &table)?.with_keys(definition.keys.iter().cloned());
        if let Some(rows) = options.number("staging_rows")? {
            sink = sink.staging_rows(usize::try_from(rows).unwrap_or(usize::MAX));
        }
        if let Some(seconds) = options.number("retry_seconds")? {
            sink = sink.retry_for(Duration::from_secs(seconds));
        }
        options.end()?;
        Ok(Arc::new(sink))
    }
}
