//! The data of the demo: real files where there are some, else the synthetic quarter.

use std::path::{Path, PathBuf};

use partwise_taxi::{LOOKUP, Presence, present};

use crate::args::DemoArguments;
use crate::output::Console;
use crate::status::{Failure, Result};
use crate::taxi;

/// A folder that holds a whole quarter.
pub(super) struct Data {
    pub folder: PathBuf,
    /// Whether the trips were invented here.
    pub is_synthetic: bool,
}

/// Finds the quarter, or makes it.
///
/// # Errors
/// Files of another scale, real files without their lookup, or what the disk refused.
pub(super) fn ensure(
    arguments: &DemoArguments,
    threads: Option<usize>,
    console: &mut Console,
) -> Result<Data> {
    let scale = arguments.scale;
    let folder = arguments.data.clone().unwrap_or_else(|| super::default_folder(scale));
    match present(&folder) {
        Presence::Synthetic(origin) if origin.scale == scale => {}
        Presence::Synthetic(origin) => return Err(other_scale(&folder, origin.scale, scale)),
        Presence::Foreign if scale == 1.0 => return Ok(Data { folder, is_synthetic: false }),
        Presence::Foreign => return Err(real_is_whole(&folder)),
        Presence::Missing(missing) if missing == [LOOKUP] => {
            taxi::make(&folder, scale, threads, console).map_err(with_lookup_hint)?;
        }
        Presence::Missing(_) | Presence::Mixed => taxi::make(&folder, scale, threads, console)?,
    }
    Ok(Data { folder, is_synthetic: true })
}

fn other_scale(folder: &Path, found: f64, wanted: f64) -> Failure {
    Failure::usage(format!(
        "{} holds the quarter at scale {found}, not {wanted}: give --scale {found}, or another folder with --data",
        folder.display()
    ))
}

fn real_is_whole(folder: &Path) -> Failure {
    Failure::usage(format!(
        "{} holds trip files that were not made here, and their figures are those of scale 1: leave --scale out, or give another folder with --data",
        folder.display()
    ))
}

/// Whole trip files without a lookup may be real ones.
fn with_lookup_hint(failure: Failure) -> Failure {
    let message = format!("{} (real trip files need {LOOKUP} beside them)", failure.message);
    Failure { message, ..failure }
}
