//! `INSERT INTO` and `INSERT OVERWRITE` on a table of ours.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::execution::context::SessionState;
use partwise_commit::{Operation, Table};
use partwise_table::PartwiseTable;
use partwise_table::config::PartwiseConfig;
use partwise_table::write::spec::WriteSpec;

use super::columns::{Order, project};
use super::query::{plan_as_is, plan_query};
use super::spec::PartitionSpec;
use super::target::PlannedWrite;
use crate::statement::Insert;
use crate::{Error, Result, scans, token};

/// Plans an INSERT into a table of ours.
///
/// # Errors
/// Whatever is wrong with the clause, the columns or the query; nothing has been touched.
pub async fn plan(
    state: &SessionState,
    insert: &Insert,
    name: &TableReference,
    table: &PartwiseTable,
) -> Result<PlannedWrite> {
    if insert.if_not_exists {
        return Err(Error::unsupported(
            "INSERT .. IF NOT EXISTS is not part of this version: SHOW PARTITIONS tells which are \
             there",
        ));
    }
    if insert.by_name && !insert.columns.is_empty() {
        return Err(Error::invalid("BY NAME and a column list exclude each other"));
    }
    let schema = table.table_schema();
    let config = PartwiseConfig::of(state.config_options());
    let spec = match &insert.partition {
        Some(items) => PartitionSpec::new(state, schema, items)?,
        None => PartitionSpec::default(),
    };
    let operation = spec.operation(schema, insert.overwrite, config.partition_overwrite_mode)?;
    let query = insert.query.as_ref().clone();
    let (rows, order) = match (insert.by_name, insert.columns.is_empty()) {
        (true, _) => (plan_as_is(state, query).await?, Order::Name),
        (_, false) => (plan_query(state, query).await?, Order::List(&insert.columns)),
        _ => (plan_query(state, query).await?, Order::Position),
    };
    let described = table.table().describe().await?;
    let mut write = write_spec(state, operation, table.table())?;
    write.options = write.options.with_properties(&described.properties, schema)?;
    write.constants = spec.shown(schema);
    if scans::tables_of(&rows)?.iter().any(|read| scans::is_same(read, table)) {
        write.read_version = Some(described.version.unwrap_or(0));
    }
    let rows = project(rows, schema, &spec, order)?;
    PlannedWrite::new(name, table.table().clone(), schema.clone(), write, rows)
}

/// The part of a write that comes from the session.
///
/// # Errors
/// A job without a run, or the other way round.
pub fn write_spec(state: &SessionState, operation: Operation, table: &Table) -> Result<WriteSpec> {
    let config = PartwiseConfig::of(state.config_options());
    let mut spec = WriteSpec::new(operation, &config);
    spec.token = token::next_token(state, &table.location().display())?;
    spec.statement = token::text(state);
    Ok(spec)
}

/// A provider as one of ours.
pub fn as_partwise(provider: &Arc<dyn TableProvider>) -> Option<&PartwiseTable> {
    provider.as_ref().downcast_ref::<PartwiseTable>()
}
