//! `OPTIMIZE t`: the partitions of too many files, read and written as they are.
//!
//! ```text
//! snapshot --pack--> partitions that would have fewer files --scan of those--> one overwrite of them
//! ```
//! The unit that is replaced is the partition, so its large files are written anew with its small
//! ones; a partition in which nothing would be packed isn't touched.

use std::sync::Arc;

use datafusion::common::TableReference;
use datafusion::datasource::provider_as_source;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::LogicalPlanBuilder;
use partwise_commit::{
    AllPartitions, Coverage, Operation, PartitionFiles, PartitionSelector, RecordedOperation,
    Scope, Snapshot, TableSchema,
};
use partwise_table::config::{Distribution, PartwiseConfig};
use partwise_table::write::{WriteOptions, WriteSpec};
use partwise_table::{PartitionKeys, PartwiseTable, partition_scope};

use super::order::Ordered;
use super::pack::packed;
use super::scope::whole_partitions;
use super::target::PlannedWrite;
use crate::report::{bytes, counted};
use crate::statement::Optimize;
use crate::{Error, Result, token};

/// What an OPTIMIZE comes to.
pub enum Optimized {
    /// One overwrite of the partitions that would have fewer files.
    Write(Box<PlannedWrite>),
    /// There is none; why, for the prompt.
    Nothing(String),
}

/// Plans an OPTIMIZE.
///
/// # Errors
/// A condition that isn't one on the partition columns; a table that can't be read.
pub async fn plan(
    state: &SessionState,
    optimize: &Optimize,
    name: &TableReference,
    table: &PartwiseTable,
) -> Result<Optimized> {
    let schema = table.table_schema();
    let config = PartwiseConfig::of(state.config_options());
    let properties = table.table().describe().await?.properties;
    let options = WriteOptions::from_config(&config).with_properties(&properties, schema)?;
    let selector = selector(state, optimize, schema)?;
    let found = table.table().snapshot(schema.partition_columns(), selector.as_ref()).await?;
    let Some(packing) = Packing::of(&found, &options) else {
        return Ok(Optimized::Nothing(nothing(&found, &options)));
    };
    let mut spec = WriteSpec::new(packing.operation(schema), &config);
    spec.recorded_as = Some(RecordedOperation::Optimize);
    spec.was_there = true;
    spec.scope = packing.scope(schema, optimize);
    spec.read_within = spec.scope.clone();
    spec.options = WriteOptions { distribution: Distribution::Tidy, ..options };
    spec.properties = properties;
    spec.statement = token::text(state);
    let source = provider_as_source(Arc::new(table.of_partitions(packing.keys).whole_rows()));
    let rows = LogicalPlanBuilder::scan(name.clone(), source, None)?.build()?;
    let rows = Ordered { plan: rows, order: vec![] };
    let write = PlannedWrite::new(name, table.table().clone(), schema.clone(), spec, rows).await?;
    Ok(Optimized::Write(Box::new(write)))
}

fn selector(
    state: &SessionState,
    optimize: &Optimize,
    schema: &TableSchema,
) -> Result<Arc<dyn PartitionSelector>> {
    let columns = schema.partition_columns();
    match &optimize.condition {
        None => Ok(Arc::new(AllPartitions)),
        Some(_) if columns.is_empty() => {
            Err(Error::invalid("the table isn't partitioned: leave the WHERE out"))
        }
        Some(predicate) => {
            let condition = whole_partitions(state, columns, "OPTIMIZE", predicate)?;
            Ok(partition_scope(columns, &[condition])?)
        }
    }
}

/// The partitions that would have fewer files.
struct Packing {
    keys: PartitionKeys,
    partitions: usize,
    files_before: usize,
    files_after: usize,
}

impl Packing {
    fn of(found: &Snapshot, options: &WriteOptions) -> Option<Self> {
        let after = |partition: &PartitionFiles| packed(&partition.files, options);
        let chosen = found.partitions.iter().map(|partition| (partition, after(partition)));
        let chosen: Vec<_> =
            chosen.filter(|(partition, after)| *after < partition.files.len()).collect();
        (!chosen.is_empty()).then(|| Self {
            keys: PartitionKeys::new(chosen.iter().map(|(partition, _)| &partition.key)),
            partitions: chosen.len(),
            files_before: chosen.iter().map(|(partition, _)| partition.files.len()).sum(),
            files_after: chosen.iter().map(|(_, after)| after).sum(),
        })
    }

    fn operation(&self, schema: &TableSchema) -> Operation {
        Operation::Overwrite(match schema.partition_columns().is_empty() {
            true => Coverage::Matching(vec![]),
            false => Coverage::Written,
        })
    }

    /// None for a table that is one partition.
    fn scope(&self, schema: &TableSchema, optimize: &Optimize) -> Option<Scope> {
        let condition = optimize.condition.as_ref().map(|condition| format!(" of {condition}"));
        let text = format!(
            "{}{}, {} -> {}",
            counted(self.partitions as u64, "partition"),
            condition.unwrap_or_default(),
            counted(self.files_before as u64, "file"),
            self.files_after
        );
        let partitioned = !schema.partition_columns().is_empty();
        partitioned.then(|| Scope::new(Arc::new(self.keys.clone()), text))
    }
}

/// `nothing to optimize: 91 partitions, 91 files, and fewer wouldn't hold them at 256.0 MB a file`.
fn nothing(found: &Snapshot, options: &WriteOptions) -> String {
    let totals = found.totals();
    format!(
        "nothing to optimize: {}, {}, and fewer wouldn't hold them at {} a file",
        counted(totals.partitions, "partition"),
        counted(totals.files, "file"),
        bytes(options.target_file_bytes)
    )
}
