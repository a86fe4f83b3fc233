//! Counts trips by hour and zone as their files arrive: `hourly LANDING OUT append|update|complete
//! [FILES_PER_BATCH]`. LANDING holds Parquet files of yellow taxi trips, OUT becomes a table
//! partitioned by month, its checkpoint beside it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use datafusion::prelude::SessionContext;
use partwise_stream::{
    OutputMode, StreamContext, StreamDefinition, TableSink, Trigger, WriteStream,
};

const QUERY: &str = r#"
    SELECT tumble(tpep_pickup_datetime, INTERVAL '1 hour') AS pickup_hour,
        "PULocationID" AS zone,
        to_char(tumble(tpep_pickup_datetime, INTERVAL '1 hour'), '%Y-%m') AS pickup_month,
        count(*) AS trips,
        sum(total_amount) AS revenue
    FROM trips
    GROUP BY tumble(tpep_pickup_datetime, INTERVAL '1 hour'), "PULocationID""#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: hourly LANDING OUT append|update|complete [FILES_PER_BATCH]";
    let landing = arguments.next().ok_or(usage)?;
    let out = PathBuf::from(arguments.next().ok_or(usage)?);
    let mode: OutputMode = arguments.next().ok_or(usage)?.parse()?;
    let files = arguments.next().unwrap_or_else(|| "1".to_owned());

    let session = SessionContext::new();
    let streams = StreamContext::new(&session);
    let trips = StreamDefinition::files("trips", landing)
        .option("max_files_per_trigger", files)
        .watermark("tpep_pickup_datetime", Duration::from_secs(600));
    streams.create_stream(&trips).await?;

    let started = Instant::now();
    let query = session
        .sql(QUERY)
        .await?
        .write_stream()
        .output_mode(mode)
        .trigger(Trigger::AvailableNow)
        .checkpoint(out.with_extension("checkpoint"))
        .sink(TableSink::new(&out).partition_by(["pickup_month"]))
        .on_progress(|progress| println!("{progress}"))
        .start()
        .await?;
    query.await_termination().await?;
    let mut times: Vec<u128> =
        query.history().iter().map(|progress| progress.took.total().as_micros()).collect();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    println!("{:.2} s in all, {median} us median per batch", started.elapsed().as_secs_f64());
    Ok(())
}
