//! One row per partition: its columns, `path, rows, files, bytes, version`.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::catalog::Session;
use partwise_commit::{AllPartitions, PartitionColumn, PartitionFiles, PartitionKey};
use partwise_table::PartwiseTable;

use super::values::{self, Rows};
use crate::{Error, Result};

pub(super) fn fields(columns: &[PartitionColumn]) -> Result<Vec<Field>> {
    if columns.is_empty() {
        return Err(Error::invalid("the table isn't partitioned: SELECT count(*) tells its rows"));
    }
    let figures = ["rows", "files", "bytes", "version"].map(|name| (name, DataType::UInt64));
    Ok(values::fields(columns, &[&[("path", DataType::Utf8)][..], &figures].concat()))
}

pub(super) async fn arrays(session: &dyn Session, table: &PartwiseTable) -> Result<Vec<ArrayRef>> {
    let columns = table.table_schema().partition_columns();
    let snapshot = table.table().snapshot(columns, &AllPartitions).await?;
    let shown: Vec<&PartitionFiles> =
        snapshot.partitions.iter().filter(|p| !p.files.is_empty()).collect();
    let counter = Rows::of(session);
    let mut rows = Vec::with_capacity(shown.len());
    for partition in &shown {
        let mut sum = 0;
        for file in &partition.files {
            sum += counter.count(table, file).await?;
        }
        rows.push(sum);
    }
    let versions = last_versions(table).await?;
    let keys: Vec<&PartitionKey> = shown.iter().map(|p| &p.key).collect();
    let mut arrays = values::key_arrays(columns, &keys)?;
    arrays.push(Arc::new(StringArray::from_iter_values(shown.iter().map(|p| &p.path))));
    arrays.push(Arc::new(UInt64Array::from(rows)));
    arrays
        .push(Arc::new(shown.iter().map(|p| Some(p.files.len() as u64)).collect::<UInt64Array>()));
    arrays.push(Arc::new(shown.iter().map(|p| Some(values::bytes(p))).collect::<UInt64Array>()));
    arrays.push(Arc::new(keys.iter().map(|k| versions.get(k).copied()).collect::<UInt64Array>()));
    Ok(arrays)
}

/// The last commit that touched each partition, as far back as the log goes.
async fn last_versions(table: &PartwiseTable) -> Result<HashMap<PartitionKey, u64>> {
    let mut versions = HashMap::new();
    for record in table.table().records().await? {
        for partition in &record.partitions {
            versions.entry(partition.key.clone()).or_insert(record.version);
        }
    }
    Ok(versions)
}
