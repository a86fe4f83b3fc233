//! Rows that sit in the wrong file: stragglers (another month of the quarter) and strays (outside it).
//!
//! They are what a re-run of one file trips over: aggregated alone, the February file yields a few buckets of
//! January and of March, and an overwrite of every month it mentions would replace two whole months by them.

use crate::calendar::{MONTH_DAYS, seconds_at};
use crate::plan::DayPlan;

/// The side of a month its stragglers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    First,
    Last,
}

/// Trips of `month` that the file `file` holds (both 0 for January).
pub(crate) struct Straggler {
    pub file: usize,
    pub month: usize,
    pub edge: Edge,
    /// Buckets they fall into; each also holds a trip in the month's own file.
    pub buckets: u64,
    pub trips: u64,
}

/// With [`STRAYS_PER_FILE`], the solution of the published row counts per file and per month.
pub(crate) const STRAGGLERS: [Straggler; 4] = [
    Straggler { file: 0, month: 1, edge: Edge::First, buckets: 3, trips: 3 },
    Straggler { file: 1, month: 0, edge: Edge::Last, buckets: 10, trips: 11 },
    Straggler { file: 1, month: 2, edge: Edge::First, buckets: 2, trips: 2 },
    Straggler { file: 2, month: 1, edge: Edge::Last, buckets: 12, trips: 19 },
];

/// Rows of each file that lie outside the quarter: the lengths of the lists in [`stray_hours`].
pub(crate) const STRAYS_PER_FILE: [u64; 3] = [15, 2, 4];

/// The hours the strays of a file were picked up in, as seconds since 1970: meters with a wrong clock, and midnights just missed.
pub(crate) fn stray_hours(file: usize) -> Vec<i64> {
    let dates: &[(i32, u32, u32, u32, usize)] = match file {
        0 => &[(2002, 12, 31, 22, 2), (2009, 1, 1, 0, 3), (2023, 12, 31, 23, 10)],
        1 => &[(2008, 12, 31, 22, 1), (2009, 1, 1, 23, 1)],
        _ => &[(2002, 12, 31, 23, 1), (2024, 4, 1, 0, 3)],
    };
    let hours = dates.iter().map(|&(y, m, d, h, n)| std::iter::repeat_n(seconds_at(y, m, d, h), n));
    hours.flatten().collect()
}

/// The (hour of day, zone) of each trip of a straggler group: the buckets nearest to the month's edge, busiest first.
pub(crate) fn buckets_for(straggler: &Straggler, month_days: &[DayPlan]) -> Vec<(usize, u32, u16)> {
    let (index, first) = match straggler.edge {
        Edge::First => (0, true),
        Edge::Last => (MONTH_DAYS[straggler.month] - 1, false),
    };
    let mut cells = month_days[index].cells.clone();
    cells.sort_by_key(|cell| {
        let hours_from_edge = if first { cell.hour } else { 23 - cell.hour };
        (hours_from_edge, std::cmp::Reverse(cell.trips), cell.zone)
    });
    let buckets = cells.into_iter().take(straggler.buckets as usize);
    let buckets: Vec<_> = buckets.map(|cell| (index, cell.hour, cell.zone)).collect();
    buckets.iter().cycle().take(straggler.trips as usize).copied().collect()
}
