//! Every row adds up, and reversals take back a trip of the same bucket.

use std::collections::HashSet;
use std::fs::File;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use partwise_taxi::{FILES, Progress, generate};

fn batches() -> Vec<RecordBatch> {
    let dir = tempfile::tempdir().unwrap();
    generate(dir.path(), 0.01, Progress::Silent).unwrap();
    let read = |name| {
        let file = File::open(dir.path().join(name)).unwrap();
        ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap()
    };
    FILES.iter().flat_map(read).collect::<Result<_, _>>().unwrap()
}

fn cents(batch: &RecordBatch, column: &str, row: usize) -> i64 {
    let values = batch.column_by_name(column).unwrap().as_primitive::<Float64Type>();
    if values.is_null(row) { 0 } else { (values.value(row) * 100.0).round() as i64 }
}

#[test]
fn totals_are_the_sum_of_their_parts() {
    const PARTS: [&str; 8] = [
        "fare_amount",
        "extra",
        "mta_tax",
        "tip_amount",
        "tolls_amount",
        "improvement_surcharge",
        "congestion_surcharge",
        "Airport_fee",
    ];
    for batch in batches() {
        for row in 0..batch.num_rows() {
            let sum: i64 = PARTS.iter().map(|part| cents(&batch, part, row)).sum();
            assert_eq!(sum, cents(&batch, "total_amount", row));
        }
    }
}

#[test]
fn columns_are_empty_together_in_some_rows() {
    const COLUMNS: [&str; 5] = [
        "passenger_count",
        "RatecodeID",
        "store_and_fwd_flag",
        "congestion_surcharge",
        "Airport_fee",
    ];
    let (mut rows, mut empty) = (0, 0);
    for batch in batches() {
        let payments = batch.column_by_name("payment_type").unwrap().as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let is_app_trip = payments.value(row) == 0;
            rows += 1;
            empty += usize::from(is_app_trip);
            let is_null = |name: &&str| batch.column_by_name(name).unwrap().is_null(row);
            assert!(COLUMNS.iter().all(|name| is_null(name) == is_app_trip));
        }
    }
    let share = empty as f64 / rows as f64;
    assert!((0.04..0.05).contains(&share), "{share}");
}

#[test]
fn about_one_row_in_a_hundred_takes_back_a_trip_of_its_bucket() {
    let (mut rows, mut trips, mut reversals) = (0, HashSet::new(), Vec::new());
    for batch in batches() {
        let zones = batch.column_by_name("PULocationID").unwrap().as_primitive::<Int32Type>();
        let times = batch.column_by_name("tpep_pickup_datetime").unwrap();
        let times = times.as_primitive::<TimestampMicrosecondType>();
        for row in 0..batch.num_rows() {
            let total = cents(&batch, "total_amount", row);
            rows += 1;
            if total < 0 {
                reversals.push((zones.value(row), times.value(row), -total));
            } else {
                trips.insert((zones.value(row), times.value(row), total));
            }
        }
    }
    let share = reversals.len() as f64 / rows as f64;
    assert!((0.007..0.013).contains(&share), "{share}");
    assert!(reversals.iter().all(|reversal| trips.contains(reversal)));
}
