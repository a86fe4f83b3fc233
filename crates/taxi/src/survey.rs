//! One pass over the trip files: everything the figures and the description are computed from.

use std::fs::File;
use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rayon::prelude::*;

use crate::calendar::{DAYS, HOURS, JANUARY_15, MONTH_DAYS, month_and_hour};
use crate::error::{At, Error};
use crate::figures::{Figures, MonthFigures, SliceFigures};
use crate::found::FILES;
use crate::zones::ZONES;

/// What one file holds.
pub(crate) struct FileSurvey {
    pub rows: u64,
    pub strays: u64,
    /// Kept trips by hour of the quarter, and in an hour by zone (0 for none).
    pub trips: Vec<u32>,
    /// Kept revenue by month.
    pub revenue_cents: [i64; 3],
    /// Every row's total.
    pub totals_cents: Vec<i32>,
    /// Rows without a passenger count.
    pub unrecorded: u64,
}

const SLOTS: usize = ZONES + 1;

const PICKUP: &str = "tpep_pickup_datetime";
const ZONE: &str = "PULocationID";
const TOTAL: &str = "total_amount";
const PASSENGERS: &str = "passenger_count";

/// Measures the figures of the quarter in a folder from its trip files, be they synthetic or real.
///
/// # Errors
/// [`Error::Missing`], or why a file could not be read.
pub fn measure(dir: &Path) -> Result<Figures, Error> {
    Ok(figures(&survey(dir)?))
}

/// Reads the three trip files, side by side.
pub(crate) fn survey(dir: &Path) -> Result<Vec<FileSurvey>, Error> {
    let missing: Vec<_> = FILES.into_iter().filter(|name| !dir.join(name).is_file()).collect();
    if !missing.is_empty() {
        return Err(Error::Missing { dir: dir.to_owned(), missing });
    }
    FILES.par_iter().map(|name| survey_file(&dir.join(name))).collect()
}

fn survey_file(path: &Path) -> Result<FileSurvey, Error> {
    let file = File::open(path).at("open", path)?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).at("read", path)?;
    let columns = [PICKUP, ZONE, TOTAL, PASSENGERS];
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns);
    let reader = builder.with_projection(mask).with_batch_size(65_536).build().at("read", path)?;
    let mut survey = FileSurvey::empty();
    for batch in reader {
        survey.add(&batch.at("read", path)?, path)?;
    }
    Ok(survey)
}

impl FileSurvey {
    fn empty() -> Self {
        Self {
            rows: 0,
            strays: 0,
            trips: vec![0; HOURS * SLOTS],
            revenue_cents: [0; 3],
            totals_cents: Vec::new(),
            unrecorded: 0,
        }
    }

    fn add(&mut self, batch: &RecordBatch, path: &Path) -> Result<(), Error> {
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        let pickups = column(batch, PICKUP, &time, "a time", path)?;
        let zones = column(batch, ZONE, &DataType::Int64, "a number", path)?;
        let totals = column(batch, TOTAL, &DataType::Float64, "an amount", path)?;
        let passengers = column(batch, PASSENGERS, &DataType::Int64, "a number", path)?;
        let pickups = pickups.as_primitive::<TimestampMicrosecondType>();
        let zones = zones.as_primitive::<Int64Type>();
        let totals = totals.as_primitive::<Float64Type>();
        self.rows += batch.num_rows() as u64;
        self.unrecorded += passengers.null_count() as u64;
        for row in 0..batch.num_rows() {
            let micros = pickups.is_valid(row).then(|| pickups.value(row));
            let cents = if totals.is_valid(row) { cents(totals.value(row)) } else { 0 };
            let zone = if zones.is_valid(row) { zones.value(row) } else { 0 };
            self.add_row(micros, zone, cents);
        }
        Ok(())
    }

    fn add_row(&mut self, pickup_micros: Option<i64>, zone: i64, cents: i64) {
        self.totals_cents.push(i32::try_from(cents).unwrap_or(i32::MAX));
        let seconds = pickup_micros.map(|micros| micros.div_euclid(1_000_000));
        match seconds.and_then(month_and_hour) {
            Some((month, hour)) => {
                let zone = usize::try_from(zone).unwrap_or(0);
                let zone = if zone < SLOTS { zone } else { 0 };
                self.trips[hour * SLOTS + zone] += 1;
                self.revenue_cents[month] += cents;
            }
            None => self.strays += 1,
        }
    }
}

fn cents(dollars: f64) -> i64 {
    (dollars * 100.0).round() as i64
}

fn column(
    batch: &RecordBatch,
    name: &'static str,
    as_type: &DataType,
    wanted: &'static str,
    path: &Path,
) -> Result<arrow::array::ArrayRef, Error> {
    let unfit = || Error::Column { path: path.to_owned(), column: name, wanted };
    let found = batch.column_by_name(name).ok_or_else(unfit)?;
    cast(found, as_type).map_err(|_| unfit())
}

/// Kept trips of several files by hour and zone (0 for none).
pub(crate) struct Buckets(pub Vec<u32>);

impl Buckets {
    pub fn of(files: &[FileSurvey]) -> Self {
        let mut sum = vec![0; HOURS * SLOTS];
        for file in files {
            sum.iter_mut().zip(&file.trips).for_each(|(sum, trips)| *sum += trips);
        }
        Self(sum)
    }

    pub fn trips(&self, hour: usize, zone: usize) -> u32 {
        self.0[hour * SLOTS + zone]
    }

    pub fn trips_of_hour(&self, hour: usize) -> u64 {
        self.0[hour * SLOTS..(hour + 1) * SLOTS].iter().map(|trips| u64::from(*trips)).sum()
    }

    pub fn trips_of_day(&self, day: usize) -> u64 {
        (day * 24..(day + 1) * 24).map(|hour| self.trips_of_hour(hour)).sum()
    }

    pub fn trips_of_zone(&self, zone: usize) -> u64 {
        (0..HOURS).map(|hour| u64::from(self.trips(hour, zone))).sum()
    }
}

fn slice(trips: &[u32], month: usize) -> SliceFigures {
    let first: usize = MONTH_DAYS[..month].iter().sum::<usize>() * 24;
    let hours = first..first + MONTH_DAYS[month] * 24;
    let cells = &trips[hours.start * SLOTS..hours.end * SLOTS];
    SliceFigures {
        buckets: cells.iter().filter(|trips| **trips > 0).count() as u64,
        trips: cells.iter().map(|trips| u64::from(*trips)).sum(),
    }
}

fn figures(files: &[FileSurvey]) -> Figures {
    const FEBRUARY: usize = 1;
    let buckets = Buckets::of(files);
    let months = [0, 1, 2].map(|month| {
        let SliceFigures { buckets, trips } = slice(&buckets.0, month);
        let revenue_cents = files.iter().map(|file| file.revenue_cents[month]).sum();
        MonthFigures { buckets, trips, revenue_cents }
    });
    Figures {
        rows_per_file: [0, 1, 2].map(|file| files[file].rows),
        kept: months.iter().map(|month| month.trips).sum(),
        strays: files.iter().map(|file| file.strays).sum(),
        revenue_cents: months.iter().map(|month| month.revenue_cents).sum(),
        buckets: months.iter().map(|month| month.buckets).sum(),
        months,
        february_file: [0, 1, 2].map(|month| slice(&files[FEBRUARY].trips, month)),
        days: (0..DAYS).filter(|day| buckets.trips_of_day(*day) > 0).count() as u64,
        trips_on_2024_01_15: buckets.trips_of_day(JANUARY_15),
    }
}
