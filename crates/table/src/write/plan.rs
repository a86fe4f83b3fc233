//! From a query's plan to the plan that writes its rows.

use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::physical_plan::ExecutionPlan;
use partwise_commit::{Table, TableSchema};

use super::sink::PartitionSink;
use super::spec::WriteSpec;
use super::staged_write::StagedWriteExec;
use super::staging::StagingCell;

/// The plan that writes the rows of `input` to `table` and commits them as `spec` says. The columns
/// of `input` are those of `schema` by position, partition columns included; they are brought onto
/// the table's types, and what would lose something is an error. Columns behind them are for the
/// spec's order of rows.
///
/// Planning has no side effects: the transaction begins when the plan runs. The plan states how it
/// wants its rows spread and ordered, and the physical optimizer adds what that takes: a plan that
/// isn't optimized writes the same rows into more files.
///
/// # Errors
/// Another number of columns; a column that can't be stored as the table's type.
pub fn plan_write(
    _session: &dyn Session,
    input: Arc<dyn ExecutionPlan>,
    table: Table,
    schema: TableSchema,
    spec: WriteSpec,
) -> Result<Arc<dyn ExecutionPlan>> {
    let staging = StagingCell::new();
    let (options, order, cell) = (spec.options.clone(), spec.order.clone(), Arc::clone(&staging));
    let write = StagedWriteExec::try_new(input, schema.clone(), options, order, cell)?;
    let sink = PartitionSink::new(table, schema, spec, staging);
    Ok(Arc::new(DataSinkExec::new(Arc::new(write), Arc::new(sink), None)))
}
