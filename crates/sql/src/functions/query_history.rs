//! `query_history('q')`: a row per batch of a streaming query of the session, the newest last.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::Result as DFResult;
use partwise_stream::progress::Steps;
use partwise_stream::{Progress, StreamContext, StreamQuery};

use super::call;
use super::gathered::{Gather, Gathered};
use crate::run::no_query;
use crate::{Error, Result};

/// Microseconds of a millisecond.
const US_PER_MS: i64 = 1_000;

/// The function.
#[derive(Debug)]
pub(super) struct QueryHistory;

impl TableFunctionImpl for QueryHistory {
    fn call_with_args(&self, args: TableFunctionArgs) -> DFResult<Arc<dyn TableProvider>> {
        let usage = || {
            Error::invalid("query_history takes one argument, the query's name: query_history('q')")
        };
        let constants = call::constants("query_history", args.exprs())?;
        let [name] = constants[..] else { return Err(usage().into()) };
        let name = call::text(name).ok_or_else(usage)?;
        let queries = StreamContext::queries_in(call::state_of(&args)?.config());
        let found = queries.iter().find(|query| query.name() == name);
        let query = found.cloned().ok_or_else(|| {
            let names: Vec<&str> = queries.iter().map(StreamQuery::name).collect();
            no_query(name, &names)
        })?;
        Ok(Arc::new(Gathered::new(Batches(query), schema())))
    }
}

/// The batches of one query, as they are when it is read.
#[derive(Debug)]
struct Batches(StreamQuery);

#[async_trait]
impl Gather for Batches {
    async fn columns(&self, _session: &dyn Session) -> Result<Vec<ArrayRef>> {
        Ok(columns(&self.0))
    }
}

/// A column, and the duration that it has.
type Step = (&'static str, fn(&Steps) -> Duration);

/// The columns with the durations of the steps, in milliseconds.
const STEPS: [Step; 6] = [
    ("offsets_ms", |steps| steps.offsets),
    ("run_ms", |steps| steps.run),
    ("sink_ms", |steps| steps.sink),
    ("state_ms", |steps| steps.state),
    ("commit_ms", |steps| steps.commit),
    ("total_ms", Steps::total),
];

fn schema() -> SchemaRef {
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let columns = [
        ("batch", DataType::UInt64),
        ("planned", utc),
        ("again", DataType::Boolean),
        ("input_rows", DataType::UInt64),
        ("rows_per_second", DataType::UInt64),
        ("output_rows", DataType::UInt64),
        ("late_rows", DataType::UInt64),
        ("bad_rows", DataType::UInt64),
        ("state_rows", DataType::UInt64),
        ("state_bytes", DataType::UInt64),
        ("watermark", DataType::Utf8),
    ];
    let steps = STEPS.map(|(name, _)| (name, DataType::Float64));
    let fields = columns.into_iter().chain(steps);
    Arc::new(Schema::new(fields.map(|(name, ty)| Field::new(name, ty, true)).collect::<Vec<_>>()))
}

fn columns(query: &StreamQuery) -> Vec<ArrayRef> {
    let batches = query.history();
    let number = |of: fn(&Progress) -> Option<u64>| -> ArrayRef {
        Arc::new(batches.iter().map(of).collect::<UInt64Array>())
    };
    let planned = batches.iter().map(|batch| Some(batch.planned_ms * US_PER_MS));
    let planned = planned.collect::<TimestampMicrosecondArray>().with_timezone("UTC");
    let again = batches.iter().map(|batch| Some(batch.replayed)).collect::<BooleanArray>();
    let watermark = batches.iter().map(|batch| batch.watermark.clone()).collect::<StringArray>();
    let mut columns = vec![
        number(|batch| Some(batch.batch)),
        Arc::new(planned),
        Arc::new(again),
        number(|batch| Some(batch.input_rows)),
        number(|batch| Some(batch.input_rows_per_second() as u64)),
        number(|batch| batch.output_rows),
        number(|batch| Some(batch.late_rows)),
        number(|batch| Some(batch.bad_rows)),
        number(|batch| Some(batch.state_rows)),
        number(|batch| Some(batch.state_bytes)),
        Arc::new(watermark),
    ];
    columns.extend(STEPS.map(|(_, of)| {
        let took = batches.iter().map(|batch| Some(of(&batch.took).as_micros() as f64 / 1_000.0));
        Arc::new(took.collect::<Float64Array>()) as ArrayRef
    }));
    columns
}
