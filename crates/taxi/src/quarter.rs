//! A quarter to be made: its settings, and the run that turns them into files.

use std::path::{Path, PathBuf};

use crate::error::{At, Error};
use crate::figures::Figures;
use crate::found::{FILES, LOOKUP, Origin};
use crate::stage::{Staged, sweep, sync_folder};
use crate::write::{Progress, stage_lookup, stage_trips};

/// The seed of a quarter nobody chose one for.
pub const SEED: u64 = 2024;

/// The settings of a quarter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quarter {
    /// Its size: 1 for the published one, down to the least of [`SCALES`](crate::SCALES).
    pub scale: f64,
    /// What chance is derived from.
    pub seed: u64,
}

/// A quarter that is on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The three trip files in the order of their months, then the zone lookup.
    pub paths: Vec<PathBuf>,
    /// The figures the files show.
    pub figures: Figures,
    /// Size of the three trip files together.
    pub bytes: u64,
}

/// Makes the quarter of a scale, with the usual seed, in the folder `out`; see [`Quarter::make`].
///
/// # Errors
/// Those of [`Quarter::make`].
pub fn generate(out: &Path, scale: f64, progress: Progress) -> Result<Made, Error> {
    Quarter { scale, seed: SEED }.make(out, progress)
}

impl Quarter {
    /// Makes the quarter in the folder `out`, which is created when it is not there.
    ///
    /// Files appear under their final names when all of them are whole, over files of an earlier run.
    /// A zone lookup that is already there is kept. Runs in the rayon pool it is called in.
    ///
    /// # Errors
    /// [`Error::Scale`]; [`Error::NotOurs`] when a trip file is there that was not made here;
    /// or what the disk refused. After an error, the files under final names are what they were
    /// (unless moving the files into place failed half way: then each is either the old or the new one, whole).
    pub fn make(self, out: &Path, progress: Progress) -> Result<Made, Error> {
        let figures = Figures::at_scale(self.scale)?;
        std::fs::create_dir_all(out).at("create", out)?;
        refuse_foreign(out)?;
        sweep(out)?;
        let origin = Origin { scale: self.scale, seed: self.seed };
        let mut staged = stage_trips(out, &figures, origin, progress)?;
        let has_lookup = out.join(LOOKUP).exists();
        if !has_lookup {
            staged.push(stage_lookup(out)?);
        }
        // Once more: a killed run may have been still on its way out when this one began.
        sweep(out)?;
        let mut paths = staged.into_iter().map(Staged::publish).collect::<Result<Vec<_>, _>>()?;
        sync_folder(out)?;
        let sizes = paths[..FILES.len()].iter().map(|path| path.metadata().at("look at", path));
        let bytes = sizes.map(|size| Ok(size?.len())).sum::<Result<u64, Error>>()?;
        if has_lookup {
            paths.push(out.join(LOOKUP));
        }
        Ok(Made { paths, figures, bytes })
    }
}

fn refuse_foreign(out: &Path) -> Result<(), Error> {
    let paths = FILES.iter().map(|name| out.join(name)).filter(|path| path.exists());
    match paths.into_iter().find(|path| Origin::of_file(path).is_none()) {
        Some(path) => Err(Error::NotOurs { path }),
        None => Ok(()),
    }
}
