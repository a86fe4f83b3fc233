//! One row per commit that the log holds, the newest first.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringArray, TimestampMicrosecondArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use partwise_commit::{Record, RecordedPartition, RecordedScope};
use partwise_table::PartwiseTable;

use crate::Result;

/// Microseconds of a millisecond.
const US_PER_MS: i64 = 1_000;

pub(super) fn fields() -> Vec<Field> {
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    [
        ("version", DataType::UInt64),
        ("time", utc),
        ("operation", DataType::Utf8),
        ("mode", DataType::Utf8),
        ("job", DataType::Utf8),
        ("run", DataType::UInt64),
        ("partitions", DataType::UInt64),
        ("rows_added", DataType::UInt64),
        ("rows_removed", DataType::UInt64),
        ("files_added", DataType::UInt64),
        ("files_removed", DataType::UInt64),
        ("bytes_added", DataType::UInt64),
        ("engine", DataType::Utf8),
    ]
    .map(|(name, ty)| Field::new(name, ty, true))
    .to_vec()
}

pub(super) async fn arrays(table: &PartwiseTable) -> Result<Vec<ArrayRef>> {
    let records = table.table().records().await?;
    let time = records.iter().map(|record| Some(record.time_ms * US_PER_MS));
    let time = time.collect::<TimestampMicrosecondArray>().with_timezone("UTC");
    Ok(vec![
        numbers(&records, |record| Some(record.version)),
        Arc::new(time),
        texts(&records, |record| Some(operation(record))),
        texts(&records, |record| record.scope.as_ref().map(mode)),
        texts(&records, |record| record.token.as_ref().map(|token| token.job.clone())),
        numbers(&records, |record| record.token.as_ref().map(|token| token.run)),
        numbers(&records, |record| Some(record.partitions.len() as u64)),
        numbers(&records, |record| sum(record, rows_added)),
        numbers(&records, |record| sum(record, rows_removed)),
        numbers(&records, |record| sum(record, |p| p.added.len() as u64)),
        numbers(&records, |record| sum(record, |p| p.removed.len() as u64)),
        numbers(&records, |record| sum(record, bytes_added)),
        texts(&records, |record| Some(record.engine.clone())),
    ])
}

fn numbers(records: &[Record], of: impl Fn(&Record) -> Option<u64>) -> ArrayRef {
    Arc::new(records.iter().map(of).collect::<UInt64Array>())
}

fn texts(records: &[Record], of: impl Fn(&Record) -> Option<String>) -> ArrayRef {
    Arc::new(records.iter().map(of).collect::<StringArray>())
}

fn sum(record: &Record, of: impl Fn(&RecordedPartition) -> u64) -> Option<u64> {
    Some(record.partitions.iter().map(of).sum())
}

fn rows_added(partition: &RecordedPartition) -> u64 {
    partition.added.iter().map(|file| file.rows).sum()
}

fn rows_removed(partition: &RecordedPartition) -> u64 {
    (partition.rows_before + rows_added(partition)).saturating_sub(partition.rows_after)
}

fn bytes_added(partition: &RecordedPartition) -> u64 {
    partition.added.iter().map(|file| file.identity.size).sum()
}

/// The operation in the log's own word.
fn operation(record: &Record) -> String {
    match serde_json::to_value(record.operation) {
        Ok(serde_json::Value::String(word)) => word,
        _ => format!("{:?}", record.operation).to_lowercase(),
    }
}

/// What an overwrite covered: those written, the whole table, or the values that it named.
fn mode(scope: &RecordedScope) -> String {
    match scope {
        RecordedScope::Written => "dynamic".to_owned(),
        RecordedScope::Matching(values) if values.is_empty() => "static".to_owned(),
        RecordedScope::Matching(values) => format!("static {}", values.join("/")),
        RecordedScope::Declared(scope) => format!("scope {scope}"),
    }
}
