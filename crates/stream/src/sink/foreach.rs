//! Each batch to a function.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::dataframe::DataFrame;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::LogicalPlanBuilder;

use super::{Sink, SinkBatch, SinkQuery, Written, count};
use crate::Result;

/// Which batch of which query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchId {
    /// The query's name.
    pub query: String,
    /// The query's id, of its checkpoint.
    pub query_id: String,
    /// The batch's number, the same when it is repeated.
    pub batch: u64,
    /// The digest of its input.
    pub digest: String,
}

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.batch)
    }
}

type Call =
    dyn Fn(DataFrame, BatchId) -> Pin<Box<dyn Future<Output = Result<()>> + Send>> + Send + Sync;

/// Calls a function with each batch's rows and id. After a failure it is called again with the same
/// id and the same rows: [`Once`](super::Once) makes work run once.
#[derive(Clone)]
pub struct ForeachBatch {
    call: Arc<Call>,
}

impl ForeachBatch {
    /// Calls this function.
    pub fn new<F, R>(call: F) -> Self
    where
        F: Fn(DataFrame, BatchId) -> R + Send + Sync + 'static,
        R: Future<Output = Result<()>> + Send + 'static,
    {
        let call = move |rows, id| -> Pin<Box<dyn Future<Output = Result<()>> + Send>> {
            Box::pin(call(rows, id))
        };
        Self { call: Arc::new(call) }
    }
}

impl fmt::Debug for ForeachBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ForeachBatch")
    }
}

#[async_trait]
impl Sink for ForeachBatch {
    fn replaces_rows(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        "foreach_batch".to_owned()
    }

    async fn open(&self, _query: &SinkQuery) -> Result<()> {
        Ok(())
    }

    async fn write(&self, batch: SinkBatch) -> Result<Written> {
        let rows = batch.rows.collect(&batch.state).await?;
        batch.gives_out();
        let written = count(&rows);
        let table = MemTable::try_new(Arc::clone(batch.rows.schema()), vec![rows])?;
        let plan = LogicalPlanBuilder::scan("batch", provider_as_source(Arc::new(table)), None)?;
        let frame = DataFrame::new(batch.state, plan.build()?);
        let id = BatchId {
            query: batch.query.name.clone(),
            query_id: batch.query.id.clone(),
            batch: batch.batch,
            digest: batch.digest,
        };
        (self.call)(frame, id).await?;
        Ok(Written::Rows(written))
    }
}
