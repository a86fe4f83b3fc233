//! `tumble(ts, INTERVAL '5 minutes')`: the start of the window that a time falls into.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, make_array};
use datafusion::arrow::compute::unary;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type, IntervalUnit, TimeUnit};
use datafusion::common::{Result as DFResult, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::time::{nanos_per, numbers};

/// The name in SQL.
pub(super) const TUMBLE: &str = "tumble";

/// The function `tumble(time, width)`: windows of one width side by side, aligned to 1970 in UTC;
/// it gives the window's start, in the type of the time. The width is an interval without months.
pub fn tumble_udf() -> ScalarUDF {
    ScalarUDF::from(Tumble { signature: Signature::user_defined(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Tumble {
    signature: Signature,
}

impl ScalarUDFImpl for Tumble {
    fn name(&self) -> &str {
        TUMBLE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> DFResult<DataType> {
        Ok(arg_types[0].clone())
    }

    /// A width that can't be is told when the query is planned.
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> DFResult<FieldRef> {
        let time = &args.arg_fields[0];
        if let (DataType::Timestamp(unit, _), Some(Some(width))) =
            (time.data_type(), args.scalar_arguments.get(1))
        {
            width_of(&width.cast_to(&DataType::Interval(IntervalUnit::MonthDayNano))?, unit)?;
        }
        let ty = self.return_type(&[time.data_type().clone()])?;
        Ok(Arc::new(Field::new(self.name(), ty, time.is_nullable())))
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> DFResult<Vec<DataType>> {
        let [time, width] = arg_types else {
            return plan_err!("tumble takes a time and a width: tumble(ts, INTERVAL '5 minutes')");
        };
        let time = match time {
            DataType::Timestamp(..) => time.clone(),
            DataType::Date32 | DataType::Date64 | DataType::Null => {
                DataType::Timestamp(TimeUnit::Microsecond, None)
            }
            other => return plan_err!("tumble takes a TIMESTAMP, not {other}: CAST it"),
        };
        match width {
            DataType::Interval(_) | DataType::Duration(_) => {
                Ok(vec![time, DataType::Interval(IntervalUnit::MonthDayNano)])
            }
            other => plan_err!("tumble's width is an INTERVAL, not {other}: INTERVAL '5 minutes'"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DFResult<ColumnarValue> {
        let [time, width] = args.args.as_slice() else {
            return exec_err!("tumble takes a time and a width");
        };
        let ColumnarValue::Scalar(width) = width else {
            return exec_err!("tumble's width is one interval for all rows");
        };
        let DataType::Timestamp(unit, _) = time.data_type() else {
            return exec_err!("tumble takes a TIMESTAMP");
        };
        let width = width_of(width, &unit)?;
        match time {
            ColumnarValue::Array(times) => Ok(ColumnarValue::Array(starts(times, width)?)),
            ColumnarValue::Scalar(time) => {
                let start = starts(&time.to_array()?, width)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&start, 0)?))
            }
        }
    }
}

/// The width in the unit of the times.
pub(super) fn width_of(width: &ScalarValue, unit: &TimeUnit) -> DFResult<i64> {
    let ScalarValue::IntervalMonthDayNano(Some(width)) = width else {
        return plan_err!("tumble's width is a constant INTERVAL, such as INTERVAL '5 minutes'");
    };
    if width.months != 0 {
        return plan_err!(
            "tumble's windows are of one width, and months aren't: use date_trunc('month', ts)"
        );
    }
    let nanos = i64::from(width.days)
        .checked_mul(86_400 * nanos_per(&TimeUnit::Second))
        .and_then(|days| days.checked_add(width.nanoseconds));
    match nanos {
        Some(nanos) if nanos > 0 && nanos % nanos_per(unit) == 0 => Ok(nanos / nanos_per(unit)),
        Some(nanos) if nanos > 0 => plan_err!("tumble's width is no whole number of {unit}s"),
        _ => plan_err!("tumble's width is above zero"),
    }
}

fn starts(times: &ArrayRef, width: i64) -> DFResult<ArrayRef> {
    let numbers = numbers(times)?;
    let starts = unary::<_, _, Int64Type>(&numbers, |time| time - time.rem_euclid(width));
    let data = datafusion::arrow::array::Array::to_data(&starts);
    Ok(make_array(data.into_builder().data_type(times.data_type().clone()).build()?))
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::TimestampMillisecondArray;

    use super::*;

    #[test]
    fn a_time_before_1970_falls_into_the_window_that_begins_before_it() {
        let times: ArrayRef =
            Arc::new(TimestampMillisecondArray::from(vec![-1, 0, 59_999, 60_000]));
        let starts = starts(&times, 60_000).expect("starts");
        let expected: ArrayRef =
            Arc::new(TimestampMillisecondArray::from(vec![-60_000, 0, 0, 60_000]));
        assert_eq!(&starts, &expected);
    }
}
