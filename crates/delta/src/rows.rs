//! The rows of a batch as a table that delta-rs reads: as they flow, brought onto the table's columns.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::DataFusionError;
use datafusion::datasource::provider_as_source;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::StreamExt;
use partwise_stream::sink::SinkBatch;
use partwise_stream::{Error, Result};

use crate::fit::Fit;

/// What became of the rows.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    rows: AtomicU64,
    error: Mutex<Option<Error>>,
}

impl Flow {
    /// How many have flowed.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Why they stopped: delta-rs passes the text of an error on, not its kind.
    pub fn error(&self) -> Option<Error> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn see(&self, fitted: Result<RecordBatch>) -> Result<RecordBatch, DataFusionError> {
        match fitted {
            Ok(rows) => {
                self.rows.fetch_add(rows.num_rows() as u64, Ordering::Relaxed);
                Ok(rows)
            }
            Err(error) => {
                let text = error.to_string();
                *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Err(DataFusionError::Execution(text))
            }
        }
    }
}

/// A plan that gives a batch's rows as the table has them, and what becomes of them. May be asked for
/// again: the query's plan is then run anew.
pub(crate) fn fitted(batch: &SinkBatch, fit: Fit) -> Result<(LogicalPlan, Arc<Flow>)> {
    let (fit, flow) = (Arc::new(fit), Arc::new(Flow::default()));
    let plan = batch.rows.as_plan()?;
    let context = batch.state.task_ctx();
    let part = |partition| -> Arc<dyn PartitionStream> {
        Arc::new(Part {
            plan: Arc::clone(&plan),
            partition,
            context: Arc::clone(&context),
            fit: Arc::clone(&fit),
            flow: Arc::clone(&flow),
        })
    };
    let parts = (0..plan.output_partitioning().partition_count()).map(part).collect();
    let table = StreamingTable::try_new(Arc::clone(fit.schema()), parts)?;
    let scan = LogicalPlanBuilder::scan("batch", provider_as_source(Arc::new(table)), None)?;
    Ok((scan.build()?, flow))
}

/// A partition of the query's plan.
#[derive(Debug)]
struct Part {
    plan: Arc<dyn ExecutionPlan>,
    partition: usize,
    /// Of the query's session: that of the write knows other stores.
    context: Arc<TaskContext>,
    fit: Arc<Fit>,
    flow: Arc<Flow>,
}

impl PartitionStream for Part {
    fn schema(&self) -> &SchemaRef {
        self.fit.schema()
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(self.fit.schema());
        let rows = match self.plan.execute(self.partition, Arc::clone(&self.context)) {
            Ok(rows) => rows,
            Err(error) => Box::pin(RecordBatchStreamAdapter::new(
                self.plan.schema(),
                futures::stream::iter([Err(error)]),
            )),
        };
        let (fit, flow) = (Arc::clone(&self.fit), Arc::clone(&self.flow));
        let fitted = rows
            .map(move |rows| flow.see(rows.map_err(Error::from).and_then(|rows| fit.apply(&rows))));
        Box::pin(RecordBatchStreamAdapter::new(schema, fitted))
    }
}
