//! The typed key of a row.

use datafusion::arrow::array::ArrayRef;
use datafusion::common::Result;
use partwise_commit::{PartitionColumn, PartitionKey};

use crate::error::external;
use crate::value::value_at;

/// The key of a row of partition columns, checked to have a directory of its own.
pub(super) fn partition_key(
    columns: &[PartitionColumn],
    arrays: &[ArrayRef],
    row: usize,
) -> Result<PartitionKey> {
    let values = columns.iter().zip(arrays).map(|(column, array)| value_at(&column.ty, array, row));
    let key = PartitionKey::new(values.collect());
    partwise_commit::partition_path(columns, &key).map_err(external)?;
    Ok(key)
}
