//! `SHOW PARTITIONS` and `SHOW TABLES`.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::ScalarValue;
use datafusion::execution::context::SessionState;
use partwise_commit::{AllPartitions, PartitionFiles, RowCounter};
use partwise_table::{FooterRowCounter, PartwiseTable, scalar};

use crate::{Error, Result};

/// One row per partition: its columns, `path, rows, files, bytes, version`.
///
/// # Errors
/// A table that can't be read; one without partition columns.
pub async fn partitions(state: &SessionState, table: &PartwiseTable) -> Result<RecordBatch> {
    let columns = table.table_schema().partition_columns();
    if columns.is_empty() {
        return Err(Error::invalid("the table isn't partitioned: SELECT count(*) tells its rows"));
    }
    let snapshot = table.table().snapshot(columns, &AllPartitions).await?;
    let shown: Vec<&PartitionFiles> =
        snapshot.partitions.iter().filter(|p| !p.files.is_empty()).collect();
    let counter = FooterRowCounter::new(state.runtime_env());
    let mut rows = Vec::with_capacity(shown.len());
    for partition in &shown {
        let mut sum = 0;
        for file in &partition.files {
            sum += match file.rows {
                Some(rows) => rows,
                None => counter.count(table.table(), file).await?,
            };
        }
        rows.push(sum);
    }
    let versions = last_versions(table).await?;
    let mut fields = Vec::with_capacity(columns.len() + 5);
    let mut arrays: Vec<ArrayRef> = Vec::with_capacity(columns.len() + 5);
    for (i, column) in columns.iter().enumerate() {
        let values = shown.iter().map(|p| scalar(&column.ty, &p.key.values()[i]));
        fields.push(Field::new(&column.name, column.ty.to_arrow(), true));
        arrays.push(match shown.is_empty() {
            true => datafusion::arrow::array::new_empty_array(&column.ty.to_arrow()),
            false => ScalarValue::iter_to_array(values.collect::<Result<Vec<_>, _>>()?)?,
        });
    }
    fields.push(Field::new("path", DataType::Utf8, false));
    arrays.push(Arc::new(StringArray::from_iter_values(shown.iter().map(|p| &p.path))));
    let bytes = |p: &&PartitionFiles| p.files.iter().map(|f| f.identity.size).sum::<u64>();
    let figures: [(&str, UInt64Array); 4] = [
        ("rows", rows.into()),
        ("files", shown.iter().map(|p| p.files.len() as u64).collect::<Vec<_>>().into()),
        ("bytes", shown.iter().map(bytes).collect::<Vec<_>>().into()),
        ("version", shown.iter().map(|p| versions.get(&p.key).copied()).collect()),
    ];
    for (name, array) in figures {
        fields.push(Field::new(name, DataType::UInt64, true));
        arrays.push(Arc::new(array));
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}

/// The last commit that touched each partition, as far back as the log goes.
async fn last_versions(
    table: &PartwiseTable,
) -> Result<HashMap<partwise_commit::PartitionKey, u64>> {
    let mut versions = HashMap::new();
    for record in table.table().records().await? {
        for partition in &record.partitions {
            versions.entry(partition.key.clone()).or_insert(record.version);
        }
    }
    Ok(versions)
}

/// One row per table.
///
/// # Errors
/// None that a list of names can give.
pub fn tables(names: Vec<String>) -> Result<RecordBatch> {
    let schema = Schema::new(vec![Field::new("table_name", DataType::Utf8, false)]);
    Ok(RecordBatch::try_new(Arc::new(schema), vec![Arc::new(StringArray::from(names))])?)
}
