//! The rows of a batch: in memory, or as a plan that gives them.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::execution::context::SessionState;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect};

use crate::Result;

/// The rows of a batch.
#[derive(Clone, Debug)]
pub struct BatchRows {
    schema: SchemaRef,
    rows: Rows,
}

#[derive(Clone, Debug)]
enum Rows {
    Here(Vec<RecordBatch>),
    Plan(Arc<dyn ExecutionPlan>),
}

impl BatchRows {
    /// Rows in memory.
    pub fn here(schema: SchemaRef, rows: Vec<RecordBatch>) -> Self {
        Self { schema, rows: Rows::Here(rows) }
    }

    /// Rows that a plan gives.
    pub fn plan(plan: Arc<dyn ExecutionPlan>) -> Self {
        Self { schema: plan.schema(), rows: Rows::Plan(plan) }
    }

    /// Their columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether it is known that there are none, without running anything.
    pub fn is_empty(&self) -> bool {
        match &self.rows {
            Rows::Here(rows) => rows.iter().all(|batch| batch.num_rows() == 0),
            Rows::Plan(_) => false,
        }
    }

    /// A plan that gives them; to be run once. Asked for again, one that runs the query anew.
    ///
    /// # Errors
    /// None that rows of one schema give.
    pub fn as_plan(&self) -> Result<Arc<dyn ExecutionPlan>> {
        match &self.rows {
            Rows::Plan(plan) => Ok(reset_plan_states(Arc::clone(plan))?),
            Rows::Here(rows) => {
                let (rows, schema) = ([rows.clone()], Arc::clone(&self.schema));
                Ok(MemorySourceConfig::try_new_exec(&rows, schema, None)?)
            }
        }
    }

    /// All of them in memory.
    ///
    /// # Errors
    /// What the query fails with.
    pub async fn collect(&self, state: &SessionState) -> Result<Vec<RecordBatch>> {
        match &self.rows {
            Rows::Here(rows) => Ok(rows.clone()),
            Rows::Plan(_) => Ok(collect(self.as_plan()?, state.task_ctx()).await?),
        }
    }
}

/// The same rows under the columns of `schema`, which may differ in what can be NULL.
pub(crate) fn under(schema: &SchemaRef, rows: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
    let named = |rows: RecordBatch| {
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let columns = rows.columns().to_vec();
        RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
    };
    Ok(rows.into_iter().map(named).collect::<Result<_, _>>()?)
}

/// The number of rows.
pub(crate) fn count(batches: &[RecordBatch]) -> u64 {
    batches.iter().map(|batch| batch.num_rows() as u64).sum()
}
