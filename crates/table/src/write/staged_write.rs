//! [`StagedWriteExec`]: writes its input into staged files, one manifest row per file.
//!
//! ```text
//! input partition 0 -> task -> files of staging   -> manifest rows + trailer
//! input partition 1 -> task -> files of staging   -> manifest rows + trailer
//!                                                        \-> PartitionSink (commits)
//! ```

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{
    Distribution as InputDistribution, EquivalenceProperties, OrderingRequirements, PhysicalExpr,
};
use datafusion::physical_plan::execution_plan::{EmissionType, EvaluationType, SchedulingType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties, ReplaceChildrenOptions,
};
use partwise_commit::TableSchema;

use super::cast::RowCast;
use super::demux::Demux;
use super::format::FileFormat;
use super::manifest::{Origin, manifest_schema};
use super::metrics::WriteMetrics;
use super::options::WriteOptions;
use super::order::{RowOrder, column, required_order};
use super::slots::{SlotLimits, Slots};
use super::staging::StagingCell;
use super::task::{ManifestSender, Totals, WriteTask};
use crate::config::Distribution;
use crate::error::external;

/// The most files that one task writes at the same time.
const MAX_JOBS: usize = 8;

/// Writes each input partition into staged Parquet files of the table's partitions and emits the
/// manifest: a row per file, then a trailer that names the input partition.
#[derive(Debug)]
pub struct StagedWriteExec {
    input: Arc<dyn ExecutionPlan>,
    schema: TableSchema,
    options: WriteOptions,
    order: Vec<RowOrder>,
    cast: RowCast,
    format: Arc<FileFormat>,
    staging: Arc<StagingCell>,
    metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
}

impl StagedWriteExec {
    /// Writes the rows of `input`, whose columns are those of `schema` by position; columns behind
    /// them serve `order` alone and aren't written.
    ///
    /// # Errors
    /// A column that can't be brought onto the table's type; a type that Parquet doesn't have.
    pub(super) fn try_new(
        input: Arc<dyn ExecutionPlan>,
        schema: TableSchema,
        options: WriteOptions,
        order: Vec<RowOrder>,
        staging: Arc<StagingCell>,
    ) -> Result<Self> {
        let written = written_columns(&input.schema(), &schema, &order)?;
        let cast = RowCast::new(&written, Arc::clone(schema.arrow())).map_err(external)?;
        let format = Arc::new(FileFormat::new(schema.file_schema(), &options)?);
        let properties = Arc::new(plan_properties(&input));
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Self { input, schema, options, order, cast, format, staging, metrics, properties })
    }

    fn with_input(&self, input: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let (schema, options) = (self.schema.clone(), self.options.clone());
        Self::try_new(input, schema, options, self.order.clone(), Arc::clone(&self.staging))
    }

    /// The input's columns that are the partition's.
    fn key_columns(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        let indices = self.schema.partition_indices().iter();
        indices.map(|&index| column(&self.input.schema(), index)).collect()
    }

    /// Whether rows come by partition and in an order inside it.
    fn is_sorted(&self) -> bool {
        !self.options.sort_by.is_empty() || !self.order.is_empty()
    }

    fn task(
        &self,
        partition: usize,
        context: &Arc<TaskContext>,
        manifest: ManifestSender,
    ) -> Result<WriteTask> {
        let tasks = self.input.output_partitioning().partition_count();
        let buffer_bytes = share(self.options.write_buffer_bytes, tasks, 1 << 20);
        let max_open = share(self.options.max_open_writers as u64, tasks, 1);
        let slots = SlotLimits { max_open, max_jobs: MAX_JOBS.min(max_open) };
        Ok(WriteTask {
            origin: origin(partition, tasks),
            context: Arc::clone(context),
            cast: self.cast.clone(),
            demux: Demux::new(&self.schema, buffer_bytes / 8)?,
            slots: Slots::new(Arc::clone(&self.staging), Arc::clone(&self.format), slots),
            metrics: WriteMetrics::new(&self.metrics, partition),
            manifest,
            buffer_bytes,
            sorted: self.is_sorted(),
            last_group: None,
            key_columns: self.schema.partition_indices().to_vec(),
            totals: Totals::default(),
        })
    }
}

/// The input's columns without those that serve an order alone.
fn written_columns(input: &Schema, schema: &TableSchema, order: &[RowOrder]) -> Result<Schema> {
    let columns = schema.arrow().fields().len();
    let behind = order.iter().filter(|key| key.column >= columns).count();
    let written: Vec<usize> = (0..input.fields().len().saturating_sub(behind)).collect();
    Ok(input.project(&written)?)
}

/// A task's part of what the statement may use, and no less than it needs.
fn share(all: u64, tasks: usize, least: usize) -> usize {
    (usize::try_from(all).unwrap_or(usize::MAX) / tasks.max(1)).max(least)
}

fn origin(partition: usize, partitions: usize) -> Origin {
    Origin {
        input_partition: u32::try_from(partition).unwrap_or(u32::MAX),
        input_partitions: u32::try_from(partitions).unwrap_or(u32::MAX),
        attempt: RandomState::new().build_hasher().finish(),
    }
}

fn plan_properties(input: &Arc<dyn ExecutionPlan>) -> PlanProperties {
    let partitions = input.output_partitioning().partition_count();
    PlanProperties::new(
        EquivalenceProperties::new(manifest_schema()),
        Partitioning::UnknownPartitioning(partitions),
        EmissionType::Incremental,
        input.boundedness(),
    )
    .with_scheduling_type(SchedulingType::Cooperative)
    .with_evaluation_type(EvaluationType::Eager)
}

impl DisplayAs for StagedWriteExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let columns = self.schema.partition_columns().iter();
        let columns: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
        let mut parts = vec![
            ("partition_by", format!("[{}]", columns.join(", "))),
            ("distribution", self.options.distribution.name().to_owned()),
            ("compression", self.options.compression.to_string()),
        ];
        if !self.options.sort_by.is_empty() {
            let order: Vec<String> = self.options.sort_by.iter().map(ToString::to_string).collect();
            parts.push(("sort_by", format!("[{}]", order.join(", "))));
        }
        if !self.order.is_empty() {
            let input = self.input.schema();
            let order: Vec<String> = self.order.iter().map(|key| key.display(&input)).collect();
            parts.push(("order_by", format!("[{}]", order.join(", "))));
        }
        write_parts(f, format, "StagedWriteExec: ", &parts)
    }
}

/// `name=value, ...` behind the node's name, or a line each in a tree.
pub(super) fn write_parts(
    f: &mut fmt::Formatter,
    format: DisplayFormatType,
    name: &str,
    parts: &[(&str, String)],
) -> fmt::Result {
    let lines: Vec<String> = parts.iter().map(|(key, value)| format!("{key}={value}")).collect();
    match format {
        DisplayFormatType::TreeRender => f.write_str(&lines.join("\n")),
        DisplayFormatType::Default | DisplayFormatType::Verbose => {
            write!(f, "{name}{}", lines.join(", "))
        }
    }
}

impl ExecutionPlan for StagedWriteExec {
    fn name(&self) -> &'static str {
        "StagedWriteExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let distribution = match self.options.distribution {
            Distribution::None => InputDistribution::UnspecifiedDistribution,
            Distribution::Tidy if self.schema.partition_indices().is_empty() => {
                InputDistribution::SinglePartition
            }
            Distribution::Tidy => InputDistribution::KeyPartitioned(self.key_columns()),
        };
        InputDistributionRequirements::new(vec![distribution])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        let (options, input) = (&self.options, self.input.schema());
        let order = required_order(&self.schema, &options.sort_by, &self.order, &input);
        vec![order.map(OrderingRequirements::new)]
    }

    /// Encoding runs on all cores whatever the number of tasks.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.len()) {
            (Some(input), 0) => Ok(Arc::new(self.with_input(input)?)),
            _ => internal_err!("StagedWriteExec has one input"),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let mut manifest = RecordBatchReceiverStream::builder(manifest_schema(), 2);
        let task = self.task(partition, &context, manifest.tx())?;
        let input = self.input.execute(partition, context)?;
        manifest.spawn(task.run(input));
        Ok(manifest.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
