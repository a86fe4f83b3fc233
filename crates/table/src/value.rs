//! Partition values as DataFusion's scalars and Arrow's arrays.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Int64Array, RecordBatch, RecordBatchOptions,
    StringArray, new_empty_array,
};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Field, Int8Type, Int16Type, Int32Type, Int64Type, Schema,
    SchemaRef, TimestampMicrosecondType,
};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use partwise_commit::{PartitionColumn, PartitionType, PartitionValue};

/// The value as a scalar of the column's Arrow type; NULL is that type's NULL.
pub fn scalar(ty: &PartitionType, value: &PartitionValue) -> Result<ScalarValue> {
    let data_type = ty.to_arrow();
    let scalar = match (ty, value) {
        (_, PartitionValue::Null) => return ScalarValue::try_new_null(&data_type),
        (PartitionType::Boolean, PartitionValue::Boolean(value)) => (*value).into(),
        (PartitionType::Date, PartitionValue::Date(days)) => ScalarValue::Date32(Some(*days)),
        (PartitionType::Text, PartitionValue::Text(text)) => ScalarValue::Utf8(Some(text.clone())),
        (PartitionType::Decimal128 { precision, scale }, PartitionValue::Decimal(unscaled)) => {
            ScalarValue::Decimal128(Some(*unscaled), *precision, *scale)
        }
        (PartitionType::Timestamp { utc }, PartitionValue::Timestamp(micros)) => {
            ScalarValue::TimestampMicrosecond(Some(*micros), utc.then(|| "UTC".into()))
        }
        (PartitionType::Int64, PartitionValue::Int(value)) => ScalarValue::Int64(Some(*value)),
        (_, PartitionValue::Int(value)) => ScalarValue::Int64(Some(*value)).cast_to(&data_type)?,
        (ty, value) => {
            return Err(DataFusionError::Internal(format!(
                "the partition value {value:?} is not of its column's type {ty:?}"
            )));
        }
    };
    Ok(scalar)
}

/// A scalar as the value of a partition column, cast to the column's type where needed.
///
/// # Errors
/// A scalar that isn't a value of the type.
pub fn partition_value(ty: &PartitionType, scalar: &ScalarValue) -> Result<PartitionValue> {
    let array = scalar.cast_to(&ty.to_arrow())?.to_array()?;
    Ok(value_at(ty, &array, 0))
}

/// The value of a row; the array has the type that [`PartitionType::to_arrow`] names.
pub(crate) fn value_at(ty: &PartitionType, array: &ArrayRef, row: usize) -> PartitionValue {
    if array.is_null(row) {
        return PartitionValue::Null;
    }
    match ty {
        PartitionType::Boolean => PartitionValue::Boolean(array.as_boolean().value(row)),
        PartitionType::Int8 => int(array.as_primitive::<Int8Type>().value(row)),
        PartitionType::Int16 => int(array.as_primitive::<Int16Type>().value(row)),
        PartitionType::Int32 => int(array.as_primitive::<Int32Type>().value(row)),
        PartitionType::Int64 => int(array.as_primitive::<Int64Type>().value(row)),
        PartitionType::Decimal128 { .. } => {
            PartitionValue::Decimal(array.as_primitive::<Decimal128Type>().value(row))
        }
        PartitionType::Date => PartitionValue::Date(array.as_primitive::<Date32Type>().value(row)),
        PartitionType::Timestamp { .. } => {
            PartitionValue::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        PartitionType::Text => PartitionValue::Text(array.as_string::<i32>().value(row).to_owned()),
    }
}

fn int(value: impl Into<i64>) -> PartitionValue {
    PartitionValue::Int(value.into())
}

/// One field per partition column, nullable, in level order.
pub(crate) fn partition_fields(columns: &[PartitionColumn]) -> Vec<Arc<Field>> {
    columns.iter().map(|c| Arc::new(Field::new(&c.name, c.ty.to_arrow(), true))).collect()
}

/// The schema of the first partition columns.
pub(crate) fn partition_schema(columns: &[PartitionColumn]) -> SchemaRef {
    Arc::new(Schema::new(partition_fields(columns)))
}

/// A row per prefix, a column per partition column of `schema`; all prefixes are that long.
pub(crate) fn prefix_batch(
    columns: &[PartitionColumn],
    schema: &SchemaRef,
    prefixes: &[&[PartitionValue]],
) -> Result<RecordBatch> {
    let arrays = columns
        .iter()
        .enumerate()
        .map(|(level, column)| level_array(&column.ty, prefixes, level))
        .collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(prefixes.len()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}

fn level_array(
    ty: &PartitionType,
    prefixes: &[&[PartitionValue]],
    level: usize,
) -> Result<ArrayRef> {
    let values = || prefixes.iter().map(|prefix| &prefix[level]);
    Ok(match ty {
        PartitionType::Int64 => {
            let of = |value: &_| if let PartitionValue::Int(n) = value { Some(*n) } else { None };
            Arc::new(values().map(of).collect::<Int64Array>())
        }
        PartitionType::Date => {
            let of = |value: &_| if let PartitionValue::Date(n) = value { Some(*n) } else { None };
            Arc::new(values().map(of).collect::<Date32Array>())
        }
        PartitionType::Text => Arc::new(values().map(text).collect::<StringArray>()),
        ty => {
            if prefixes.is_empty() {
                return Ok(new_empty_array(&ty.to_arrow()));
            }
            let scalars = values().map(|value| scalar(ty, value)).collect::<Result<Vec<_>>>()?;
            ScalarValue::iter_to_array(scalars)?
        }
    })
}

fn text(value: &PartitionValue) -> Option<&str> {
    if let PartitionValue::Text(text) = value { Some(text) } else { None }
}
