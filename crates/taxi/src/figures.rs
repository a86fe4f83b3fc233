//! The figures a quarter must show: the published ones at scale 1, and the same shape below it.

use std::ops::RangeInclusive;

use crate::error::Error;
use crate::stragglers::{STRAGGLERS, STRAYS_PER_FILE};

/// The scales a quarter can be made at; 1 is the published size.
pub const SCALES: RangeInclusive<f64> = 0.001..=1.0;

/// Everything that is known about a quarter before it is made, and measured again afterwards.
///
/// Months are January, February and March 2024, in this order, wherever there are three of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// Rows in each of the three trip files.
    pub rows_per_file: [u64; 3],
    /// Rows inside the window 2024-01-01 <= pickup < 2024-04-01.
    pub kept: u64,
    /// Rows outside the window, in all files together.
    pub strays: u64,
    /// Sum of `total_amount` over the kept rows, in cents; reversals count as the negative amounts they are.
    pub revenue_cents: i64,
    /// Distinct (pickup zone, pickup hour) pairs among the kept rows.
    pub buckets: u64,
    /// The kept rows by month of pickup, whichever file holds them.
    pub months: [MonthFigures; 3],
    /// The February **file** alone, by month of pickup: it holds a few rows of the months beside it.
    pub february_file: [SliceFigures; 3],
    /// Calendar days with at least one kept row.
    pub days: u64,
    /// Kept rows picked up on 2024-01-15.
    pub trips_on_2024_01_15: u64,
}

/// One month of kept rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonthFigures {
    /// Distinct (pickup zone, pickup hour) pairs.
    pub buckets: u64,
    /// Rows.
    pub trips: u64,
    /// Sum of `total_amount`, in cents.
    pub revenue_cents: i64,
}

/// The part of one file that belongs to one month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceFigures {
    /// Distinct (pickup zone, pickup hour) pairs.
    pub buckets: u64,
    /// Rows.
    pub trips: u64,
}

/// The published figures by month.
const PUBLISHED: [MonthFigures; 3] = [
    MonthFigures { buckets: 77_530, trips: 2_964_617, revenue_cents: 7_945_619_867 },
    MonthFigures { buckets: 74_376, trips: 3_007_533, revenue_cents: 8_007_379_721 },
    MonthFigures { buckets: 89_011, trips: 3_582_607, revenue_cents: 9_716_237_726 },
];
const PUBLISHED_TRIPS_ON_2024_01_15: u64 = 77_033;

/// How thinning empties buckets, fitted to the generator's own shape within two percent (see `buckets_at`).
const BUCKET_BEND: f64 = 1.62;
const BUCKET_ONSET: f64 = 1.22;

impl Figures {
    /// The figures of a quarter at `scale`: the published ones at 1.
    ///
    /// Trips and revenue shrink in proportion, buckets more slowly (a busy bucket that loses nine trips of ten is still a bucket).
    /// What makes the quarter a test stays as it is at every scale: 91 days, the strays, and the rows of neighbouring months in each file.
    ///
    /// # Errors
    /// [`Error::Scale`] when `scale` is outside [`SCALES`].
    pub fn at_scale(scale: f64) -> Result<Self, Error> {
        if !SCALES.contains(&scale) {
            return Err(Error::Scale { scale });
        }
        let months = PUBLISHED.map(|published| published.at(scale));
        Ok(Self {
            rows_per_file: [0, 1, 2].map(|file| rows_in_file(file, &months)),
            kept: months.iter().map(|month| month.trips).sum(),
            strays: STRAYS_PER_FILE.iter().sum(),
            revenue_cents: months.iter().map(|month| month.revenue_cents).sum(),
            buckets: months.iter().map(|month| month.buckets).sum(),
            months,
            february_file: [0, 1, 2].map(|month| slice_of_february_file(month, &months)),
            days: 91,
            trips_on_2024_01_15: scaled(PUBLISHED_TRIPS_ON_2024_01_15, scale),
        })
    }
}

impl MonthFigures {
    fn at(self, scale: f64) -> Self {
        Self {
            buckets: buckets_at(scale, self),
            trips: scaled(self.trips, scale),
            revenue_cents: (self.revenue_cents as f64 * scale).round() as i64,
        }
    }
}

fn scaled(count: u64, scale: f64) -> u64 {
    (count as f64 * scale).round() as u64
}

/// Buckets left when only a share of the trips is kept: every trip its own bucket when there are few,
/// the published number when all are there, and in between the curve that thinning a heavy tail follows.
fn buckets_at(scale: f64, full: MonthFigures) -> u64 {
    let crowding = full.trips as f64 / full.buckets as f64;
    let shared = 1.0 + (crowding.powf(BUCKET_BEND) - 1.0) * scale.powf(BUCKET_ONSET);
    (full.trips as f64 * scale / shared.powf(1.0 / BUCKET_BEND)).round() as u64
}

fn rows_in_file(file: usize, months: &[MonthFigures; 3]) -> u64 {
    let away: u64 = STRAGGLERS.iter().filter(|s| s.month == file).map(|s| s.trips).sum();
    let guests: u64 = STRAGGLERS.iter().filter(|s| s.file == file).map(|s| s.trips).sum();
    months[file].trips - away + guests + STRAYS_PER_FILE[file]
}

fn slice_of_february_file(month: usize, months: &[MonthFigures; 3]) -> SliceFigures {
    const FEBRUARY: usize = 1;
    if month == FEBRUARY {
        let away: u64 = STRAGGLERS.iter().filter(|s| s.month == month).map(|s| s.trips).sum();
        let own = months[month];
        return SliceFigures { buckets: own.buckets, trips: own.trips - away };
    }
    let guests = STRAGGLERS.iter().filter(|s| s.file == FEBRUARY && s.month == month);
    guests.fold(SliceFigures { buckets: 0, trips: 0 }, |sum, s| SliceFigures {
        buckets: sum.buckets + s.buckets,
        trips: sum.trips + s.trips,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_one_is_the_published_table() {
        let figures = Figures::at_scale(1.0).unwrap();
        assert_eq!(figures.rows_per_file, [2_964_624, 3_007_526, 3_582_628]);
        assert_eq!((figures.kept, figures.strays), (9_554_757, 21));
        assert_eq!(figures.revenue_cents, 25_669_237_314);
        assert_eq!(figures.buckets, 240_917);
        assert_eq!(figures.months, PUBLISHED);
        assert_eq!(figures.trips_on_2024_01_15, 77_033);
        let february = figures.february_file.map(|slice| (slice.buckets, slice.trips));
        assert_eq!(february, [(10, 11), (74_376, 3_007_511), (2, 2)]);
    }

    #[test]
    fn the_trap_is_the_same_at_every_scale() {
        for scale in [0.001, 0.02, 0.3] {
            let figures = Figures::at_scale(scale).unwrap();
            let [january, february, march] = figures.february_file;
            assert_eq!((january.buckets, january.trips), (10, 11));
            assert_eq!((march.buckets, march.trips), (2, 2));
            assert_eq!(february.buckets, figures.months[1].buckets);
            assert_eq!(figures.strays, 21);
            assert_eq!(figures.rows_per_file.iter().sum::<u64>(), figures.kept + figures.strays);
            assert!(figures.months.iter().all(|month| month.buckets < month.trips));
        }
    }

    #[test]
    fn a_scale_out_of_range_names_the_range() {
        for scale in [0.0, -1.0, 1.5, f64::NAN] {
            let message = Figures::at_scale(scale).unwrap_err().to_string();
            assert!(message.contains("from 0.001 to 1"), "{message}");
        }
    }
}
