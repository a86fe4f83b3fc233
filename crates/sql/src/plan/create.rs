//! `CREATE TABLE`: the four save modes and the pinned schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::TableReference;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use datafusion::sql::sqlparser::ast::{
    ColumnDef, DataType as SqlType, Ident, ObjectName, Statement as SQLStatement,
};
use partwise_commit::{Location, Operation, Table, TableSchema};
use partwise_table::config::PartwiseConfig;
use partwise_table::write::options::WriteOptions;
use partwise_table::write::table_types;

use super::columns::{Order, project};
use super::insert::write_spec;
use super::query::{plan_as_is, plan_query};
use super::spec::PartitionSpec;
use super::target::PlannedWrite;
use crate::statement::CreateTable;
use crate::token::next_token;
use crate::{Error, Result, place};

/// Properties of a table that say nothing of how its files are written.
const TABLE_PROPERTIES: [&str; 2] = ["retention", "success_marker"];

/// What a CREATE TABLE comes to.
pub enum Created {
    /// The table is there and the statement says that is fine.
    Exists,
    /// An empty table, to be made with this schema.
    Empty(TableSchema),
    /// A table filled by a query.
    Filled(Box<PlannedWrite>),
}

/// Plans a CREATE TABLE at a location. The query isn't planned when the table is there already.
///
/// # Errors
/// Data at the path (the error names it), columns that don't fit, options that aren't known.
pub async fn plan(
    state: &SessionState,
    create: &CreateTable,
    name: &TableReference,
    location: Location,
) -> Result<Created> {
    let table = Table::new(location);
    let there = table.describe().await?.has_data;
    if there && create.if_not_exists {
        return Ok(Created::Exists);
    }
    if there && !create.or_replace && !applied(state, &table).await? {
        return Err(exists(&table));
    }
    let partition_by: Vec<String> =
        create.partitioned_by.iter().map(|ident| ident.value.clone()).collect();
    let declared = match create.columns.is_empty() {
        true => None,
        false => Some(declared_schema(state, &create.columns).await?),
    };
    let Some(query) = &create.query else {
        let declared = declared.ok_or_else(|| {
            Error::invalid("CREATE TABLE needs columns, (name TYPE, ..), or AS and a query")
        })?;
        let schema = TableSchema::new(declared, partition_by)?;
        check_columns(&schema)?;
        properties(state, create, &schema)?;
        return Ok(Created::Empty(schema));
    };
    let rows = match &declared {
        Some(_) => plan_query(state, query.as_ref().clone()).await?,
        None => plan_as_is(state, query.as_ref().clone()).await?,
    };
    let schema = match declared {
        Some(schema) => schema,
        None => Arc::new(table_types(rows.schema().as_arrow())?),
    };
    let schema = TableSchema::new(schema, partition_by)?;
    check_columns(&schema)?;
    let rows = project(rows, &schema, &PartitionSpec::default(), Order::Position)?;
    let mut spec = write_spec(state, operation(create), &table)?;
    spec.properties = named(&create.options);
    spec.options = spec.options.with_options(&spec.properties, &schema, &TABLE_PROPERTIES)?;
    let write = PlannedWrite::new(name, table, schema, spec, rows).await?;
    Ok(Created::Filled(Box::new(write)))
}

/// Whether it is this very statement that made the table, in this run of the session's job.
async fn applied(state: &SessionState, table: &Table) -> Result<bool> {
    match next_token(state, &table.location().display())? {
        Some(token) => Ok(table.applied(&token).await?.is_some()),
        None => Ok(false),
    }
}

/// What a CREATE does to the table in the log.
pub fn operation(create: &CreateTable) -> Operation {
    if create.or_replace { Operation::Replace } else { Operation::Create }
}

/// The options of a statement as properties of its table, each checked.
///
/// # Errors
/// A name or a value that isn't known, with the accepted ones.
pub fn properties(
    state: &SessionState,
    create: &CreateTable,
    schema: &TableSchema,
) -> Result<BTreeMap<String, String>> {
    checked_properties(state, &create.options, schema)
}

/// Names and values as properties of a table, each checked.
///
/// # Errors
/// As [`properties`].
pub fn checked_properties(
    state: &SessionState,
    given: &[(String, String)],
    schema: &TableSchema,
) -> Result<BTreeMap<String, String>> {
    let options = named(given);
    let config = PartwiseConfig::of(state.config_options());
    WriteOptions::from_config(&config).with_options(&options, schema, &TABLE_PROPERTIES)?;
    Ok(options)
}

/// The options that open the store of its LOCATION, and aren't the table's.
pub fn store_options(create: &CreateTable) -> BTreeMap<String, String> {
    place::split_options(&create.options, Clone::clone).0
}

/// Options by name, without a store's; a name counts without case, a column's as it is declared.
fn named(given: &[(String, String)]) -> BTreeMap<String, String> {
    let lower = |name: &str| match name.split_once("::") {
        Some((option, column)) => format!("{}::{column}", option.to_ascii_lowercase()),
        None => name.to_ascii_lowercase(),
    };
    let (_, options) = place::split_options(given, Clone::clone);
    options.iter().map(|(name, value)| (lower(name), value.trim().to_owned())).collect()
}

/// The error of the save mode `error`.
fn exists(table: &Table) -> Error {
    Error::invalid(format!(
        "{} has data already: use INSERT INTO to add to it, CREATE OR REPLACE TABLE to replace \
         all of it, or CREATE TABLE IF NOT EXISTS to leave it",
        table.location().display()
    ))
}

/// Clauses that exclude each other, and formats that a table can't have.
///
/// # Errors
/// Which.
pub fn check_clauses(create: &CreateTable) -> Result<()> {
    if create.or_replace && create.if_not_exists {
        return Err(Error::invalid("OR REPLACE and IF NOT EXISTS exclude each other"));
    }
    if create.typed_partitions && create.query.is_some() {
        return Err(Error::invalid(
            "with AS, the query's columns have their types already: leave the types out of \
             PARTITIONED BY (..), or declare all columns in front of it",
        ));
    }
    if let (None, Some(option)) = (&create.location, store_options(create).keys().next()) {
        return Err(Error::invalid(format!(
            "{option} is an option of the store that LOCATION 's3://bucket/prefix' names: the \
             lake's own settings come from the environment"
        )));
    }
    match create.format.as_deref() {
        None => Ok(()),
        Some(format) if format.eq_ignore_ascii_case("parquet") => Ok(()),
        Some(other) => Err(Error::unsupported(format!(
            "USING {other}: tables are Parquet; read other formats with CREATE EXTERNAL TABLE"
        ))),
    }
}

/// A table needs a column besides those that are only in paths.
pub fn check_columns(schema: &TableSchema) -> Result<()> {
    if schema.file_schema().fields().is_empty() {
        return Err(Error::invalid(
            "every column is a partition column, so the files would be empty: leave at least one \
             column out of PARTITIONED BY",
        ));
    }
    Ok(())
}

/// Declared columns as a schema: SQL's type names as DataFusion reads them, then as tables have
/// them.
pub async fn declared_schema(state: &SessionState, columns: &[ColumnDef]) -> Result<SchemaRef> {
    for column in columns {
        if let Some(option) = column.options.first() {
            return Err(Error::unsupported(format!(
                "{}: {} is not enforced in this version: leave it out",
                column.name, option.option
            )));
        }
    }
    let name = ObjectName::from(vec![Ident::new("columns")]);
    let columns = columns.iter().map(declared).collect();
    let create = CreateTableBuilder::new(name).columns(columns).build();
    let statement = DFStatement::Statement(Box::new(SQLStatement::CreateTable(create)));
    match in_utc(state).statement_to_plan(statement).await? {
        LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(made)) => {
            Ok(Arc::new(table_types(made.input.schema().as_arrow())?))
        }
        _ => Err(Error::invalid("the column list can't be read")),
    }
}

/// A column as DataFusion reads it: bytes have one name there.
fn declared(column: &ColumnDef) -> ColumnDef {
    let mut column = column.clone();
    if matches!(column.data_type, SqlType::Binary(_) | SqlType::Varbinary(_) | SqlType::Blob(_)) {
        column.data_type = SqlType::Bytea;
    }
    column
}

/// Without a time zone, DataFusion reads `TIMESTAMP WITH TIME ZONE` as one without.
fn in_utc(state: &SessionState) -> SessionState {
    let mut state = state.clone();
    let execution = &mut state.config_mut().options_mut().execution;
    execution.time_zone.get_or_insert_with(|| "+00:00".to_owned());
    state
}
