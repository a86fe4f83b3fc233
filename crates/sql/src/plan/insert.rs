//! `INSERT INTO` and `INSERT OVERWRITE` on a table of ours.

use datafusion::common::TableReference;
use datafusion::execution::context::SessionState;
use partwise_commit::{IfExists, Operation, Preview, Table, TableSchema};
use partwise_table::PartwiseTable;
use partwise_table::config::PartwiseConfig;
use partwise_table::write::spec::{Told, WriteSpec};

use super::columns::{Order, project};
use super::query::{plan_as_is, plan_query};
use super::spec::PartitionSpec;
use super::target::PlannedWrite;
use crate::statement::Insert;
use crate::{Error, Result, secrets, token};

/// Plans an INSERT into a table of ours; with a place for a preview, one that commits nothing. None
/// where it says IF NOT EXISTS and the partition is there: the query isn't planned.
///
/// # Errors
/// Whatever is wrong with the clause, the columns or the query; nothing has been touched.
pub async fn plan(
    state: &SessionState,
    insert: &Insert,
    name: &TableReference,
    table: &PartwiseTable,
    preview: Option<Told<Preview>>,
) -> Result<Option<PlannedWrite>> {
    if insert.by_name && !insert.columns.is_empty() {
        return Err(Error::invalid("BY NAME and a column list exclude each other"));
    }
    let schema = table.table_schema();
    let config = PartwiseConfig::of(state.config_options());
    let spec = match &insert.partition {
        Some(items) => PartitionSpec::new(state, schema, items)?,
        None => PartitionSpec::default(),
    };
    check_if_not_exists(insert, &spec, schema)?;
    let previews = preview.is_some();
    if insert.if_not_exists && !previews && exists(state, table, &spec).await? {
        return Ok(None);
    }
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
    write.properties = described.properties;
    write.was_there = described.has_data;
    write.constants = spec.shown(schema);
    write.scope = spec.scope.clone();
    if insert.if_not_exists {
        write.if_exists = IfExists::Keep;
    }
    write.preview = preview;
    let rows = project(rows, schema, &spec, order)?;
    let table = table.table().clone();
    Ok(Some(PlannedWrite::new(name, table, schema.clone(), write, rows).await?))
}

/// Whether the partition of the constants holds a file.
async fn exists(state: &SessionState, table: &PartwiseTable, spec: &PartitionSpec) -> Result<bool> {
    let columns = table.table_schema().partition_columns();
    let named = spec.named(state, columns)?;
    let found = table.table().snapshot(columns, named.as_ref()).await?;
    Ok(found.partitions.iter().any(|partition| !partition.files.is_empty()))
}

fn check_if_not_exists(insert: &Insert, spec: &PartitionSpec, schema: &TableSchema) -> Result<()> {
    let one_partition = insert.overwrite && spec.names_all(schema.partition_columns());
    match !insert.if_not_exists || (one_partition && insert.partition.is_some()) {
        true => Ok(()),
        false => Err(Error::invalid(
            "IF NOT EXISTS goes with INSERT OVERWRITE and a constant for every partition column: it \
             asks whether that one partition is there",
        )),
    }
}

/// The part of a write that comes from the session.
///
/// # Errors
/// A job without a run, or the other way round.
pub fn write_spec(state: &SessionState, operation: Operation, table: &Table) -> Result<WriteSpec> {
    let config = PartwiseConfig::of(state.config_options());
    let mut spec = WriteSpec::new(operation, &config);
    let location = table.location().display();
    spec.token = token::next_token(state, &location)?;
    if let Some(token) = &spec.token {
        spec.outcome = token::counted(state, token, &location);
    }
    spec.statement = secrets::hidden(&token::text(state));
    Ok(spec)
}
