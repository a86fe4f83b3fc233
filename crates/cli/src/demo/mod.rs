//! `partwise demo`: the lessons, walked through on the taxi quarter, every figure compared.
//!
//! ```text
//! data folder (made if it isn't there) -> sql/*.sql, one session each -> statement -> result
//!                                                                           |
//!                             figures of the quarter's scale --------> comparison -> tick or WRONG
//! ```

mod compare;
mod data;
mod lesson;
mod page;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use crate::args::DemoArguments;
use crate::engine::Engine;
use crate::figures::Figures;
use crate::interrupt::Interrupts;
use crate::output::Console;
use crate::queries::QueryThreads;
use crate::status::{Failure, Result};
use crate::workers::Workers;

use lesson::{LESSONS, Walk};
use page::Page;

/// Where the demo's tables live unless the command line says otherwise: not the everyday lake,
/// whose tables it would replace.
const DEMO_LAKE: &str = "lake-demo";

/// Runs the subcommand.
///
/// # Errors
/// Data that doesn't fit the scale; at the end, a figure that differs or a lesson that failed.
pub async fn run(
    arguments: &DemoArguments,
    engine: Engine,
    workers: Workers,
    console: Console,
) -> Result<()> {
    let started = Instant::now();
    let figures = Figures::at_scale(arguments.scale).map_err(Failure::usage)?;
    let engine = engine.with_default_lake(DEMO_LAKE);
    let mut page = Page::new(console, &figures);
    let data = data::ensure(arguments, engine.threads(), page.console())?;
    page.opening(&data, &engine.lake_name())?;
    let variables = BTreeMap::from([("data".to_owned(), data.folder.display().to_string())]);
    // Until here Ctrl-C simply ends the process: nothing half made counts as data.
    let interrupts = Interrupts::listen()?;
    let threads = QueryThreads::new(engine.threads(), interrupts.clone());
    let mut walk = Walk { figures, variables, interrupts, workers, page };
    for (index, lesson) in LESSONS.iter().enumerate() {
        let context = engine.open().await?;
        threads.serve(&context);
        walk.lesson(index + 1, lesson, context).await?;
    }
    tokio::task::block_in_place(|| threads.shut_down());
    walk.page.closing(started.elapsed(), &engine.lake_name())
}

/// The folder of a scale's data, unless the command line names one.
fn default_folder(scale: f64) -> PathBuf {
    match scale == 1.0 {
        true => PathBuf::from("data"),
        false => PathBuf::from(format!("data/scale-{scale}")),
    }
}
