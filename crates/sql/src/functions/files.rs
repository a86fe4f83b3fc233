//! One row per data file: its partition's columns, `path, rows, bytes, version, modified`.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringArray, TimestampMicrosecondArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::catalog::Session;
use partwise_commit::{AllPartitions, DataFile, PartitionColumn, PartitionKey};
use partwise_table::PartwiseTable;

use super::values::{self, Rows};
use crate::Result;

/// Microseconds of a millisecond.
const US_PER_MS: i64 = 1_000;

pub(super) fn fields(columns: &[PartitionColumn]) -> Vec<Field> {
    let figures = ["rows", "bytes", "version"].map(|name| (name, DataType::UInt64));
    let modified = ("modified", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
    values::fields(columns, &[&[("path", DataType::Utf8)][..], &figures, &[modified]].concat())
}

pub(super) async fn arrays(session: &dyn Session, table: &PartwiseTable) -> Result<Vec<ArrayRef>> {
    let columns = table.table_schema().partition_columns();
    let snapshot = table.table().snapshot(columns, &AllPartitions).await?;
    let shown: Vec<(&PartitionKey, &DataFile)> = snapshot
        .partitions
        .iter()
        .flat_map(|partition| partition.files.iter().map(|file| (&partition.key, file)))
        .collect();
    let counter = Rows::of(session);
    let mut rows = Vec::with_capacity(shown.len());
    for (_, file) in &shown {
        rows.push(counter.count(table, file).await?);
    }
    let keys: Vec<&PartitionKey> = shown.iter().map(|(key, _)| *key).collect();
    let files = || shown.iter().map(|(_, file)| *file);
    let modified = files().map(|file| file.modified_ms.map(|ms| ms * US_PER_MS));
    let modified = modified.collect::<TimestampMicrosecondArray>().with_timezone("UTC");
    let mut arrays = values::key_arrays(columns, &keys)?;
    arrays.push(Arc::new(StringArray::from_iter_values(files().map(|file| &file.path))));
    arrays.push(Arc::new(UInt64Array::from(rows)));
    arrays.push(Arc::new(files().map(|f| Some(f.identity.size)).collect::<UInt64Array>()));
    arrays.push(Arc::new(files().map(|file| file.version).collect::<UInt64Array>()));
    arrays.push(Arc::new(modified));
    Ok(arrays)
}
