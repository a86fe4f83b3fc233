//! Tables whose rows are gathered when they are read: a few facts, all of them in memory.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as DFResult;
use datafusion::datasource::TableType;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;

use crate::Result;

/// Where the rows come from.
#[async_trait]
pub(crate) trait Gather: fmt::Debug + Send + Sync + 'static {
    /// The columns as they are now, in the order of the table's schema.
    async fn columns(&self, session: &dyn Session) -> Result<Vec<ArrayRef>>;
}

/// A table of what `source` gathers.
#[derive(Debug)]
pub(crate) struct Gathered<G> {
    source: G,
    schema: SchemaRef,
}

impl<G: Gather> Gathered<G> {
    /// The table with the columns of `schema`.
    pub fn new(source: G, schema: SchemaRef) -> Self {
        Self { source, schema }
    }

    /// The rows as they are now.
    ///
    /// # Errors
    /// What is told of can't be read.
    pub async fn rows(&self, session: &dyn Session) -> Result<RecordBatch> {
        let columns = self.source.columns(session).await?;
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

#[async_trait]
impl<G: Gather> TableProvider for Gathered<G> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        let (rows, schema) = (self.rows(session).await?, Arc::clone(&self.schema));
        Ok(MemorySourceConfig::try_new_exec(&[vec![rows]], schema, projection.cloned())?)
    }
}
