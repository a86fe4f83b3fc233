//! The 19 columns of the 2024 yellow taxi files.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;

use crate::rows::Row;
use crate::trip::Payment;

const MICROS: i64 = 1_000_000;

/// The schema of the trip files: the columns of the 2024 yellow taxi files in their order, all nullable.
///
/// Times are local and have no zone; amounts are dollars, distances miles.
pub fn schema() -> SchemaRef {
    let time = DataType::Timestamp(TimeUnit::Microsecond, None);
    let columns = [
        ("VendorID", DataType::Int32),
        ("tpep_pickup_datetime", time.clone()),
        ("tpep_dropoff_datetime", time),
        ("passenger_count", DataType::Int64),
        ("trip_distance", DataType::Float64),
        ("RatecodeID", DataType::Int64),
        ("store_and_fwd_flag", DataType::Utf8),
        ("PULocationID", DataType::Int32),
        ("DOLocationID", DataType::Int32),
        ("payment_type", DataType::Int64),
        ("fare_amount", DataType::Float64),
        ("extra", DataType::Float64),
        ("mta_tax", DataType::Float64),
        ("tip_amount", DataType::Float64),
        ("tolls_amount", DataType::Float64),
        ("improvement_surcharge", DataType::Float64),
        ("total_amount", DataType::Float64),
        ("congestion_surcharge", DataType::Float64),
        ("Airport_fee", DataType::Float64),
    ];
    let fields = columns.map(|(name, data_type)| Field::new(name, data_type, true));
    Arc::new(Schema::new(fields.to_vec()))
}

/// Puts rows into columns, in the order of [`schema`].
pub(crate) fn batch(rows: &[Row]) -> Result<RecordBatch, ArrowError> {
    let columns: Vec<ArrayRef> = vec![
        int32(rows, |row| row.trip.vendor),
        time(rows, |row| row.trip.pickup),
        time(rows, |row| row.trip.pickup + row.trip.duration_seconds),
        recorded_int64(rows, |row| row.trip.passengers),
        hundredths(rows, |row| row.trip.hundredths_of_a_mile as i32),
        recorded_int64(rows, |row| row.trip.rate_code),
        flags(rows),
        int32(rows, |row| i32::from(row.trip.from)),
        int32(rows, |row| i32::from(row.trip.to)),
        int64(rows, |row| row.trip.payment as i64),
        hundredths(rows, |row| row.amounts.fare),
        hundredths(rows, |row| row.amounts.charges.extra),
        hundredths(rows, |row| row.amounts.charges.mta_tax),
        hundredths(rows, |row| row.amounts.tip),
        hundredths(rows, |row| row.amounts.charges.tolls),
        hundredths(rows, |row| row.amounts.charges.improvement),
        hundredths(rows, |row| row.amounts.total()),
        recorded_hundredths(rows, |row| row.amounts.charges.congestion),
        recorded_hundredths(rows, |row| row.amounts.charges.airport),
    ];
    RecordBatch::try_new(schema(), columns)
}

/// The nearest double to an amount in cents: sums of them, in any order, round back to the cent.
fn dollars(cents: i32) -> f64 {
    f64::from(cents) / 100.0
}

fn recorded<T>(row: &Row, value: impl Fn(&Row) -> T) -> Option<T> {
    (row.trip.payment != Payment::Unrecorded).then(|| value(row))
}

fn int32(rows: &[Row], value: impl Fn(&Row) -> i32) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(rows.iter().map(value)))
}

fn int64(rows: &[Row], value: impl Fn(&Row) -> i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(rows.iter().map(value)))
}

fn recorded_int64(rows: &[Row], value: impl Fn(&Row) -> i64) -> ArrayRef {
    Arc::new(rows.iter().map(|row| recorded(row, &value)).collect::<Int64Array>())
}

fn time(rows: &[Row], seconds: impl Fn(&Row) -> i64) -> ArrayRef {
    let micros = rows.iter().map(|row| seconds(row) * MICROS);
    Arc::new(TimestampMicrosecondArray::from_iter_values(micros))
}

fn hundredths(rows: &[Row], value: impl Fn(&Row) -> i32) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| dollars(value(row)))))
}

fn recorded_hundredths(rows: &[Row], value: impl Fn(&Row) -> i32) -> ArrayRef {
    let values = rows.iter().map(|row| recorded(row, &value).map(dollars));
    Arc::new(values.collect::<Float64Array>())
}

fn flags(rows: &[Row]) -> ArrayRef {
    let flag = |row: &Row| if row.trip.was_stored { "Y" } else { "N" };
    Arc::new(rows.iter().map(|row| recorded(row, flag)).collect::<StringArray>())
}
