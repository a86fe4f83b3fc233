//! How busy a zone is at an hour of a day: `popularity(zone) * rhythm(place, day, hour)`, and how busy a day is.
//!
//! Everything here is smooth from one hour and one day to the next, so that no bucket stands out from its neighbours.

use rand::Rng;

use crate::calendar::Day;
use crate::random::{Purpose, generator};
use crate::zones::{Place, ZONES, popularity};

/// Cells of a day: hour by hour, and in an hour zone by zone.
pub(crate) const CELLS_PER_DAY: usize = 24 * ZONES;

/// Hour and zone of a cell of a day.
pub(crate) fn hour_and_zone(cell: usize) -> (u32, u16) {
    ((cell / ZONES) as u32, (cell % ZONES) as u16 + 1)
}

type Curve = [f64; 24];

#[rustfmt::skip]
mod curves {
    use super::Curve;
    pub const CITY_WORKDAY: Curve = [
        1.8, 1.0, 0.6, 0.4, 0.45, 0.8, 1.9, 3.8, 5.0, 4.8, 4.6, 4.7, 5.0, 5.1, 5.4, 5.4, 5.3, 6.2, 7.0, 6.6, 6.0, 5.9, 5.0, 3.3,
    ];
    pub const CITY_WEEKEND: Curve = [
        4.6, 3.9, 3.0, 2.0, 1.2, 0.7, 0.8, 1.4, 2.3, 3.4, 4.5, 5.2, 5.6, 5.7, 5.7, 5.6, 5.6, 5.9, 6.2, 5.8, 5.2, 5.2, 5.2, 4.8,
    ];
    pub const AIRPORT: Curve = [
        3.5, 2.0, 1.0, 0.6, 0.6, 1.2, 2.2, 3.2, 4.0, 4.3, 4.5, 4.8, 5.2, 5.6, 6.0, 6.3, 6.5, 6.4, 6.2, 6.0, 5.8, 5.6, 5.2, 4.6,
    ];
    pub const OUTER_WORKDAY: Curve = [
        2.2, 1.6, 1.3, 1.2, 1.8, 3.0, 4.2, 5.5, 5.6, 5.0, 4.6, 4.4, 4.4, 4.4, 4.6, 4.8, 4.8, 4.8, 4.6, 4.2, 3.8, 3.4, 3.0, 2.6,
    ];
    pub const OUTER_WEEKEND: Curve = [
        3.6, 3.2, 2.8, 2.3, 2.1, 2.3, 2.8, 3.2, 3.7, 4.1, 4.4, 4.6, 4.7, 4.7, 4.7, 4.8, 4.9, 4.9, 4.8, 4.6, 4.3, 4.1, 4.0, 3.8,
    ];
}

/// Pickups at an hour of a day, relative to the other hours and days.
fn rhythm(place: Place, day: Day, hour: u32) -> f64 {
    let (workday, weekend) = match place {
        Place::Airport => return curves::AIRPORT[hour as usize],
        Place::Manhattan | Place::Unknown => (curves::CITY_WORKDAY, curves::CITY_WEEKEND),
        _ => (curves::OUTER_WORKDAY, curves::OUTER_WEEKEND),
    };
    let leisure = leisure(day, hour);
    workday[hour as usize] * (1.0 - leisure) + weekend[hour as usize] * leisure
}

/// How much an hour belongs to the weekend: 0 for a working hour, 1 for a Saturday.
fn leisure(day: Day, hour: u32) -> f64 {
    const FRIDAY: usize = 4;
    const SUNDAY: usize = 6;
    match (day.weekday(), hour) {
        (FRIDAY, 22..) => 0.8,
        (FRIDAY, 19..22) => 0.5,
        (SUNDAY, 22..) => 0.2,
        (SUNDAY, 19..22) => 0.5,
        (5 | 6, _) => 1.0,
        (_, 0..6) if day.is_holiday() => 0.25,
        _ if day.is_holiday() => 0.6,
        _ => 0.0,
    }
}

/// Trips of a day relative to other days: the weekday's habit, a holiday's dip and the weather's few percent.
pub(crate) fn day_factor(day: Day, seed: u64) -> f64 {
    const BY_WEEKDAY: [f64; 7] = [0.88, 0.98, 1.03, 1.07, 1.06, 1.07, 0.91];
    let weather = generator(seed, Purpose::DayFactors, day.0).random_range(0.96..1.04);
    let holiday = if day.is_holiday() { 0.93 } else { 1.0 };
    BY_WEEKDAY[day.weekday()] * weather * holiday
}

/// Trips to expect in each cell of a day that has `trips` in all.
pub(crate) fn expected_cells(day: Day, trips: u64, popularity: &[f64]) -> Vec<f64> {
    let weight = |cell: usize| {
        let (hour, zone) = hour_and_zone(cell);
        popularity[cell % ZONES] * rhythm(Place::of(zone), day, hour)
    };
    let weights: Vec<f64> = (0..CELLS_PER_DAY).map(weight).collect();
    let per_weight = trips as f64 / weights.iter().sum::<f64>();
    weights.into_iter().map(|weight| weight * per_weight).collect()
}

/// Each zone's share of pickups, in zone order.
pub(crate) fn popularities() -> Vec<f64> {
    (1..=ZONES as u16).map(popularity).collect()
}
