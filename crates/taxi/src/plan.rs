//! From figures to a plan: how many trips each (hour, zone) cell of each day gets, and what each day earns.
//!
//! All of it is whole numbers that add up to the figures, month by month.

use rand::Rng;
use rand_distr::{Distribution, Exp1, Poisson};

use crate::apportion::apportion;
use crate::calendar::{Day, JANUARY_15};
use crate::figures::{Figures, MonthFigures};
use crate::guests::{Guest, draw_guests};
use crate::random::{Purpose, generator};
use crate::shape::{day_factor, expected_cells, hour_and_zone, popularities};
use crate::stragglers::STRAGGLERS;
use crate::trip::City;
use crate::zones::Place;

/// A bucket of the day: every cell of a plan has at least one trip.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell {
    pub hour: u32,
    pub zone: u16,
    pub trips: u64,
}

/// A day's trips in its own month's file.
#[derive(Debug, Clone)]
pub(crate) struct DayPlan {
    pub day: Day,
    pub cells: Vec<Cell>,
    pub trips: u64,
    pub revenue_cents: i64,
}

/// What each file is to hold.
pub(crate) struct Plan {
    pub seed: u64,
    pub months: [Vec<DayPlan>; 3],
    /// By file: rows that do not belong to the file's month.
    pub guests: [Vec<Guest>; 3],
}

impl Plan {
    pub fn new(figures: &Figures, seed: u64, city: &City) -> Self {
        let popularity = popularities();
        let mut months = [0, 1, 2].map(|month| plan_month(month, figures, seed, &popularity));
        let guests = draw_guests(&months, seed, city);
        for (month, days) in months.iter_mut().enumerate() {
            let elsewhere: i64 = guests.iter().flatten().map(|guest| guest.revenue_in(month)).sum();
            share_revenue(days, figures.months[month].revenue_cents - elsewhere);
        }
        Self { seed, months, guests }
    }
}

fn plan_month(month: usize, figures: &Figures, seed: u64, popularity: &[f64]) -> Vec<DayPlan> {
    let trips = share_trips(month, figures, seed);
    let days: Vec<Day> = Day::of_month(month).collect();
    let expected: Vec<Vec<f64>> = days
        .iter()
        .zip(&trips)
        .map(|(day, trips)| expected_cells(*day, *trips, popularity))
        .collect();
    let buckets = share_buckets(&figures.months[month], &trips, &expected);
    let plan_day = |index: usize| DayPlan {
        day: days[index],
        cells: plan_cells(days[index], trips[index], buckets[index], &expected[index], seed),
        trips: trips[index],
        revenue_cents: 0,
    };
    (0..days.len()).map(plan_day).collect()
}

/// The month's trips by day, without those that sit in other files; 2024-01-15 gets its published number.
fn share_trips(month: usize, figures: &Figures, seed: u64) -> Vec<u64> {
    let away: u64 = STRAGGLERS.iter().filter(|s| s.month == month).map(|s| s.trips).sum();
    let own = figures.months[month].trips - away;
    let mut factors: Vec<f64> = Day::of_month(month).map(|day| day_factor(day, seed)).collect();
    if month != 0 {
        return apportion(own, &factors);
    }
    factors[JANUARY_15] = 0.0;
    let mut trips = apportion(own - figures.trips_on_2024_01_15, &factors);
    trips[JANUARY_15] = figures.trips_on_2024_01_15;
    trips
}

/// The month's buckets by day, in proportion to the cells that chance would fill; a day has no more buckets than trips.
fn share_buckets(month: &MonthFigures, trips: &[u64], expected: &[Vec<f64>]) -> Vec<u64> {
    let filled = |cells: &Vec<f64>| cells.iter().map(|trips| -(-trips).exp_m1()).sum();
    let weights: Vec<f64> = expected.iter().map(filled).collect();
    let mut buckets = apportion(month.buckets, &weights);
    let mut homeless = 0;
    for (buckets, trips) in buckets.iter_mut().zip(trips) {
        homeless += buckets.saturating_sub(*trips);
        *buckets = (*buckets).min(*trips);
    }
    for (buckets, trips) in buckets.iter_mut().zip(trips) {
        let housed = homeless.min(trips - *buckets);
        *buckets += housed;
        homeless -= housed;
    }
    buckets
}

/// Picks the day's cells and shares its trips among them, at least one each.
fn plan_cells(day: Day, trips: u64, buckets: u64, expected: &[f64], seed: u64) -> Vec<Cell> {
    let mut random = generator(seed, Purpose::Cells, day.0);
    let filled = first_cells_to_fill(buckets as usize, expected, &mut random);
    let more: Vec<f64> =
        filled.iter().map(|cell| draw_more(expected[*cell], &mut random)).collect();
    let more = apportion(trips - buckets, &more);
    let cells = filled.into_iter().zip(more).map(|(cell, more)| {
        let (hour, zone) = hour_and_zone(cell);
        Cell { hour, zone, trips: 1 + more }
    });
    cells.collect()
}

/// The cells whose first trip comes soonest when trips arrive at random at the expected rates, in order of hour and zone.
fn first_cells_to_fill(buckets: usize, expected: &[f64], random: &mut impl Rng) -> Vec<usize> {
    let arrival = |rate: &f64| {
        let waiting: f64 = Exp1.sample(random);
        waiting / rate
    };
    let arrivals: Vec<f64> = expected.iter().map(arrival).collect();
    let mut cells: Vec<usize> = (0..expected.len()).collect();
    cells.sort_by(|a, b| arrivals[*a].total_cmp(&arrivals[*b]).then(a.cmp(b)));
    cells.truncate(buckets);
    cells.sort_unstable();
    cells
}

/// However chance falls, a bucket stays within this many times what is expected of it (and two trips).
const MOST_TIMES_EXPECTED: f64 = 2.5;

/// Trips beyond the first in a cell that has one, when `expected` are expected without that knowledge.
fn draw_more(expected: f64, random: &mut impl Rng) -> f64 {
    let mean = expected / -(-expected).exp_m1() - 1.0;
    let drawn = Poisson::new(mean).map_or(0.0, |poisson| poisson.sample(random));
    drawn.min(MOST_TIMES_EXPECTED * mean + 2.0)
}

/// Shares a month's revenue among its days, by what trips from their zones usually cost.
fn share_revenue(days: &mut [DayPlan], revenue_cents: i64) {
    let weights: Vec<f64> = days.iter().map(usual_revenue).collect();
    let shares = apportion(revenue_cents.unsigned_abs(), &weights);
    for (day, share) in days.iter_mut().zip(shares) {
        day.revenue_cents = share as i64;
    }
}

/// What a day would earn at usual fares, in dollars (only the proportions between days matter).
fn usual_revenue(plan: &DayPlan) -> f64 {
    const RUSH_HOUR_EXTRA: f64 = 0.9;
    let rush = if plan.day.weekday() < 5 { RUSH_HOUR_EXTRA } else { 0.0 };
    let usual = |cell: &Cell| usual_total(Place::of(cell.zone), cell.zone) + rush;
    plan.cells.iter().map(|cell| cell.trips as f64 * usual(cell)).sum()
}

/// The mean total of a trip by where it starts, in dollars.
fn usual_total(place: Place, zone: u16) -> f64 {
    match place {
        Place::Airport if zone == crate::zones::KENNEDY => 77.0,
        Place::Airport => 66.0,
        Place::Manhattan => 22.0,
        Place::Newark => 100.0,
        _ => 34.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_add_up_at_every_scale_and_seed() {
        let city = City::new();
        for (scale, seed) in [(0.001, 1), (0.001, 2), (0.001, 3), (0.003, 4), (0.05, 5)] {
            let figures = Figures::at_scale(scale).unwrap();
            let plan = Plan::new(&figures, seed, &city);
            for (month, days) in plan.months.iter().enumerate() {
                let guests = plan.guests.iter().flatten();
                let away: Vec<_> = guests.filter(|guest| guest.month == Some(month)).collect();
                let trips: u64 = days.iter().map(|day| day.trips).sum();
                let buckets: usize = days.iter().map(|day| day.cells.len()).sum();
                let wanted = figures.months[month];
                assert_eq!(trips + away.len() as u64, wanted.trips);
                assert_eq!(buckets as u64, wanted.buckets);
                for day in days {
                    assert_eq!(day.cells.iter().map(|cell| cell.trips).sum::<u64>(), day.trips);
                }
            }
        }
    }

    #[test]
    fn a_day_has_no_more_buckets_than_trips() {
        let month = MonthFigures { buckets: 9, trips: 12, revenue_cents: 0 };
        let buckets = share_buckets(&month, &[2, 10], &[vec![5.0; 5], vec![5.0; 5]]);
        assert_eq!(buckets, [2, 7]);
    }

    #[test]
    fn no_bucket_stands_out_from_its_neighbours() {
        const LEAST_TRIPS: u64 = 20;
        let plan = Plan::new(&Figures::at_scale(1.0).unwrap(), crate::SEED, &City::new());
        let mut trips = vec![[0; crate::calendar::HOURS]; crate::zones::ZONES + 1];
        for day in plan.months.iter().flatten() {
            for cell in &day.cells {
                trips[usize::from(cell.zone)][day.day.0 * 24 + cell.hour as usize] = cell.trips;
            }
        }
        for (zone, hours) in trips.iter().enumerate() {
            for (hour, trips) in hours.iter().enumerate().filter(|(_, n)| **n >= LEAST_TRIPS) {
                let near = [-24, -2, -1, 1, 2, 24].map(|step| hour.checked_add_signed(step));
                let near: Vec<u64> =
                    near.iter().flatten().filter_map(|hour| hours.get(*hour).copied()).collect();
                let times = *trips * near.len() as u64;
                assert!(times <= 5 * near.iter().sum::<u64>(), "zone {zone}, hour {hour}: {trips}");
            }
        }
    }
}
