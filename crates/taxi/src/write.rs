//! From plan to files: the three months side by side, a few days of each in memory at a time.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use indicatif::{ProgressBar, ProgressStyle};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use rayon::prelude::*;

use crate::columns::{batch, schema};
use crate::error::{At, Error};
use crate::figures::Figures;
use crate::found::{FILES, LOOKUP, Origin};
use crate::plan::{DayPlan, Plan};
use crate::rows::rows_of_day;
use crate::stage::Staged;
use crate::trip::City;
use crate::zones::lookup_csv;

/// Whether a run shows how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Progress {
    /// Nothing is shown.
    #[default]
    Silent,
    /// A bar on standard error, if that is a terminal.
    Bar,
}

/// Days of a month whose rows are in memory together.
const DAYS_AT_ONCE: usize = 4;

/// A file has at least this many row groups, none with more rows than the limit.
const LEAST_ROW_GROUPS: u64 = 6;
const MOST_ROWS_IN_GROUP: u64 = 524_288;

/// Writes the three trip files under temporary names.
pub(crate) fn stage_trips(
    out: &Path,
    figures: &Figures,
    origin: Origin,
    progress: Progress,
) -> Result<Vec<Staged>, Error> {
    let city = City::new();
    let plan = Plan::new(figures, origin.seed, &city);
    let run = Run { figures, origin, plan, city, bar: bar(figures, progress) };
    let staged = (0..FILES.len()).into_par_iter().map(|file| run.stage(out, file)).collect();
    run.bar.finish_and_clear();
    staged
}

/// What the files of a run are made of.
struct Run<'a> {
    figures: &'a Figures,
    origin: Origin,
    plan: Plan,
    city: City,
    bar: ProgressBar,
}

impl Run<'_> {
    fn stage(&self, out: &Path, file: usize) -> Result<Staged, Error> {
        let mut staged = Staged::create(out, FILES[file])?;
        let (to, path) = staged.parts();
        self.write(file, to, path)?;
        staged.sync()?;
        Ok(staged)
    }

    fn write(&self, file: usize, to: &mut File, path: &Path) -> Result<(), Error> {
        let properties = properties(self.figures.rows_per_file[file], self.origin);
        let mut writer = ArrowWriter::try_new(to, schema(), Some(properties)).at("write", path)?;
        for days in self.plan.months[file].chunks(DAYS_AT_ONCE) {
            let batches: Result<Vec<_>, _> =
                days.par_iter().map(|day| self.batch_of_day(file, day)).collect();
            for batch in batches.at("make", path)? {
                writer.write(&batch).at("write", path)?;
                self.bar.inc(batch.num_rows() as u64);
            }
        }
        writer.close().at("write", path)?;
        Ok(())
    }

    fn batch_of_day(&self, file: usize, day: &DayPlan) -> Result<RecordBatch, ArrowError> {
        batch(&rows_of_day(day, &self.plan.guests[file], self.plan.seed, &self.city))
    }
}

/// Writes the zone lookup under a temporary name.
pub(crate) fn stage_lookup(out: &Path) -> Result<Staged, Error> {
    let mut staged = Staged::create(out, LOOKUP)?;
    let (to, path) = staged.parts();
    to.write_all(lookup_csv().as_bytes()).at("write", path)?;
    staged.sync()?;
    Ok(staged)
}

fn bar(figures: &Figures, progress: Progress) -> ProgressBar {
    if progress == Progress::Silent {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template("{msg} [{bar:40}] {human_pos}/{human_len} rows ({eta})");
    let bar = ProgressBar::new(figures.rows_per_file.iter().sum());
    let bar = bar.with_message("making the taxi quarter");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// No statistics, like the published files: nothing but the rows tells a reader which day a row group holds.
fn properties(rows: u64, origin: Origin) -> WriterProperties {
    let rows_in_group = rows.div_ceil(LEAST_ROW_GROUPS).clamp(1, MOST_ROWS_IN_GROUP);
    WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::None)
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(rows_in_group as usize))
        .set_key_value_metadata(Some(origin.metadata()))
        .build()
}
