//! Which partition: the values of its columns.

use std::fmt;

use datafusion::common::ScalarValue;
use partwise_commit::{PartitionColumn, PartitionKey};
use partwise_table::scalar;

use crate::Result;

/// The values of a partition's columns, typed, in the order of the directory levels. Its `Display`
/// is `pickup_month=2024-02/hr=7`.
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionValues {
    values: Vec<(String, ScalarValue)>,
    text: String,
}

impl PartitionValues {
    pub(crate) fn new(columns: &[PartitionColumn], key: &PartitionKey) -> Result<Self> {
        let values = columns
            .iter()
            .zip(key.values())
            .map(|(column, value)| Ok((column.name.clone(), scalar(&column.ty, value)?)))
            .collect::<Result<_>>()?;
        Ok(Self { values, text: key.display(columns) })
    }

    /// The value of a column; names match without case. None if it isn't a partition column.
    pub fn get(&self, column: &str) -> Option<&ScalarValue> {
        let found = self.values.iter().find(|(name, _)| name.eq_ignore_ascii_case(column));
        found.map(|(_, value)| value)
    }

    /// Column and value, level by level; empty for a table without partition columns.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ScalarValue)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl fmt::Display for PartitionValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
