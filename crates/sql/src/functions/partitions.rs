//! One row per partition: its columns, `path, rows, files, bytes, version`.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::catalog::Session;
use partwise_commit::{PartitionColumn, PartitionKey};
use partwise_table::PartwiseTable;

use super::values;
use crate::api::{Partition, partitions_of};
use crate::{Error, Result};

pub(super) fn fields(columns: &[PartitionColumn]) -> Result<Vec<Field>> {
    if columns.is_empty() {
        return Err(Error::invalid("the table isn't partitioned: SELECT count(*) tells its rows"));
    }
    let figures = ["rows", "files", "bytes", "version"].map(|name| (name, DataType::UInt64));
    Ok(values::fields(columns, &[&[("path", DataType::Utf8)][..], &figures].concat()))
}

pub(super) async fn arrays(session: &dyn Session, table: &PartwiseTable) -> Result<Vec<ArrayRef>> {
    let shown = partitions_of(session.runtime_env(), table).await?;
    let keys: Vec<&PartitionKey> = shown.iter().map(|partition| &partition.key).collect();
    let numbers = |of: fn(&Partition) -> Option<u64>| -> ArrayRef {
        Arc::new(shown.iter().map(of).collect::<UInt64Array>())
    };
    let mut arrays = values::key_arrays(table.table_schema().partition_columns(), &keys)?;
    arrays.push(Arc::new(StringArray::from_iter_values(shown.iter().map(|p| &p.path))));
    arrays.push(numbers(|partition| Some(partition.rows)));
    arrays.push(numbers(|partition| Some(partition.files)));
    arrays.push(numbers(|partition| Some(partition.bytes)));
    arrays.push(numbers(|partition| partition.version));
    Ok(arrays)
}
