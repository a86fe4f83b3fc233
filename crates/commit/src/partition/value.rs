//! Typed partition values and keys: what a partition is, however its directory is spelled.

use serde::{Deserialize, Serialize};

use super::types::PartitionType;

/// One typed value of a partition column.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionValue {
    /// SQL NULL, the directory `__HIVE_DEFAULT_PARTITION__`.
    Null,
    /// A boolean.
    Boolean(bool),
    /// An integer of any width.
    Int(i64),
    /// A decimal, unscaled: the scale is the column's.
    #[serde(with = "decimal_text")]
    Decimal(i128),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01T00:00:00, UTC if the column is.
    Timestamp(i64),
    /// A string.
    Text(String),
}

impl PartitionValue {
    /// Whether this is SQL NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

/// A partition column: its name and type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PartitionColumn {
    /// The name as declared. Directories match it without regard to case.
    pub name: String,
    /// The type its directory values are read as.
    pub ty: PartitionType,
}

impl PartitionColumn {
    /// A column of this name and type.
    pub fn new(name: impl Into<String>, ty: PartitionType) -> Self {
        Self { name: name.into(), ty }
    }
}

/// The values of all partition columns of one partition, in the order of the columns.
/// The key of a table without partition columns is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartitionKey(Vec<PartitionValue>);

impl PartitionKey {
    /// A key of these values, in the order of the partition columns.
    pub fn new(values: Vec<PartitionValue>) -> Self {
        Self(values)
    }

    /// The values, in the order of the partition columns.
    pub fn values(&self) -> &[PartitionValue] {
        &self.0
    }

    /// The form used in messages: `pickup_month=2024-02/hr=7`, unescaped; `(whole table)` for the
    /// empty key.
    pub fn display(&self, columns: &[PartitionColumn]) -> String {
        if self.0.is_empty() {
            return "(whole table)".to_string();
        }
        let parts = columns.iter().zip(&self.0);
        parts
            .map(|(column, value)| {
                let text = column.ty.format(value);
                format!("{}={}", column.name, text.as_deref().unwrap_or("NULL"))
            })
            .collect::<Vec<_>>()
            .join("/")
    }
}

impl From<Vec<PartitionValue>> for PartitionKey {
    fn from(values: Vec<PartitionValue>) -> Self {
        Self(values)
    }
}

/// JSON numbers end at 64 bits for many readers: a decimal travels as text.
mod decimal_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &i128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&value.to_string())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i128, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
