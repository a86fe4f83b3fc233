//! [`TallyExec`]: counts what becomes of the rows on their way into the write.
//!
//! ```text
//! table columns, action --count; drop the deleted--> table columns -> StagedWriteExec
//! ```

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::array::{AsArray, BooleanArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::Int8Type;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result as DFResult, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Expr, lit};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{
    ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PhysicalExpr, PlanProperties, SendableRecordBatchStream,
};
use futures::StreamExt;

use crate::report::RowChanges;

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowAction {
    /// It stays as it is.
    Keep,
    /// It has other values.
    Update,
    /// It goes.
    Delete,
    /// It is a new one.
    Insert,
}

impl RowAction {
    /// The name of that column, the last one.
    pub const COLUMN: &'static str = "__partwise_action";

    /// As a value of that column.
    pub fn literal(self) -> Expr {
        lit(ScalarValue::Int8(Some(self as i8)))
    }
}

/// Rows by what became of them, filled while the plan runs. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Tally(Arc<[AtomicU64; 4]>);

impl Tally {
    /// The counts so far.
    pub fn changes(&self) -> RowChanges {
        let of = |action: RowAction| self.0[action as usize].load(Ordering::Relaxed);
        RowChanges {
            deleted: of(RowAction::Delete),
            updated: of(RowAction::Update),
            inserted: of(RowAction::Insert),
        }
    }

    /// Counts the rows of a batch, and gives those that are written.
    fn count(&self, batch: &RecordBatch) -> DFResult<RecordBatch> {
        let Some(last) = batch.num_columns().checked_sub(1) else {
            return Err(DataFusionError::Internal("rows without an action".to_owned()));
        };
        let actions = batch.column(last).as_primitive::<Int8Type>();
        let mut counts = [0_u64; 4];
        for action in actions.values() {
            if let Some(count) = counts.get_mut(*action as usize) {
                *count += 1;
            }
        }
        self.0.iter().zip(counts).for_each(|(total, count)| {
            total.fetch_add(count, Ordering::Relaxed);
        });
        let rows = batch.project(&(0..last).collect::<Vec<_>>())?;
        if counts[RowAction::Delete as usize] == 0 {
            return Ok(rows);
        }
        let delete = RowAction::Delete as i8;
        let stays: BooleanArray = actions.values().iter().map(|a| Some(*a != delete)).collect();
        Ok(filter_record_batch(&rows, &stays)?)
    }
}

/// Passes rows on without their last column, their action, and counts them by it.
#[derive(Debug)]
pub struct TallyExec {
    input: Arc<dyn ExecutionPlan>,
    tally: Tally,
    properties: Arc<PlanProperties>,
}

impl TallyExec {
    /// Counts the rows of `input`.
    ///
    /// # Errors
    /// An input without columns.
    pub fn try_new(input: Arc<dyn ExecutionPlan>, tally: Tally) -> DFResult<Self> {
        let schema = input.schema();
        let rows = (0..schema.fields().len().saturating_sub(1)).collect::<Vec<_>>();
        let schema = Arc::new(schema.project(&rows)?);
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            input.boundedness(),
        );
        Ok(Self { input, tally, properties: Arc::new(properties) })
    }
}

impl DisplayAs for TallyExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::TreeRender => Ok(()),
            _ => f.write_str("TallyExec"),
        }
    }
}

impl ExecutionPlan for TallyExec {
    fn name(&self) -> &str {
        "TallyExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DFResult<TreeNodeRecursion>,
    ) -> DFResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        match <[_; 1]>::try_from(children) {
            Ok([input]) => Ok(Arc::new(Self::try_new(input, self.tally.clone())?)),
            Err(_) => Err(DataFusionError::Internal("rows come from one plan".to_owned())),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        task: Arc<TaskContext>,
    ) -> DFResult<SendableRecordBatchStream> {
        let (tally, schema) = (self.tally.clone(), self.schema());
        let rows = self.input.execute(partition, task)?;
        let rows = rows.map(move |batch| tally.count(&batch?));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}
