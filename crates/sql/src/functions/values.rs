//! Partition values as columns of a result.

use datafusion::arrow::array::{ArrayRef, new_empty_array};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::catalog::Session;
use datafusion::common::ScalarValue;
use partwise_commit::{DataFile, PartitionColumn, PartitionKey, RowCounter};
use partwise_table::{FooterRowCounter, PartwiseTable, scalar};

use crate::Result;

/// One field per partition column, and those behind them; all may be NULL.
pub(crate) fn fields(columns: &[PartitionColumn], more: &[(&str, DataType)]) -> Vec<Field> {
    let first = columns.iter().map(|column| Field::new(&column.name, column.ty.to_arrow(), true));
    first.chain(more.iter().map(|(name, ty)| Field::new(*name, ty.clone(), true))).collect()
}

/// One array per partition column, a row for each key.
pub(crate) fn key_arrays(
    columns: &[PartitionColumn],
    keys: &[&PartitionKey],
) -> Result<Vec<ArrayRef>> {
    let column_array = |(index, column): (usize, &PartitionColumn)| {
        if keys.is_empty() {
            return Ok(new_empty_array(&column.ty.to_arrow()));
        }
        let values = keys.iter().map(|key| scalar(&column.ty, &key.values()[index]));
        Ok(ScalarValue::iter_to_array(values.collect::<Result<Vec<_>, _>>()?)?)
    };
    columns.iter().enumerate().map(column_array).collect()
}

/// Rows of files, from the log where it knows them, else from their footers.
pub(super) struct Rows(FooterRowCounter);

impl Rows {
    pub fn of(session: &dyn Session) -> Self {
        Self(FooterRowCounter::new(session.runtime_env()))
    }

    pub async fn count(&self, table: &PartwiseTable, file: &DataFile) -> Result<u64> {
        match file.rows {
            Some(rows) => Ok(rows),
            None => Ok(self.0.count(table.table(), file).await?),
        }
    }
}
