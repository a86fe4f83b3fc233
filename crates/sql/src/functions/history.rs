//! One row per commit that the log holds, the newest first.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, StringArray, TimestampMicrosecondArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use partwise_commit::HistoryEntry;
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
    let entries = table.table().history().await?;
    let time = entries.iter().map(|entry| Some(entry.time_ms * US_PER_MS));
    let time = time.collect::<TimestampMicrosecondArray>().with_timezone("UTC");
    Ok(vec![
        numbers(&entries, |entry| Some(entry.version)),
        Arc::new(time),
        texts(&entries, |entry| Some(entry.operation.as_str().to_owned())),
        texts(&entries, |entry| entry.mode().map(str::to_owned)),
        texts(&entries, |entry| entry.token.as_ref().map(|token| token.job.clone())),
        numbers(&entries, |entry| entry.token.as_ref().map(|token| token.run)),
        numbers(&entries, |entry| Some(entry.partitions as u64)),
        numbers(&entries, |entry| Some(entry.rows_added)),
        numbers(&entries, |entry| Some(entry.rows_removed)),
        numbers(&entries, |entry| Some(entry.files_added as u64)),
        numbers(&entries, |entry| Some(entry.files_removed as u64)),
        numbers(&entries, |entry| Some(entry.bytes_added)),
        texts(&entries, |entry| Some(entry.engine.clone())),
    ])
}

fn numbers(entries: &[HistoryEntry], of: impl Fn(&HistoryEntry) -> Option<u64>) -> ArrayRef {
    Arc::new(entries.iter().map(of).collect::<UInt64Array>())
}

fn texts(entries: &[HistoryEntry], of: impl Fn(&HistoryEntry) -> Option<String>) -> ArrayRef {
    Arc::new(entries.iter().map(of).collect::<StringArray>())
}
