//! The plan node that gives a row per partition.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::{StreamExt, TryStreamExt, stream};
use partwise_commit::{DataFile, PartitionColumn, PartitionFiles, RowCounter, Table};

use crate::error::external;
use crate::reader::{FooterRowCounter, ScanFile, ScanPartition};
use crate::source::{ScanCounters, ScanFacts};
use crate::value::{partition_schema, prefix_batch};

/// How many footers are read at once.
const FOOTERS_AT_ONCE: usize = 16;

/// A row per partition that has rows: values of the partition columns, number of rows.
#[derive(Debug)]
pub struct PartitionCountsExec {
    inner: Arc<Inner>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// What the rows are made from.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) table: Table,
    pub(crate) columns: Vec<PartitionColumn>,
    pub(crate) partitions: Vec<PartitionFiles>,
    /// Positions among the partition columns and, behind them, the rows.
    pub(crate) projection: Vec<usize>,
    pub(crate) schema: SchemaRef,
    pub(crate) facts: Arc<ScanFacts>,
    pub(crate) counters: Arc<ScanCounters>,
    pub(crate) footers: FooterRowCounter,
}

impl PartitionCountsExec {
    pub(crate) fn new(inner: Inner) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&inner.schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        inner.counters.register(&metrics);
        Self { inner: Arc::new(inner), properties: Arc::new(properties), metrics }
    }

    /// What was selected and why.
    pub fn facts(&self) -> &Arc<ScanFacts> {
        &self.inner.facts
    }
}

impl Inner {
    async fn batch(&self) -> Result<RecordBatch> {
        let mut counts = Vec::with_capacity(self.partitions.len());
        for partition in &self.partitions {
            counts.push(self.rows_of(partition));
        }
        let counted = stream::iter(counts).buffered(FOOTERS_AT_ONCE);
        let counted: Vec<i64> = counted.try_collect().await?;
        let full = || self.partitions.iter().zip(&counted).filter(|(_, rows)| **rows > 0);
        let keys: Vec<_> = full().map(|(partition, _)| partition.key.values()).collect();
        let rows: Int64Array = full().map(|(_, rows)| *rows).collect();
        let keys = prefix_batch(&self.columns, &partition_schema(&self.columns), &keys)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let rows: ArrayRef = Arc::new(rows);
        let all: Vec<&ArrayRef> = keys.columns().iter().chain([&rows]).collect();
        let chosen = self.projection.iter().map(|at| Arc::clone(all[*at])).collect();
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), chosen, &options)?)
    }

    async fn rows_of(&self, partition: &PartitionFiles) -> Result<i64> {
        let state = Arc::new(ScanPartition::default());
        let mut rows = 0;
        for file in &partition.files {
            rows += match file.rows {
                Some(rows) => rows,
                None => self.rows_in_footer(file, &state).await?,
            };
        }
        i64::try_from(rows).map_err(|error| DataFusionError::External(Box::new(error)))
    }

    async fn rows_in_footer(&self, file: &DataFile, state: &Arc<ScanPartition>) -> Result<u64> {
        let scan_file = ScanFile::new(self.table.clone(), file.clone(), Arc::clone(state));
        self.counters.file_read(&scan_file);
        self.footers.count(&self.table, file).await.map_err(external)
    }
}

impl DisplayAs for PartitionCountsExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = &self.inner.facts;
        let filters = facts.partition_filters.join(", ");
        let (partitions, files) = (facts.partitions, facts.files);
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => write!(
                f,
                "PartitionCountsExec: from names and statistics, PartitionFilters=[{filters}], \
                 partitions={partitions}, files={files}"
            ),
            DisplayFormatType::TreeRender => {
                writeln!(f, "from=names and statistics")?;
                writeln!(f, "PartitionFilters=[{filters}]")?;
                writeln!(f, "partitions={partitions}")?;
                writeln!(f, "files={files}")
            }
        }
    }
}

impl ExecutionPlan for PartitionCountsExec {
    fn name(&self) -> &'static str {
        "PartitionCountsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        _partition: usize,
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let inner = Arc::clone(&self.inner);
        let rows = stream::once(async move { inner.batch().await });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.inner.schema), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
