//! `\d`: the tables, and what one is made of.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, TimeUnit};
use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::logical_expr::TableType;
use partwise_sql::PartwiseContext;
use partwise_sql::stream::StreamTable;
use partwise_table::PartwiseTable;

use crate::status::{Failure, Result};

/// What `\d` has to show: lines above a table, the table, lines below.
#[derive(Debug)]
pub struct Description {
    /// What it is and where.
    pub heading: Option<String>,
    /// The table.
    pub rows: RecordBatch,
    /// What else there is to know.
    pub notes: Vec<String>,
}

/// The tables of a session.
///
/// # Errors
/// A lake that can't be listed.
pub async fn tables(context: &PartwiseContext) -> Result<Description> {
    let mut rows = Vec::new();
    for name in context.table_names().await? {
        let provider = context.session().table_provider(TableReference::bare(name.clone())).await;
        rows.push(match provider {
            Ok(provider) => table_row(name, provider.as_ref()),
            Err(error) => {
                vec![
                    name,
                    String::new(),
                    String::new(),
                    partwise_sql::Error::from(error).to_string(),
                ]
            }
        });
    }
    let notes = match rows.is_empty() {
        true => {
            vec!["no tables: CREATE TABLE makes one, SELECT ... FROM 'dir/' reads files".to_owned()]
        }
        false => vec![],
    };
    let rows = batch(&["table", "partitioned by", "version", "location"], rows)?;
    Ok(Description { heading: None, rows, notes })
}

fn table_row(name: String, provider: &dyn TableProvider) -> Vec<String> {
    let Some(table) = provider.downcast_ref::<PartwiseTable>() else {
        return vec![name, String::new(), String::new(), kind(provider).to_owned()];
    };
    let partitioned_by = partition_columns(table).join(", ");
    let version = table.version().map(|version| version.to_string()).unwrap_or_default();
    vec![name, partitioned_by, version, table.location().display()]
}

/// What is no table of Parquet files in a directory.
fn kind(provider: &dyn TableProvider) -> &'static str {
    if provider.is::<StreamTable>() {
        return "(a stream of this session)";
    }
    match provider.table_type() {
        TableType::View => "(a view of this session)",
        TableType::Base | TableType::Temporary => "(of this session)",
    }
}

/// The columns that a table is partitioned by, in their order.
pub fn partition_columns(table: &PartwiseTable) -> Vec<&str> {
    table.table_schema().partition_columns().iter().map(|c| c.name.as_str()).collect()
}

/// One table: a name, or a path in quotes.
///
/// # Errors
/// There is none, or it can't be read.
pub async fn table(context: &PartwiseContext, name: &str) -> Result<Description> {
    let path = name.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let reference = match path {
        Some(path) => TableReference::bare(path.replace("''", "'")),
        None => TableReference::parse_str(name),
    };
    let Ok(provider) = context.session().table_provider(reference).await else {
        // A statement tells best what is wrong with the name.
        let failed = context.execute(&format!("SELECT * FROM {name} LIMIT 0")).await.err();
        let said =
            failed.map_or_else(|| Failure::failed(format!("no table {name}")), Failure::from);
        return Err(said);
    };
    match provider.downcast_ref::<PartwiseTable>() {
        Some(table) => ours(name, table),
        None => {
            let heading = Some(format!("{name} {}", kind(provider.as_ref())));
            let rows = columns(provider.as_ref(), &[])?;
            Ok(Description { heading, rows, notes: vec![] })
        }
    }
}

fn ours(name: &str, table: &PartwiseTable) -> Result<Description> {
    let location = table.location().display();
    let heading = match table.version() {
        Some(version) => format!("{name}: {location}, version {version}"),
        None => format!("{name}: {location}, not written by Partwise yet"),
    };
    let partitioned_by = partition_columns(table);
    let rows = columns(table, &partitioned_by)?;
    let properties = table.properties().iter();
    let properties: Vec<String> =
        properties.map(|(name, value)| format!("{name} = {value}")).collect();
    let mut notes = Vec::new();
    if !properties.is_empty() {
        notes.push(format!("properties: {}", properties.join(", ")));
    }
    if !partitioned_by.is_empty() && path_of(name).is_none() {
        notes.push(format!("SHOW PARTITIONS {name}; lists the partitions"));
    }
    Ok(Description { heading: Some(heading), rows, notes })
}

fn path_of(name: &str) -> Option<&str> {
    name.strip_prefix('\'')
}

fn columns(provider: &dyn TableProvider, partitioned_by: &[&str]) -> Result<RecordBatch> {
    let schema = provider.schema();
    let rows = schema.fields().iter().map(|field| {
        let level = partitioned_by.iter().position(|&name| name == field.name());
        let partition = level.map(|level| format!("level {}", level + 1)).unwrap_or_default();
        vec![field.name().clone(), type_name(field.data_type()), partition]
    });
    batch(&["column", "type", "partition"], rows.collect())
}

/// The type as a statement spells it.
fn type_name(data_type: &DataType) -> String {
    let known = match data_type {
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INT",
        DataType::Int64 => "BIGINT",
        DataType::Float32 => "FLOAT",
        DataType::Float64 => "DOUBLE",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "STRING",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "BINARY",
        DataType::Date32 => "DATE",
        DataType::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP",
        DataType::Decimal128(precision, scale) => return format!("DECIMAL({precision}, {scale})"),
        other => return other.to_string(),
    };
    known.to_owned()
}

fn batch(header: &[&str], rows: Vec<Vec<String>>) -> Result<RecordBatch> {
    let columns = header.iter().enumerate().map(|(i, name)| {
        let cells = rows.iter().map(|row| row.get(i).map_or("", String::as_str));
        (*name, Arc::new(StringArray::from_iter_values(cells)) as ArrayRef)
    });
    Ok(RecordBatch::try_from_iter(columns)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_spelled_as_in_a_statement() {
        assert_eq!(type_name(&DataType::Utf8View), "STRING");
        assert_eq!(type_name(&DataType::Decimal128(18, 2)), "DECIMAL(18, 2)");
        assert_eq!(type_name(&DataType::Timestamp(TimeUnit::Microsecond, None)), "TIMESTAMP");
        assert_eq!(type_name(&DataType::UInt64), "UInt64");
    }

    #[tokio::test]
    async fn partition_columns_are_marked_with_their_level() {
        let dir = std::env::temp_dir().join(format!("partwise-describe-{}", std::process::id()));
        let context = PartwiseContext::open(dir.join("lake")).await.unwrap();
        let create = "CREATE TABLE t (a INT, p STRING, q INT) USING parquet PARTITIONED BY (p, q) \
                      OPTIONS ('compression' 'snappy')";
        context.execute(create).await.unwrap();
        let found = table(&context, "t").await.unwrap();
        assert!(found.heading.unwrap().starts_with("t: "));
        let levels = found.rows.column(2).as_any().downcast_ref::<StringArray>().unwrap().clone();
        assert_eq!(levels, StringArray::from(vec!["", "level 1", "level 2"]));
        assert_eq!(found.notes[0], "properties: compression = snappy");
        assert_eq!(tables(&context).await.unwrap().rows.num_rows(), 1);
        let error = table(&context, "tt").await.unwrap_err();
        assert!(error.message.contains("did you mean t?"), "{error}");
        std::fs::remove_dir_all(dir).unwrap();
    }
}
