//! `SHOW CREATE TABLE`: the statement that makes a table of the same columns.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema};
use datafusion::common::TableReference;
use datafusion::common::utils::quote_identifier;
use datafusion::execution::context::SessionState;
use datafusion::sql::sqlparser::keywords::{
    ALL_KEYWORDS, ALL_KEYWORDS_INDEX, RESERVED_FOR_COLUMN_ALIAS,
};
use partwise_table::PartwiseTable;
use partwise_table::write::table_types;

use crate::plan::assign::type_name;
use crate::{Error, Result};

/// One row, with the columns that DataFusion has for views.
///
/// # Errors
/// A column whose type SQL can't declare.
pub fn show(
    state: &SessionState,
    name: &TableReference,
    table: &PartwiseTable,
    in_lake: bool,
) -> Result<RecordBatch> {
    let catalog = &state.config_options().catalog;
    let values = [
        ("table_catalog", catalog.default_catalog.clone()),
        ("table_schema", catalog.default_schema.clone()),
        ("table_name", name.table().to_owned()),
        ("definition", definition(name.table(), table, in_lake)?),
    ];
    let fields = values.iter().map(|(name, _)| Field::new(*name, DataType::Utf8, false));
    let schema = Schema::new(fields.collect::<Fields>());
    let columns = values
        .iter()
        .map(|(_, value)| Arc::new(StringArray::from(vec![value.as_str()])) as ArrayRef);
    Ok(RecordBatch::try_new(Arc::new(schema), columns.collect())?)
}

/// ```text
/// CREATE TABLE t (
///   n INT,
///   p STRING
/// )
/// USING parquet
/// PARTITIONED BY (p)
/// OPTIONS ('compression' 'zstd(3)')
/// ```
fn definition(name: &str, table: &PartwiseTable, in_lake: bool) -> Result<String> {
    let schema = table.table_schema();
    // As a table of ours holds them: files of other tools may have unsigned or half-width numbers.
    let declared = table_types(schema.arrow())?;
    let columns = declared.fields().iter().map(|field| column(field));
    let columns = columns.collect::<Result<Vec<_>>>()?.join(",\n  ");
    let table_name = if in_lake { name } else { last_part(name) };
    let mut lines = vec![format!("CREATE TABLE {} (\n  {columns}\n)", quoted(table_name))];
    lines.push("USING parquet".to_owned());
    let by = schema.partition_columns().iter().map(|column| quoted(&column.name));
    let by: Vec<_> = by.collect();
    if !by.is_empty() {
        lines.push(format!("PARTITIONED BY ({})", by.join(", ")));
    }
    let properties = table.properties().iter();
    let options: Vec<String> =
        properties.map(|(name, value)| format!("{} {}", text(name), text(value))).collect();
    if !options.is_empty() {
        lines.push(format!("OPTIONS ({})", options.join(", ")));
    }
    if !in_lake {
        lines.push(format!("LOCATION {}", text(&table.location().display())));
    }
    Ok(lines.join("\n"))
}

/// A name as statements can say it: in quotes where it has odd characters, or is a reserved word.
fn quoted(name: &str) -> Cow<'_, str> {
    let reserved = ALL_KEYWORDS
        .binary_search(&name.to_ascii_uppercase().as_str())
        .map(|found| ALL_KEYWORDS_INDEX[found])
        .is_ok_and(|word| RESERVED_FOR_COLUMN_ALIAS.contains(&word));
    match reserved {
        true => Cow::Owned(format!("\"{name}\"")),
        false => quote_identifier(name),
    }
}

/// What a table by its path is called: its directory.
fn last_part(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

fn column(field: &Field) -> Result<String> {
    Ok(format!("{} {}", quoted(field.name()), sql_type(field.name(), field.data_type())?))
}

/// A type as `CREATE TABLE` reads it.
fn sql_type(column: &str, data_type: &DataType) -> Result<String> {
    Ok(match data_type {
        DataType::Binary => "BYTEA".to_owned(),
        DataType::List(item) => format!("{}[]", sql_type(column, item.data_type())?),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| self::column(field));
            format!("STRUCT<{}>", fields.collect::<Result<Vec<_>>>()?.join(", "))
        }
        DataType::Map(..) => {
            return Err(Error::unsupported(format!(
                "column {column} is a MAP, which CREATE TABLE can't declare: make the table from a \
                 query, CREATE TABLE .. AS SELECT"
            )));
        }
        other => type_name(other),
    })
}

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}
