//! The file columns of a foreign tree, from its Parquet footers.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use datafusion_datasource_parquet::Int96Coercer;
use futures::{StreamExt, TryStreamExt, stream};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use partwise_commit::{Error, Result};

use super::{common_type, same_name};
use crate::reader::{FileBytes, Footers, ScanFile, to_commit};

/// Up to this many files, the footer of every one is read.
const READ_ALL_FILES: usize = 1_000;
/// Of more files, this many are read: the first, the last, and evenly spread ones between them.
const SAMPLED_FILES: usize = 128;
/// Footers read at the same time.
const CONCURRENT_FOOTERS: usize = 16;

/// The columns that the files have in common, in the order of the first file, columns of later
/// files behind them; all nullable; without those for which `is_partition_column` holds.
///
/// Types widen where nothing is lost. Of more than a thousand files a sample is read: a column that
/// only others have isn't seen, and a type of theirs that doesn't widen to the sample's is an error
/// when such a file is read, never a wrong value. Declaring the schema avoids both.
///
/// # Errors
/// Two files whose types for a column have no common type without loss, both named; a damaged file.
pub(crate) async fn infer_file_schema(
    files: &[ScanFile],
    footers: &Footers,
    is_partition_column: &(dyn Fn(&str) -> bool + Sync),
) -> Result<SchemaRef> {
    let schemas: Vec<(ScanFile, Schema)> = stream::iter(sample(files))
        .map(|file| async move { Ok::<_, Error>((file.clone(), schema_of(&file, footers).await?)) })
        .buffered(CONCURRENT_FOOTERS)
        .try_collect::<Vec<_>>()
        .await?;
    let mut merged: Vec<Merged> = Vec::new();
    for (file, schema) in &schemas {
        for field in schema.fields().iter().filter(|field| !is_partition_column(field.name())) {
            merge(&mut merged, file, field)?;
        }
    }
    Ok(Arc::new(Schema::new(merged.into_iter().map(|column| column.field).collect::<Fields>())))
}

fn sample(files: &[ScanFile]) -> Vec<ScanFile> {
    if files.len() <= READ_ALL_FILES {
        return files.to_vec();
    }
    let last = files.len() - 1;
    (0..SAMPLED_FILES).map(|n| files[n * last / (SAMPLED_FILES - 1)].clone()).collect()
}

async fn schema_of(file: &ScanFile, footers: &Footers) -> Result<Schema> {
    let mut bytes = FileBytes::new(file.clone());
    let footer = footers.get(&mut bytes, PageIndexPolicy::Skip).await;
    let footer = footer.map_err(|error| to_commit(file, error))?;
    let schema = arrow_schema(&footer).map_err(|error| to_commit(file, error))?;
    refuse_same_names(file, &schema)?;
    Ok(schema)
}

/// One of two columns that differ in case only would never be seen.
fn refuse_same_names(file: &ScanFile, schema: &Schema) -> Result<()> {
    let mut seen = HashMap::new();
    for field in schema.fields() {
        if let Some(other) = seen.insert(field.name().to_lowercase(), field.name()) {
            return Err(Error::invalid(format!(
                "{} has two columns, {other} and {}, whose names differ in case only: declare the \
                 one that is meant in CREATE EXTERNAL TABLE",
                file.name(),
                field.name()
            )));
        }
    }
    Ok(())
}

/// The file's Arrow schema, INT96 as microseconds, one type for each kind of string.
fn arrow_schema(footer: &ParquetMetaData) -> parquet::errors::Result<Schema> {
    let file = footer.file_metadata();
    let schema = parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata())?;
    let coercer = Int96Coercer::new(file.schema_descr(), &schema, &TimeUnit::Microsecond);
    let schema = coercer.coerce().unwrap_or(schema);
    Ok(Schema::new(schema.fields().iter().map(plain_field).collect::<Fields>()))
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let data_type = plain_type(field.data_type());
    Arc::new(Field::new(field.name(), data_type, true))
}

/// The type as a table has it: how a writer encoded or sized strings is its own business.
fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type()),
        DataType::List(element) | DataType::LargeList(element) => {
            DataType::List(plain_field(element))
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        other => other.clone(),
    }
}

/// A column and the file that its type comes from.
struct Merged {
    field: FieldRef,
    file: ScanFile,
}

fn merge(columns: &mut Vec<Merged>, file: &ScanFile, field: &FieldRef) -> Result<()> {
    let known = columns.iter_mut().find(|column| same_name(column.field.name(), field.name()));
    let Some(known) = known else {
        columns.push(Merged { field: Arc::clone(field), file: file.clone() });
        return Ok(());
    };
    if known.field.data_type() == field.data_type() {
        return Ok(());
    }
    let Some(common) = common_type(known.field.data_type(), field.data_type()) else {
        return Err(Error::invalid(format!(
            "column {} is {} in {} and {} in {}, which can't be one type without loss: declare the \
             column in CREATE EXTERNAL TABLE, or rewrite one of the files",
            known.field.name(),
            known.field.data_type(),
            known.file.name(),
            field.data_type(),
            file.name()
        )));
    };
    if &common != known.field.data_type() {
        known.field = Arc::new(known.field.as_ref().clone().with_data_type(common));
        known.file = file.clone();
    }
    Ok(())
}
