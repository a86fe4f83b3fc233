//! A nightly job: `nightly_job FILES TABLE RUN` aggregates the trips in new files and replaces their
//! months in the report, once per run. Exit status 3: the guard stopped it, nothing has changed.

use std::process::ExitCode;

use partwise::datafusion::prelude::{ParquetReadOptions, SessionContext};
use partwise::{Commit, Error, ErrorKind, Overwrite, SaveMode, Table, WritePartitioned};

const REPORT: &str = "SELECT \"PULocationID\" AS zone, count(*) AS trips, \
    sum(total_amount) AS revenue, to_char(tpep_pickup_datetime, '%Y-%m') AS pickup_month \
    FROM trips GROUP BY 1, 4";

async fn nightly(files: &str, table: &str, run: u64) -> Result<Commit, Error> {
    let session = SessionContext::new();
    session.register_parquet("trips", files, ParquetReadOptions::default()).await?;
    let report = session.sql(REPORT).await?.write_partitioned(table).partition_by(["pickup_month"]);
    let report = report.mode(SaveMode::Overwrite).overwrite(Overwrite::Dynamic);
    let commit = report.compression("zstd(3)").token("nightly", run).save().await?;
    println!("{commit}");
    if let Some(version) = Table::open(table).await?.version_of("nightly", run).await? {
        println!("run {run} is in since version {version}: what waits for it may start");
    }
    Ok(commit)
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [files, table, run] = arguments.as_slice() else { return ExitCode::from(2) };
    let Ok(run) = run.parse() else { return ExitCode::from(2) };
    let Err(error) = nightly(files, table, run).await else { return ExitCode::SUCCESS };
    eprintln!("{error}");
    ExitCode::from(if error.kind() == ErrorKind::Refused { 3 } else { 1 })
}
