//! One row per data file: its partition's columns, `path, rows, bytes, version, modified`.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringArray, TimestampMicrosecondArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::catalog::Session;
use partwise_commit::{AllPartitions, DataFile, PartitionColumn, PartitionKey};
use partwise_table::PartwiseTable;

use super::values::{self, Rows};
use crate::Result;

/// Nanoseconds of a microsecond.
const NS_PER_US: i64 = 1_000;

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
    let versions = versions(table).await?;
    let keys: Vec<&PartitionKey> = shown.iter().map(|(key, _)| *key).collect();
    let files = || shown.iter().map(|(_, file)| *file);
    let modified = files().map(|f| f.identity.modified_ns.map(|ns| ns / NS_PER_US));
    let modified = modified.collect::<TimestampMicrosecondArray>().with_timezone("UTC");
    let mut arrays = values::key_arrays(columns, &keys)?;
    arrays.push(Arc::new(StringArray::from_iter_values(files().map(|file| &file.path))));
    arrays.push(Arc::new(UInt64Array::from(rows)));
    arrays.push(Arc::new(files().map(|f| Some(f.identity.size)).collect::<UInt64Array>()));
    arrays.push(Arc::new(files().map(|f| versions.get(&f.path).copied()).collect::<UInt64Array>()));
    arrays.push(Arc::new(modified));
    Ok(arrays)
}

/// The commit that added each file, as far back as the log goes; none for files of other tools.
async fn versions(table: &PartwiseTable) -> Result<HashMap<String, u64>> {
    let mut versions = HashMap::new();
    for record in table.table().records().await? {
        for partition in &record.partitions {
            for file in &partition.added {
                versions.insert(file_path(&partition.path, &file.name), record.version);
            }
        }
    }
    Ok(versions)
}

fn file_path(directory: &str, name: &str) -> String {
    match directory.is_empty() {
        true => name.to_owned(),
        false => format!("{directory}/{name}"),
    }
}
