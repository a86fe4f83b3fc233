use std::sync::Arc;

use datafusion::arrow::array::{
    BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::Schema;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use serde_json::json;

use super::*;

/// The statistics of column `c` written in row groups of two rows.
fn of(array: ArrayRef) -> ColumnStats {
    let field = Field::new("c", array.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![array]).expect("batch");
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(2)).build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), Arc::clone(&schema), Some(properties)).expect("writer");
    writer.write(&batch).expect("written");
    let metadata = writer.close().expect("closed");
    file_stats(&metadata, &schema).expect("stats").columns.remove("c").unwrap_or_default()
}

fn bounds(stats: &ColumnStats) -> (Value, Value, Option<u64>) {
    let json = |value: &Option<Value>| value.clone().unwrap_or(Value::Null);
    (json(&stats.min), json(&stats.max), stats.nulls)
}

#[test]
fn bounds_span_all_row_groups_and_nulls_are_summed() {
    let stats = of(Arc::new(Int32Array::from(vec![Some(5), None, Some(-7), Some(3), None])));
    assert_eq!(bounds(&stats), (json!(-7), json!(5), Some(2)));
}

#[test]
fn a_column_of_nulls_has_no_bounds() {
    let stats = of(Arc::new(Int32Array::from(vec![None::<i32>; 3])));
    assert_eq!(bounds(&stats), (Value::Null, Value::Null, Some(3)));
}

#[test]
fn dates_timestamps_and_decimals_are_text_that_reads_back() {
    let decimals =
        Decimal128Array::from(vec![-150, 275]).with_precision_and_scale(10, 2).expect("decimal");
    let instants = TimestampMicrosecondArray::from(vec![0, 1]).with_timezone("UTC");
    let arrays: [(ArrayRef, Value); 4] = [
        (Arc::new(Date32Array::from(vec![19_723, 19_724])), json!("2024-01-01")),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![1_704_067_200_000_001; 2])),
            json!("2024-01-01T00:00:00.000001"),
        ),
        (Arc::new(instants), json!("1970-01-01T00:00:00Z")),
        (Arc::new(decimals), json!("-1.50")),
    ];
    for (array, text) in arrays {
        let stats = of(Arc::clone(&array));
        assert_eq!(stats.min.as_ref(), Some(&text));
        let min = stat_value(&text, array.data_type()).expect("reads back");
        assert_eq!(min, ScalarValue::try_from_array(&array, 0).expect("scalar"));
    }
}

#[test]
fn floats_booleans_and_strings_read_back() {
    let arrays: [ArrayRef; 3] = [
        Arc::new(Float64Array::from(vec![0.1, 1e300])),
        Arc::new(BooleanArray::from(vec![false, true])),
        Arc::new(StringArray::from(vec!["a", "b"])),
    ];
    for array in arrays {
        let stats = of(Arc::clone(&array));
        let max = stat_value(stats.max.as_ref().expect("max"), array.data_type());
        assert_eq!(max, ScalarValue::try_from_array(&array, 1).ok());
    }
}

#[test]
fn a_long_string_keeps_a_bound_that_is_not_below_it() {
    let long = "z".repeat(500);
    let stats = of(Arc::new(StringArray::from(vec![long.clone()])));
    let max = stats.max.expect("max");
    assert!(max.as_str().expect("text") > long.as_str());
}

#[test]
fn infinities_have_no_bound() {
    let stats = of(Arc::new(Float64Array::from(vec![1.0, f64::INFINITY])));
    assert_eq!(bounds(&stats), (json!(1.0), Value::Null, Some(0)));
}

#[test]
fn a_bound_of_another_type_is_of_no_use() {
    assert_eq!(stat_value(&json!("x"), &DataType::Int32), None);
    assert_eq!(stat_value(&json!(1), &DataType::Utf8), None);
    assert_eq!(stat_value(&json!("soon"), &DataType::Date32), None);
}
