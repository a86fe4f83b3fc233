//! Rows of a physical plan as a table, to be put into a logical one.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as DFResult;
use datafusion::datasource::TableType;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;

/// A table whose scan is a given plan.
#[derive(Debug)]
pub(crate) struct PlanTable {
    schema: SchemaRef,
    /// The columns of the schema that the plan gives, in this order.
    projection: Vec<usize>,
    plan: Arc<dyn ExecutionPlan>,
}

impl PlanTable {
    /// A table of the columns of `schema`; the plan gives those of `projection`.
    pub fn new(schema: SchemaRef, projection: Vec<usize>, plan: Arc<dyn ExecutionPlan>) -> Self {
        Self { schema, projection, plan }
    }
}

#[async_trait]
impl TableProvider for PlanTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.schema.fields().len()).collect();
        let wanted: Vec<usize> = projection.cloned().unwrap_or_else(all);
        match wanted == self.projection {
            true => Ok(Arc::clone(&self.plan)),
            false => datafusion::common::internal_err!("a batch was read for other columns"),
        }
    }
}
