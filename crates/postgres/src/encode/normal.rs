//! One Arrow type for each kind of column.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Date64Type, DurationNanosecondType, Field, IntervalMonthDayNanoType, IntervalUnit,
    Time64NanosecondType, TimeUnit, TimestampNanosecondType,
};
use partwise_stream::{Error, Result};

use crate::kind::{Kind, finer, plain};

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// The same values as the one type that the kind is written from.
///
/// # Errors
/// A value that is lost on the way.
pub(super) fn normal(values: &ArrayRef, kind: &Kind) -> Result<ArrayRef> {
    let values = &cast(values, plain(values.data_type()))?;
    check_whole(values)?;
    let to = match (kind, values.data_type()) {
        (Kind::List(_), _) => return lists(values),
        (Kind::Numeric, decimal) if decimal.is_decimal() => return wide_decimals(values),
        (Kind::Uuid, DataType::FixedSizeBinary(_)) => return Ok(Arc::clone(values)),
        (kind, _) => type_of(kind),
    };
    cast(values, &to)
}

fn type_of(kind: &Kind) -> DataType {
    match kind {
        Kind::Bool => DataType::Boolean,
        Kind::Int2 => DataType::Int16,
        Kind::Int4 => DataType::Int32,
        Kind::Int8 => DataType::Int64,
        Kind::Float4 => DataType::Float32,
        Kind::Float8 => DataType::Float64,
        Kind::Numeric => DataType::Decimal128(20, 0),
        Kind::Bytea => DataType::LargeBinary,
        Kind::Date => DataType::Date32,
        Kind::Time => DataType::Time64(TimeUnit::Microsecond),
        Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        Kind::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Kind::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
        Kind::List(of) => DataType::LargeList(Arc::new(Field::new("item", type_of(of), true))),
        Kind::Text | Kind::Varchar | Kind::Bpchar | Kind::Json | Kind::Jsonb | Kind::Uuid => {
            DataType::LargeUtf8
        }
    }
}

fn cast(values: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(values, to, &strict)?)
}

/// Lists of one layout; their values are made normal where they are written.
fn lists(values: &ArrayRef) -> Result<ArrayRef> {
    let item = match values.data_type() {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => item,
        other => return Err(Error::internal(format!("a list of {other}"))),
    };
    cast(values, &DataType::LargeList(Arc::clone(item)))
}

fn wide_decimals(values: &ArrayRef) -> Result<ArrayRef> {
    match values.data_type() {
        DataType::Decimal32(digits, scale) | DataType::Decimal64(digits, scale) => {
            cast(values, &DataType::Decimal128(*digits, *scale))
        }
        _ => Ok(Arc::clone(values)),
    }
}

/// Refuses what a cast would cut off: parts of microseconds and of days.
fn check_whole(values: &ArrayRef) -> Result<()> {
    let microseconds = "has parts of a microsecond, which PostgreSQL doesn't keep: date_trunc it \
                        to 'microsecond', or CAST it to TIMESTAMP(6)";
    match values.data_type() {
        DataType::Timestamp(unit, _) if finer(*unit) => {
            whole::<TimestampNanosecondType>(values, |value| value % 1_000 == 0, microseconds)
        }
        DataType::Time64(unit) if finer(*unit) => {
            whole::<Time64NanosecondType>(values, |value| value % 1_000 == 0, microseconds)
        }
        DataType::Duration(unit) if finer(*unit) => {
            whole::<DurationNanosecondType>(values, |value| value % 1_000 == 0, microseconds)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => whole::<IntervalMonthDayNanoType>(
            values,
            |value| value.nanoseconds % 1_000 == 0,
            microseconds,
        ),
        DataType::Date64 => whole::<Date64Type>(
            values,
            |value| value % DAY == 0,
            "has a time of day, which a date of PostgreSQL doesn't keep: CAST it to TIMESTAMP",
        ),
        _ => Ok(()),
    }
}

fn whole<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    is_whole: impl Fn(T::Native) -> bool,
    reason: &str,
) -> Result<()> {
    let values = values.as_primitive::<T>();
    let cut = (0..values.len()).find(|row| values.is_valid(*row) && !is_whole(values.value(*row)));
    match cut {
        None => Ok(()),
        Some(row) => {
            let value = datafusion::common::ScalarValue::try_from_array(values, row)?;
            Err(Error::invalid(format!("the value {value} {reason}")))
        }
    }
}
