//! `SHOW STREAMS`, `SHOW QUERIES`, `SHOW TABLES`.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use partwise_stream::{StreamQuery, StreamTable};

use super::Planned;
use crate::{PartwiseContext, Result, show};

/// One row per table; streams aren't tables.
pub async fn show_tables(context: &PartwiseContext) -> Result<Planned> {
    let mut names = context.table_names().await?;
    let streams = context.schema().streams().await?;
    let streams: BTreeSet<String> = streams.into_iter().map(|(name, _)| name).collect();
    names.retain(|name| !streams.contains(name));
    Ok(Planned::Batch(show::tables(names)?))
}

/// One row per stream of the session.
pub async fn show_streams(context: &PartwiseContext) -> Result<Planned> {
    let streams = context.schema().streams().await?;
    let text = |of: &dyn Fn(&StreamTable) -> Option<String>| -> ArrayRef {
        Arc::new(streams.iter().map(|(_, stream)| of(stream)).collect::<StringArray>())
    };
    let watermark = |stream: &StreamTable| {
        let watermark = stream.watermark()?;
        let seconds = watermark.delay.as_secs_f64();
        Some(format!("{} - INTERVAL '{seconds} seconds'", watermark.column))
    };
    let names = streams.iter().map(|(name, _)| Some(name.clone())).collect::<StringArray>();
    let rows = RecordBatch::try_from_iter_with_nullable([
        ("name", Arc::new(names) as ArrayRef, false),
        (
            "source",
            text(&|stream| Some(context.watch().hidden(&stream.source().describe()))),
            false,
        ),
        ("columns", text(&|stream| Some(columns(stream))), false),
        ("watermark", text(&watermark), true),
    ])?;
    Ok(Planned::Batch(rows))
}

fn columns(stream: &StreamTable) -> String {
    let schema = stream.source().schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    names.join(", ")
}

/// One row per query that was started in the session.
pub fn show_queries(context: &PartwiseContext) -> Result<Planned> {
    let queries = context.streams().queries();
    let text = |of: &dyn Fn(&StreamQuery) -> Option<String>| -> ArrayRef {
        Arc::new(queries.iter().map(of).collect::<StringArray>())
    };
    let number = |of: &dyn Fn(&StreamQuery) -> u64| -> ArrayRef {
        Arc::new(queries.iter().map(|query| Some(of(query))).collect::<UInt64Array>())
    };
    let state = |query: &StreamQuery| context.watch().hidden(&state_of(query));
    let last = |query: &StreamQuery| query.progress().unwrap_or_default();
    let rows = RecordBatch::try_from_iter_with_nullable([
        ("name", text(&|query| Some(query.name().to_owned())), false),
        ("mode", text(&|query| Some(query.mode().to_string())), false),
        ("sink", text(&|query| Some(context.watch().hidden(query.sink()))), false),
        ("trigger", text(&|query| Some(query.trigger().to_string())), false),
        ("state", text(&|query| Some(state(query))), false),
        ("batches", number(&|query| query.totals().batches), false),
        ("input_rows", number(&|query| query.totals().input_rows), false),
        ("rows_per_second", number(&|query| query.totals().input_rows_per_second() as u64), false),
        ("state_rows", number(&|query| last(query).state_rows), false),
        ("state_bytes", number(&|query| last(query).state_bytes), false),
        ("watermark", text(&|query| last(query).watermark), true),
        ("late_rows", number(&|query| query.totals().late_rows), false),
    ])?;
    Ok(Planned::Batch(rows))
}

fn state_of(query: &StreamQuery) -> String {
    match (query.is_running(), query.failure()) {
        (true, _) => "running".to_owned(),
        (false, None) => "ended".to_owned(),
        (false, Some(failure)) => format!("failed: {failure}"),
    }
}
