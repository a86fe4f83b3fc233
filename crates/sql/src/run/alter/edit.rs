//! Other columns, or other properties: one commit that touches no file.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::TableReference;
use datafusion::execution::context::SessionState;
use datafusion::sql::sqlparser::ast::{ColumnDef, DataType as SqlType, Ident};
use partwise_commit::{ErrorKind, Operation, TableSchema};
use partwise_table::{PartwiseTable, widens};

use crate::plan::assign::type_name;
use crate::plan::create::{checked_properties, declared_schema};
use crate::plan::insert::write_spec;
use crate::run::{CONFLICT_RETRIES, Planned, rowless};
use crate::statement::AlterAction;
use crate::{Error, PartwiseContext, Result};

/// A table's columns and properties, and what was done to them in words.
struct Edited {
    schema: TableSchema,
    properties: BTreeMap<String, String>,
    said: String,
}

/// Commits the action; planned again where another commit came in between.
///
/// # Errors
/// What is wrong with the columns or properties; a table that can't be written.
pub async fn edit(
    context: &PartwiseContext,
    state: &SessionState,
    name: &TableReference,
    table: &PartwiseTable,
    action: &AlterAction,
) -> Result<Planned> {
    let mut tries = 0;
    loop {
        match edit_once(state, name, table, action).await {
            Err(error) if error.kind() == ErrorKind::Conflict && tries < CONFLICT_RETRIES => {
                tries += 1;
            }
            done => {
                if done.is_ok() {
                    context.schema().read_as_logged(name.table());
                }
                return done;
            }
        }
    }
}

async fn edit_once(
    state: &SessionState,
    name: &TableReference,
    table: &PartwiseTable,
    action: &AlterAction,
) -> Result<Planned> {
    let described = table.table().describe().await?;
    let mut spec = write_spec(state, Operation::Alter, table.table())?;
    spec.read_version = Some(described.version.unwrap_or(0));
    if let Some(applied) = rowless::applied(table.table(), &spec).await? {
        let said = "already applied by this job and run, nothing changed";
        return Ok(Planned::Done(Some(format!("version {}: {said}", applied.version))));
    }
    let schema = described.schema.unwrap_or_else(|| table.table_schema().clone());
    if let AlterAction::AddColumns { columns, .. } = action {
        check_fits_found(state, name, table, columns).await?;
    }
    let Some(edited) = edited(state, name, schema, described.properties, action).await? else {
        let said = format!("{name} has that already, nothing was done");
        return Ok(Planned::Needless(said, table.location().clone()));
    };
    let Edited { schema, properties, said } = edited;
    let committed = rowless::commit(state, table.table(), &schema, properties, &spec).await?;
    Ok(match committed.operation {
        Some(_) => {
            Planned::Done(Some(format!("version {}: {said}, no file touched", committed.version)))
        }
        None => Planned::Needless(
            format!("{name} has that already, nothing was done"),
            table.location().clone(),
        ),
    })
}

/// None where there is nothing to change.
async fn edited(
    state: &SessionState,
    name: &TableReference,
    schema: TableSchema,
    properties: BTreeMap<String, String>,
    action: &AlterAction,
) -> Result<Option<Edited>> {
    match action {
        AlterAction::AddColumns { columns, if_not_exists } => {
            let added = added(state, name, &schema, columns, *if_not_exists).await?;
            if added.is_empty() {
                return Ok(None);
            }
            let said: Vec<String> = added.iter().map(|field| shown(field)).collect();
            let said = format!("added {}", said.join(", "));
            let fields = schema.arrow().fields().iter().cloned().chain(added);
            Ok(Some(Edited { schema: of_fields(&schema, fields)?, properties, said }))
        }
        AlterAction::SetType { column, data_type } => {
            let (schema, said) = widened(state, name, &schema, column, data_type).await?;
            Ok(Some(Edited { schema, properties, said }))
        }
        AlterAction::SetProperties(set) => {
            let set = checked_properties(state, set, &schema)?;
            let said: Vec<String> = set.iter().map(|(k, v)| format!("{k} = {v}")).collect();
            let properties = properties.into_iter().chain(set).collect();
            Ok(Some(Edited { schema, properties, said: format!("set {}", said.join(", ")) }))
        }
        AlterAction::UnsetProperties { names, if_exists } => {
            let properties = without(name, properties, names, *if_exists)?;
            let said = format!("unset {}", names.join(", "));
            Ok(Some(Edited { schema, properties, said }))
        }
        _ => Err(Error::new(
            ErrorKind::Internal,
            "an ALTER that changes neither columns nor properties",
        )),
    }
}

fn shown(field: &Field) -> String {
    format!("{} {}", field.name(), type_name(field.data_type()))
}

fn of_fields(schema: &TableSchema, fields: impl Iterator<Item = FieldRef>) -> Result<TableSchema> {
    let arrow =
        Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.arrow().metadata().clone());
    let by = schema.partition_columns().iter().map(|column| column.name.clone()).collect();
    Ok(TableSchema::new(Arc::new(arrow), by)?)
}

fn find<'a>(schema: &'a TableSchema, name: &str) -> Option<&'a FieldRef> {
    schema.arrow().fields().iter().find(|field| field.name().eq_ignore_ascii_case(name))
}

fn is_partition_column(schema: &TableSchema, name: &str) -> bool {
    schema.partition_columns().iter().any(|column| column.name.eq_ignore_ascii_case(name))
}

/// The columns to add, in the table's types; all of them may hold NULL, which old files read as.
async fn added(
    state: &SessionState,
    name: &TableReference,
    schema: &TableSchema,
    columns: &[ColumnDef],
    if_not_exists: bool,
) -> Result<Vec<FieldRef>> {
    let declared = declared_schema(state, columns).await?;
    let (there, new): (Vec<_>, Vec<_>) =
        declared.fields().iter().cloned().partition(|field| find(schema, field.name()).is_some());
    match there.first().filter(|_| !if_not_exists) {
        None => Ok(new),
        Some(taken) => Err(Error::invalid(format!(
            "{name} has {} already (names match without case): say ADD COLUMN IF NOT EXISTS where \
             that is fine, or take another name",
            match is_partition_column(schema, taken.name()) {
                true => format!("the partition column {}", taken.name()),
                false => format!("a column {}", taken.name()),
            }
        ))),
    }
}

/// What other tools have put in may have a column of that name: then its values have to fit.
async fn check_fits_found(
    state: &SessionState,
    name: &TableReference,
    table: &PartwiseTable,
    columns: &[ColumnDef],
) -> Result<()> {
    let found = table.columns_of_others(state).await?;
    for field in declared_schema(state, columns).await?.fields() {
        let there = found.fields().iter().find(|f| f.name().eq_ignore_ascii_case(field.name()));
        if let Some(there) = there.filter(|there| !widens(there.data_type(), field.data_type())) {
            return Err(Error::invalid(format!(
                "files that another tool has put into {name} have a column {}, which doesn't fit \
                 into {}: add it as {0}, or under another name",
                shown(there),
                type_name(field.data_type())
            )));
        }
    }
    Ok(())
}

/// The schema with a column of a type that holds all values of its own.
async fn widened(
    state: &SessionState,
    name: &TableReference,
    schema: &TableSchema,
    column: &Ident,
    data_type: &SqlType,
) -> Result<(TableSchema, String)> {
    let Some(old) = find(schema, &column.value) else {
        let names: Vec<&str> = schema.arrow().fields().iter().map(|f| f.name().as_str()).collect();
        return Err(Error::invalid(format!(
            "{name} has no column {column}; it has {}",
            names.join(", ")
        )));
    };
    if is_partition_column(schema, old.name()) {
        return Err(Error::unsupported(format!(
            "{} is a partition column of {name}, whose values are names of directories: make the \
             table anew with CREATE OR REPLACE TABLE .. AS SELECT",
            old.name()
        )));
    }
    let declared =
        ColumnDef { name: column.clone(), data_type: data_type.clone(), options: vec![] };
    let to = declared_schema(state, &[declared]).await?.field(0).data_type().clone();
    check_widens(name, old, &to)?;
    let fields = schema.arrow().fields().iter().map(|field| match Arc::ptr_eq(field, old) {
        true => Arc::new(field.as_ref().clone().with_data_type(to.clone())),
        false => Arc::clone(field),
    });
    let said = format!("{} widened to {}", shown(old), type_name(&to));
    Ok((of_fields(schema, fields)?, said))
}

fn check_widens(name: &TableReference, old: &Field, to: &DataType) -> Result<()> {
    // Files of old writers may hold text as bytes; bytes that a table has chosen need not be text.
    let may_be_text = old.data_type().is_binary() && to.is_string();
    if widens(old.data_type(), to) && !may_be_text {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "a {} of {name} may not fit into {}: files keep the type they were written with, so a type \
         can only widen; make the table anew with CREATE OR REPLACE TABLE .. AS SELECT CAST({} AS \
         ..)",
        shown(old),
        type_name(to),
        old.name()
    )))
}

fn without(
    name: &TableReference,
    mut properties: BTreeMap<String, String>,
    names: &[String],
    if_exists: bool,
) -> Result<BTreeMap<String, String>> {
    for property in names {
        let found = properties.keys().find(|known| known.eq_ignore_ascii_case(property)).cloned();
        match found {
            Some(found) => drop(properties.remove(&found)),
            None if if_exists => {}
            None => {
                let set: Vec<&str> = properties.keys().map(String::as_str).collect();
                return Err(Error::invalid(format!(
                    "{name} has no property {property}; set: {}",
                    if set.is_empty() { "none".to_owned() } else { set.join(", ") }
                )));
            }
        }
    }
    Ok(properties)
}
