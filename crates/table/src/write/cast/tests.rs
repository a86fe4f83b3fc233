use datafusion::arrow::array::{
    ArrayRef, Date64Array, Decimal128Array, DictionaryArray, Float64Array, Int64Array, ListArray,
    NullArray, StringArray, StringViewArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::{Field, Int32Type};

use super::*;

fn cast_one(array: ArrayRef, to: DataType) -> Result<ArrayRef> {
    cast_field(array, Field::new("c", to, true))
}

fn cast_field(array: ArrayRef, to: Field) -> Result<ArrayRef> {
    let input = Schema::new(vec![Field::new("q", array.data_type().clone(), true)]);
    let cast = RowCast::new(&input, Arc::new(Schema::new(vec![to])))?;
    let batch = RecordBatch::try_new(Arc::new(input), vec![array]).expect("input");
    Ok(Arc::clone(cast.apply(&batch)?.column(0)))
}

fn message(result: Result<ArrayRef>) -> String {
    result.expect_err("refused").to_string()
}

fn micros(zone: Option<&str>) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into))
}

#[test]
fn nanoseconds_with_whole_microseconds_are_kept() {
    let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![Some(1_000), None]));
    let expected: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(1), None]));
    assert_eq!(&cast_one(nanos, micros(None)).expect("kept"), &expected);
}

#[test]
fn a_part_below_the_microsecond_is_an_error_with_column_value_and_way_on() {
    let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![Some(1_000), Some(1_001)]));
    let error = message(cast_one(nanos, micros(None)));
    assert!(error.contains("column c") && error.contains("00:00:00.000001001"), "{error}");
    assert!(error.contains("date_trunc('microsecond', c)"), "{error}");
}

#[test]
fn loss_inside_a_list_is_found() {
    let nanos = TimestampNanosecondArray::from(vec![1_000, 1_001]);
    let item = Arc::new(Field::new("item", nanos.data_type().clone(), true));
    let offsets = datafusion::arrow::buffer::OffsetBuffer::from_lengths([1, 1]);
    let list: ArrayRef = Arc::new(ListArray::new(item, offsets, Arc::new(nanos), None));
    let to = DataType::List(Arc::new(Field::new("item", micros(None), true)));
    assert!(message(cast_one(list, to)).contains("without loss"));
}

#[test]
fn zones_become_utc_and_are_not_mixed_with_wall_time() {
    let seconds = TimestampSecondArray::from(vec![60]).with_timezone("+01:00");
    let stored = cast_one(Arc::new(seconds), micros(Some("UTC"))).expect("stored");
    let expected: ArrayRef =
        Arc::new(TimestampMicrosecondArray::from(vec![60_000_000]).with_timezone("UTC"));
    assert_eq!(&stored, &expected);
    let wall: ArrayRef = Arc::new(TimestampSecondArray::from(vec![60]));
    assert!(message(cast_one(wall, micros(Some("UTC")))).contains("add the cast you mean"));
}

#[test]
fn a_second_too_far_for_microseconds_is_an_error() {
    let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX / 2]));
    assert!(message(cast_one(seconds, micros(None))).contains("does not fit"));
}

#[test]
fn unsigned_integers_keep_their_value() {
    let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    let expected: ArrayRef = Arc::new(
        Decimal128Array::from(vec![u64::MAX as i128]).with_precision_and_scale(20, 0).expect("d"),
    );
    assert_eq!(&cast_one(unsigned, DataType::Decimal128(20, 0)).expect("kept"), &expected);
}

#[test]
fn an_integer_that_does_not_fit_is_an_error() {
    let wide: ArrayRef = Arc::new(Int64Array::from(vec![1, 3_000_000_000]));
    let error = message(cast_one(wide, DataType::Int32));
    assert!(error.contains("column c") && error.contains("3000000000"), "{error}");
}

#[test]
fn text_to_number_and_float_to_integer_need_a_cast_of_the_query() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["7"]));
    assert!(message(cast_one(text, DataType::Int32)).contains("add the cast you mean"));
    let float: ArrayRef = Arc::new(Float64Array::from(vec![7.0]));
    assert!(message(cast_one(float, DataType::Int64)).contains("Float64 (q)"));
}

#[test]
fn string_layouts_become_plain_strings() {
    let expected: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
    let view: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "b"]));
    assert_eq!(&cast_one(view, DataType::Utf8).expect("view"), &expected);
    let dictionary: DictionaryArray<Int32Type> = vec!["a", "b"].into_iter().collect();
    assert_eq!(&cast_one(Arc::new(dictionary), DataType::Utf8).expect("dictionary"), &expected);
}

#[test]
fn a_date_with_a_time_of_day_is_a_loss() {
    let whole: ArrayRef = Arc::new(Date64Array::from(vec![86_400_000]));
    assert!(cast_one(whole, DataType::Date32).is_ok());
    let timed: ArrayRef = Arc::new(Date64Array::from(vec![86_400_001]));
    assert!(message(cast_one(timed, DataType::Date32)).contains("time of day"));
}

#[test]
fn decimals_may_lose_zeros_only() {
    let decimal = |value| -> ArrayRef {
        let array = Decimal128Array::from(vec![value]);
        Arc::new(array.with_precision_and_scale(10, 3).expect("decimal"))
    };
    assert!(cast_one(decimal(1_230), DataType::Decimal128(10, 2)).is_ok());
    let error = message(cast_one(decimal(1_235), DataType::Decimal128(10, 2)));
    assert!(error.contains("1.235") && error.contains("round(c, 2)"), "{error}");
}

#[test]
fn an_untyped_null_fits_everywhere_but_not_null() {
    let nulls: ArrayRef = Arc::new(NullArray::new(2));
    let stored = cast_one(Arc::clone(&nulls), DataType::Int32).expect("stored");
    assert_eq!(stored.null_count(), 2);
    let strict = Field::new("c", DataType::Int32, false);
    assert!(message(cast_field(nulls, strict)).contains("coalesce(c, <value>)"));
}

#[test]
fn another_number_of_columns_shows_both_lists() {
    let input = Schema::new(vec![Field::new("a", DataType::Int32, true)]);
    let target = Schema::new(vec![
        Field::new("x", DataType::Int32, true),
        Field::new("y", DataType::Int32, true),
    ]);
    let error = RowCast::new(&input, Arc::new(target)).expect_err("refused").to_string();
    assert!(error.contains("1 columns (a)") && error.contains("2 (x, y)"), "{error}");
}
