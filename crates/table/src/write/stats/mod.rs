//! Column statistics of a file as the log keeps them.
//!
//! | type | JSON |
//! |---|---|
//! | integers, floats | number |
//! | boolean | true, false |
//! | strings | string, cut short by the Parquet writer, still a bound |
//! | dates, timestamps, decimals | their text |
//!
//! Bytes and nested columns have none.

use std::cmp::Ordering;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options, sum};
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::arrow::util::display::FormatOptions;
use datafusion::common::{Result, ScalarValue};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::ParquetMetaData;
use partwise_commit::{ColumnStats, FileStats};
use serde_json::Value;

/// The statistics of a file just written, from its metadata.
///
/// # Errors
/// Metadata that doesn't fit the schema.
pub fn file_stats(metadata: &ParquetMetaData, schema: &SchemaRef) -> Result<FileStats> {
    let mut stats = FileStats::default();
    for field in schema.fields().iter().filter(|field| has_stats(field.data_type())) {
        stats.columns.insert(field.name().clone(), column_stats(metadata, schema, field)?);
    }
    Ok(stats)
}

/// The value of a bound for a column of this type; none if there is none of use.
pub fn stat_value(json: &Value, data_type: &DataType) -> Option<ScalarValue> {
    match (json, data_type) {
        (Value::Bool(value), DataType::Boolean) => Some(ScalarValue::Boolean(Some(*value))),
        (Value::String(text), DataType::Utf8) => Some(ScalarValue::Utf8(Some(text.clone()))),
        (Value::Number(number), _) if data_type.is_integer() => {
            ScalarValue::Int64(Some(number.as_i64()?)).cast_to(data_type).ok()
        }
        (Value::Number(number), _) if data_type.is_floating() => {
            ScalarValue::Float64(Some(number.as_f64()?)).cast_to(data_type).ok()
        }
        (Value::String(text), _) if is_text_stat(data_type) => parse_text(text, data_type),
        _ => None,
    }
}

fn has_stats(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_floating()
        || matches!(data_type, DataType::Boolean | DataType::Utf8)
        || is_text_stat(data_type)
}

fn is_text_stat(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Timestamp(..) | DataType::Decimal128(..))
}

fn column_stats(
    metadata: &ParquetMetaData,
    schema: &SchemaRef,
    field: &Field,
) -> Result<ColumnStats> {
    let parquet_schema = metadata.file_metadata().schema_descr();
    let converter = StatisticsConverter::try_new(field.name(), schema, parquet_schema)?;
    let row_groups = metadata.row_groups();
    let nulls = converter.row_group_null_counts(row_groups)?;
    let all_null: Vec<bool> = row_groups
        .iter()
        .enumerate()
        .map(|(i, group)| nulls.is_valid(i) && nulls.value(i) == group.num_rows() as u64)
        .collect();
    let mins = converter.row_group_mins(row_groups)?;
    let maxes = converter.row_group_maxes(row_groups)?;
    Ok(ColumnStats {
        min: bound(&mins, &all_null, Ordering::Less)?,
        max: bound(&maxes, &all_null, Ordering::Greater)?,
        nulls: if nulls.null_count() > 0 { None } else { sum(&nulls) },
    })
}

/// The outermost of the row groups' bounds. Row groups of NULL alone have none and need none; any
/// other without one leaves the file without.
fn bound(bounds: &ArrayRef, all_null: &[bool], outer: Ordering) -> Result<Option<Value>> {
    let mut found: Option<ScalarValue> = None;
    for (row, _) in all_null.iter().enumerate().filter(|(_, all_null)| !**all_null) {
        let candidate = ScalarValue::try_from_array(bounds, row)?;
        if candidate.is_null() {
            return Ok(None);
        }
        let further =
            found.as_ref().is_none_or(|found| candidate.partial_cmp(found) == Some(outer));
        if further {
            found = Some(candidate);
        }
    }
    Ok(found.as_ref().and_then(to_json))
}

fn to_json(scalar: &ScalarValue) -> Option<Value> {
    if scalar.is_null() {
        return None;
    }
    match scalar {
        ScalarValue::Boolean(value) => value.map(Value::from),
        ScalarValue::Utf8(text) => text.clone().map(Value::from),
        ScalarValue::Float32(value) => value.and_then(|value| float_json(value.into())),
        ScalarValue::Float64(value) => value.and_then(float_json),
        other if other.data_type().is_integer() => match other.cast_to(&DataType::Int64).ok()? {
            ScalarValue::Int64(value) => value.map(Value::from),
            _ => None,
        },
        other => format_text(other).map(Value::from),
    }
}

/// JSON has no infinities.
fn float_json(value: f64) -> Option<Value> {
    serde_json::Number::from_f64(value).map(Value::Number)
}

fn format_text(scalar: &ScalarValue) -> Option<String> {
    let text = cast_with_options(&scalar.to_array().ok()?, &DataType::Utf8, &STRICT).ok()?;
    let text = text.as_string_opt::<i32>()?.value(0).to_owned();
    (parse_text(&text, &scalar.data_type()).as_ref() == Some(scalar)).then_some(text)
}

fn parse_text(text: &str, data_type: &DataType) -> Option<ScalarValue> {
    let array = ScalarValue::from(text).to_array().ok()?;
    let array = cast_with_options(&array, data_type, &STRICT).ok()?;
    ScalarValue::try_from_array(&array, 0).ok()
}

const STRICT: CastOptions<'static> =
    CastOptions { safe: false, format_options: FormatOptions::new() };

#[cfg(test)]
mod tests;
