//! `partwise taxi`: makes the calibrated quarter, or describes the one there is.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use partwise_taxi::{Error, Presence, Progress, describe, generate, present};

use crate::args::TaxiArguments;
use crate::number::seconds;
use crate::output::Console;
use crate::status::{Failure, Result};

/// Runs the subcommand.
///
/// # Errors
/// A scale out of range, files in the way that weren't made here, or what the disk refused.
pub fn run(arguments: &TaxiArguments, threads: Option<usize>, console: &mut Console) -> Result<()> {
    let out = &arguments.out;
    let is_there = !matches!(present(out), Presence::Missing(_));
    if !(arguments.describe && is_there) {
        make(out, arguments.scale, threads, console)?;
    }
    if arguments.describe {
        let description = in_pool(threads, || describe(out))?;
        writeln!(console.out(), "{}", description.trim_end())?;
    }
    Ok(console.out().flush()?)
}

/// Makes the quarter of a scale in a folder, and says so.
///
/// # Errors
/// Those of [`run`].
pub fn make(out: &Path, scale: f64, threads: Option<usize>, console: &mut Console) -> Result<()> {
    let started = Instant::now();
    let made = in_pool(threads, || generate(out, scale, Progress::Bar))?;
    let rows: u64 = made.figures.rows_per_file.iter().sum();
    let line = format!(
        "made {} synthetic trips in {} ({}, {})",
        partwise_sql::thousands(rows),
        out.display(),
        partwise_sql::bytes(made.bytes),
        seconds(started.elapsed())
    );
    console.notice(&line)
}

/// Runs the generator's work on as many threads as asked for.
fn in_pool<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    let pool = pool.map_err(|error| Failure::failed(format!("no threads to run on: {error}")))?;
    pool.install(work).map_err(|error| match error {
        Error::Scale { .. } => Failure::usage(error.to_string()),
        other => Failure::failed(other.to_string()),
    })
}
