//! [`Input`]: the rows of a batch on their way into the query. Late ones are dropped, all are
//! counted.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::{filter_record_batch, max};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result as DFResult, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, ReplaceChildrenOptions,
};
use futures::StreamExt;

use super::meter::Meter;
use crate::Result;
use crate::window::numbers;

/// The event time in a batch's columns, and the watermark where late rows are dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeColumn {
    /// Its place in the input's columns.
    pub column: usize,
    /// Strictly older rows are late.
    pub watermark: Option<i64>,
    /// Rows without an event time count as late: nothing would ever close their group.
    pub needed: bool,
}

/// Counts the rows of its input, drops late ones, and gives on the first `columns` of them.
#[derive(Debug)]
pub(crate) struct Input {
    rows: Arc<dyn ExecutionPlan>,
    time: Option<TimeColumn>,
    columns: usize,
    schema: SchemaRef,
    meter: Arc<Meter>,
    properties: Arc<PlanProperties>,
}

impl Input {
    pub fn new(
        rows: Arc<dyn ExecutionPlan>,
        time: Option<TimeColumn>,
        columns: usize,
        meter: Arc<Meter>,
    ) -> Self {
        let fields: Vec<_> = rows.schema().fields().iter().take(columns).cloned().collect();
        let schema = Arc::new(Schema::new(fields));
        let partitions = rows.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { rows, time, columns, schema, meter, properties: Arc::new(properties) }
    }

    fn filter(&self) -> Filter {
        Filter {
            time: self.time,
            columns: self.columns,
            schema: Arc::clone(&self.schema),
            meter: Arc::clone(&self.meter),
        }
    }
}

/// What is done to each piece of the rows.
struct Filter {
    time: Option<TimeColumn>,
    columns: usize,
    schema: SchemaRef,
    meter: Arc<Meter>,
}

impl Filter {
    fn apply(&self, rows: RecordBatch) -> Result<RecordBatch> {
        let (kept, newest) = match self.time {
            Some(time) => in_time(&rows, time)?,
            None => (None, None),
        };
        let late = kept.as_ref().map_or(0, |kept| kept.len() - kept.true_count());
        self.meter.count(rows.num_rows(), late, newest);
        let rows = match kept.filter(|_| late > 0) {
            Some(kept) => filter_record_batch(&rows, &kept)?,
            None => rows,
        };
        let columns = rows.columns()[..self.columns].to_vec();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// Which rows are in time, where any may be late, and the newest event time of all.
fn in_time(rows: &RecordBatch, time: TimeColumn) -> Result<(Option<BooleanArray>, Option<i64>)> {
    let times = numbers(rows.column(time.column))?;
    let newest = max(&times);
    let needed = time.needed && times.null_count() > 0;
    if time.watermark.is_none() && !needed {
        return Ok((None, newest));
    }
    let oldest = time.watermark.unwrap_or(i64::MIN);
    let kept = times.iter().map(|at| Some(at.map_or(!time.needed, |at| at >= oldest)));
    Ok((Some(kept.collect()), newest))
}

impl DisplayAs for Input {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "StreamInput")?;
        match self.time.and_then(|time| time.watermark) {
            Some(watermark) => write!(f, ": watermark={watermark}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for Input {
    fn name(&self) -> &'static str {
        "StreamInput"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.rows]
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.len()) {
            (Some(rows), 0) => {
                Ok(Arc::new(Self::new(rows, self.time, self.columns, Arc::clone(&self.meter))))
            }
            _ => internal_err!("StreamInput has one input"),
        }
    }

    /// What an earlier run has counted is counted again.
    fn reset_state(self: Arc<Self>) -> DFResult<Arc<dyn ExecutionPlan>> {
        self.meter.clear();
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        use datafusion::physical_plan::ChildrenPropertiesMode::Recompute;
        self.replace_children(children, ReplaceChildrenOptions::new(Recompute))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DFResult<TreeNodeRecursion>,
    ) -> DFResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DFResult<SendableRecordBatchStream> {
        let filter = self.filter();
        let rows = self.rows.execute(partition, context)?;
        let rows = rows.map(move |rows| {
            let rows = rows.inspect_err(|_| filter.meter.fail())?;
            Ok(filter.apply(rows)?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows)))
    }
}
