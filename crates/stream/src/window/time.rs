//! Event times as numbers in their column's own unit.

use std::time::Duration;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, Int64Type, TimeUnit};
use datafusion::common::ScalarValue;

use crate::definition::Watermark;
use crate::{Error, Result};

/// The event time of a stream: where it stands, and how late a row may be.
#[derive(Clone, Debug)]
pub(crate) struct EventTime {
    /// The column's place in the stream.
    pub column: usize,
    /// Its type, a timestamp.
    pub ty: DataType,
    /// The delay in the type's unit.
    pub delay: i64,
}

impl EventTime {
    /// Finds the watermark's column.
    ///
    /// # Errors
    /// No such column; one that isn't a timestamp.
    pub fn new(
        schema: &datafusion::arrow::datatypes::Schema,
        watermark: &Watermark,
    ) -> Result<Self> {
        let fields = schema.fields();
        let found = fields.iter().position(|f| f.name().eq_ignore_ascii_case(&watermark.column));
        let Some(column) = found else {
            let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            return Err(Error::invalid(format!(
                "WATERMARK FOR {}: the stream has no such column; it has {}",
                watermark.column,
                names.join(", ")
            )));
        };
        let ty = fields[column].data_type().clone();
        let DataType::Timestamp(unit, _) = &ty else {
            return Err(Error::invalid(format!(
                "WATERMARK FOR {}: it is {ty}, and event times are timestamps: declare the column \
                 as TIMESTAMP",
                watermark.column
            )));
        };
        let delay = in_unit(watermark.delay, unit);
        Ok(Self { column, ty, delay })
    }

    /// An event time as text.
    pub fn text(&self, time: i64) -> String {
        let scalar = ScalarValue::Int64(Some(time)).cast_to(&self.ty);
        let text = scalar.and_then(|scalar| scalar.cast_to(&DataType::Utf8));
        text.map_or_else(|_| time.to_string(), |text| text.to_string())
    }
}

/// A length of time in a unit; a part of a unit counts as a whole one.
pub(super) fn in_unit(length: Duration, unit: &TimeUnit) -> i64 {
    let per_unit: u128 = nanos_per(unit).unsigned_abs().into();
    i64::try_from(length.as_nanos().div_ceil(per_unit)).unwrap_or(i64::MAX)
}

/// Nanoseconds of a unit.
pub(super) fn nanos_per(unit: &TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// The numbers of a column of timestamps.
///
/// # Errors
/// A column of another type.
pub(crate) fn numbers(array: &ArrayRef) -> Result<PrimitiveArray<Int64Type>> {
    let DataType::Timestamp(..) = array.data_type() else {
        return Err(Error::internal(format!("event times of type {}", array.data_type())));
    };
    let data = array.to_data().into_builder().data_type(DataType::Int64).build()?;
    Ok(datafusion::arrow::array::make_array(data).as_primitive::<Int64Type>().clone())
}
