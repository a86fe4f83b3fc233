//! The schema of a table: declared order, partition columns included.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::partition::{PartitionColumn, PartitionType};
use crate::{Error, Result};

/// A table's columns in declared order and which of them are partition columns. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    inner: Arc<Inner>,
}

#[derive(Debug, PartialEq, Eq)]
struct Inner {
    arrow: SchemaRef,
    file: SchemaRef,
    columns: Vec<PartitionColumn>,
    indices: Vec<usize>,
}

impl TableSchema {
    /// A schema in declared order, partition columns included, partitioned by `partition_by` in
    /// that order; names match without case. The partition fields take the type their directories
    /// are read as. Refused: a partition column that isn't there or is named twice, a type without
    /// a text form, two columns whose names differ in case only.
    pub fn new(schema: SchemaRef, partition_by: Vec<String>) -> Result<Self> {
        refuse_same_names(&schema)?;
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        let mut columns: Vec<PartitionColumn> = Vec::with_capacity(partition_by.len());
        let mut indices: Vec<usize> = Vec::with_capacity(partition_by.len());
        for name in &partition_by {
            let index = find(&schema, name)?;
            if indices.contains(&index) {
                return Err(Error::invalid(format!("partition column {name} is named twice")));
            }
            let field = fields[index].as_ref().clone();
            let ty = PartitionType::from_arrow(field.data_type()).map_err(|error| {
                Error::invalid(format!("partition column {name}")).with_source(error)
            })?;
            columns.push(PartitionColumn::new(field.name().clone(), ty));
            fields[index] = Arc::new(field.with_data_type(ty.to_arrow()));
            indices.push(index);
        }
        let arrow = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        let kept: Vec<usize> =
            (0..arrow.fields().len()).filter(|index| !indices.contains(index)).collect();
        let file = arrow
            .project(&kept)
            .map_err(|error| Error::internal("the file schema of a table").with_source(error))?;
        Ok(Self { inner: Arc::new(Inner { arrow, file: Arc::new(file), columns, indices }) })
    }

    /// All columns in declared order.
    pub fn arrow(&self) -> &SchemaRef {
        &self.inner.arrow
    }

    /// The partition columns in the order of the directory levels.
    pub fn partition_columns(&self) -> &[PartitionColumn] {
        &self.inner.columns
    }

    /// Where the partition columns stand in [`arrow`](Self::arrow), in the order of the levels.
    pub fn partition_indices(&self) -> &[usize] {
        &self.inner.indices
    }

    /// What the data files hold: the columns without the partition columns, in declared order.
    pub fn file_schema(&self) -> &SchemaRef {
        &self.inner.file
    }
}

/// A schema as a record holds it, in a form of its own: the types as Arrow writes them in text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedSchema {
    /// All columns in declared order.
    pub columns: Vec<RecordedColumn>,
    /// The partition columns, in the order of the directory levels.
    pub partition_by: Vec<String>,
    /// The table's properties.
    pub properties: BTreeMap<String, String>,
    /// Metadata of the Arrow schema.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// A column as a record holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: RecordedType,
    /// Whether it may hold NULL.
    pub nullable: bool,
    /// Metadata of the Arrow field.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// A column's type as a record holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordedType {
    /// As Arrow writes it: `Int32`, `Timestamp(us)`, `Decimal128(10, 2)`.
    Text(String),
    /// A type whose text doesn't read back as the same.
    Arrow(DataType),
}

impl RecordedSchema {
    /// A schema and its table's properties as a record holds them.
    pub fn new(schema: &TableSchema, properties: BTreeMap<String, String>) -> Self {
        let column = |field: &Arc<Field>| RecordedColumn {
            name: field.name().clone(),
            ty: RecordedType::new(field.data_type()),
            nullable: field.is_nullable(),
            metadata: field.metadata().clone().into_iter().collect(),
        };
        let names = schema.partition_columns().iter().map(|column| column.name.clone());
        Self {
            columns: schema.arrow().fields().iter().map(column).collect(),
            partition_by: names.collect(),
            properties,
            metadata: schema.arrow().metadata().clone().into_iter().collect(),
        }
    }
}

impl RecordedType {
    fn new(data_type: &DataType) -> Self {
        let text = data_type.to_string();
        match text.parse::<DataType>() {
            Ok(read_back) if read_back == *data_type => Self::Text(text),
            _ => Self::Arrow(data_type.clone()),
        }
    }

    fn arrow(&self) -> Result<DataType> {
        match self {
            Self::Arrow(data_type) => Ok(data_type.clone()),
            Self::Text(text) => text.parse().map_err(|error: ArrowError| {
                Error::corrupt(format!("a record names the type '{text}'")).with_source(error)
            }),
        }
    }
}

impl TryFrom<&RecordedSchema> for TableSchema {
    type Error = Error;

    fn try_from(recorded: &RecordedSchema) -> Result<Self> {
        let field = |column: &RecordedColumn| {
            let field = Field::new(&column.name, column.ty.arrow()?, column.nullable);
            Ok(field.with_metadata(column.metadata.clone().into_iter().collect()))
        };
        let fields: Vec<Field> = recorded.columns.iter().map(field).collect::<Result<_>>()?;
        let metadata = recorded.metadata.clone().into_iter().collect();
        let schema = Schema::new_with_metadata(fields, metadata);
        Self::new(Arc::new(schema), recorded.partition_by.clone())
    }
}

fn find(schema: &Schema, name: &str) -> Result<usize> {
    let exact = schema.fields().iter().position(|field| field.name() == name);
    let found = exact.or_else(|| {
        let lower = name.to_lowercase();
        schema.fields().iter().position(|field| field.name().to_lowercase() == lower)
    });
    found.ok_or_else(|| {
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        Error::invalid(format!(
            "partition column {name} is not a column of the table: {}",
            names.join(", ")
        ))
    })
}

fn refuse_same_names(schema: &Schema) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    for field in schema.fields() {
        if !seen.insert(field.name().to_lowercase()) {
            return Err(Error::invalid(format!(
                "two columns are named {} (names match without case): rename one",
                field.name()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow_schema::TimeUnit;

    use super::*;

    fn fields() -> Vec<Field> {
        let map = Field::new_struct(
            "entries",
            vec![
                Field::new("key", DataType::Utf8, false),
                Field::new("value", DataType::Int32, true),
            ],
            false,
        );
        vec![
            Field::new("zone", DataType::Int32, false),
            Field::new("at", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
            Field::new("list", DataType::new_list(DataType::Utf8, true), true),
            Field::new("map", DataType::Map(Arc::new(map), false), true),
            Field::new("Month", DataType::Utf8View, true),
        ]
    }

    #[test]
    fn a_recorded_schema_reads_back() -> Result<()> {
        let schema = TableSchema::new(Arc::new(Schema::new(fields())), vec!["month".into()])?;
        let recorded = RecordedSchema::new(&schema, BTreeMap::new());
        let text = serde_json::to_string(&recorded).map_err(|e| Error::internal(e.to_string()))?;
        assert!(text.contains(r#""name":"zone","type":"Int32","nullable":false"#), "{text}");
        let read: RecordedSchema =
            serde_json::from_str(&text).map_err(|e| Error::internal(e.to_string()))?;
        assert_eq!(TableSchema::try_from(&read)?, schema);
        Ok(())
    }

    #[test]
    fn partition_columns_take_the_type_they_are_read_as() -> Result<()> {
        let schema = TableSchema::new(Arc::new(Schema::new(fields())), vec!["MONTH".into()])?;
        assert_eq!(
            schema.partition_columns(),
            [PartitionColumn::new("Month", PartitionType::Text)]
        );
        assert_eq!(schema.partition_indices(), [4]);
        assert_eq!(schema.arrow().field(4).data_type(), &DataType::Utf8);
        assert_eq!(schema.file_schema().fields().len(), 4);
        Ok(())
    }

    #[test]
    fn impossible_partitions_are_refused() {
        let schema = Arc::new(Schema::new(fields()));
        let refused = |names: &[&str], said: &str| {
            let names = names.iter().map(|name| name.to_string()).collect();
            let error = TableSchema::new(Arc::clone(&schema), names).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        };
        refused(&["nosuch"], "is not a column of the table: zone, at, list, map, Month");
        refused(&["month", "Month"], "named twice");
        refused(&["list"], "can't be a partition column");
    }
}
