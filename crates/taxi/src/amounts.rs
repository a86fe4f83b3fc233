//! What a trip costs, and how a day's trips are made to earn what the plan says.
//!
//! Amounts are whole cents; `total` is the sum of its parts in every row. A day's sum is closed in two steps:
//! one factor for all its meters brings the sum near, and the rest is spread over the tips, a few cents each.

use rand::Rng;
use rand::rngs::SmallRng;

use crate::calendar::{DAY_SECONDS, Day, HOUR_SECONDS, QUARTER_START};
use crate::trip::{Payment, Trip};
use crate::zones::{LAGUARDIA, Place};

/// How the fare comes about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Meter {
    /// Units of a fifth of a mile or of a minute in slow traffic, on top of the first charge.
    Units(f64),
    /// Cents agreed or laid down.
    Flat(i32),
}

/// What comes on top of fare and tip, in cents.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Charges {
    pub extra: i32,
    pub mta_tax: i32,
    pub tolls: i32,
    pub improvement: i32,
    pub congestion: i32,
    pub airport: i32,
}

/// A row's amounts in cents, all negative in a reversal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amounts {
    pub fare: i32,
    pub tip: i32,
    pub charges: Charges,
}

const FIRST_CHARGE: i32 = 300;
const NEWARK_SURCHARGE: i32 = 2_000;
const UNIT: f64 = 70.0;
const KENNEDY_FLAT: i32 = 7_000;

impl Charges {
    fn sum(&self) -> i32 {
        let Self { extra, mta_tax, tolls, improvement, congestion, airport } = self;
        extra + mta_tax + tolls + improvement + congestion + airport
    }

    fn negative(&self) -> Self {
        Self {
            extra: -self.extra,
            mta_tax: -self.mta_tax,
            tolls: -self.tolls,
            improvement: -self.improvement,
            congestion: -self.congestion,
            airport: -self.airport,
        }
    }
}

impl Amounts {
    /// What the passenger pays.
    pub fn total(&self) -> i32 {
        self.fare + self.tip + self.charges.sum()
    }
}

impl Trip {
    /// The row's amounts when the day's meters run by `factor`.
    pub fn amounts(&self, factor: f64) -> Amounts {
        let newark = if self.rate_code == 3 { NEWARK_SURCHARGE } else { 0 };
        let fare = self.fare_correction
            + match self.meter {
                Meter::Units(units) => {
                    FIRST_CHARGE + newark + (UNIT * (units * factor).round()) as i32
                }
                Meter::Flat(cents) => cents,
            };
        let tip = ((fare + self.charges.sum()) * self.tip_permille + 500) / 1_000;
        let tip = tip + self.tip_correction;
        let charges = self.charges;
        if self.is_reversal {
            return Amounts { fare: -fare, tip: -tip, charges: charges.negative() };
        }
        Amounts { fare, tip, charges }
    }
}

pub(crate) fn meter_for(rate_code: i64, miles: f64, minutes: f64, random: &mut SmallRng) -> Meter {
    match rate_code {
        2 => Meter::Flat(KENNEDY_FLAT),
        5 => Meter::Flat(1_000 + 500 * ((miles * 0.8) as i32 + random.random_range(0..4))),
        _ => Meter::Units(miles * 3.5 + minutes * 0.59),
    }
}

pub(crate) fn charges_for(
    from: u16,
    to: u16,
    pickup: i64,
    rate_code: i64,
    payment: Payment,
    random: &mut SmallRng,
) -> Charges {
    let (start, end) = (Place::of(from), Place::of(to));
    let in_core = start.is_congested() || end.is_congested();
    let recorded = payment != Payment::Unrecorded;
    Charges {
        extra: extra_at(pickup, from, rate_code),
        mta_tax: if end == Place::Newark || end == Place::Outside { 0 } else { 50 },
        tolls: draw_tolls(start, end, random),
        improvement: 100,
        congestion: if recorded && in_core { 250 } else { 0 },
        airport: if recorded && start == Place::Airport { 175 } else { 0 },
    }
}

/// Rush hours on working days, nights, and the extra of pickups at LaGuardia.
fn extra_at(pickup: i64, from: u16, rate_code: i64) -> i32 {
    let since_start = pickup - QUARTER_START;
    let hour = since_start.rem_euclid(DAY_SECONDS) / HOUR_SECONDS;
    let day = Day(since_start.div_euclid(DAY_SECONDS).rem_euclid(7) as usize);
    let by_hour = match hour {
        16..20 if day.weekday() < 5 => [250, 500][usize::from(rate_code == 2)],
        20.. | 0..6 if rate_code != 2 => 100,
        _ => 0,
    };
    by_hour + if from == LAGUARDIA { 500 } else { 0 }
}

fn draw_tolls(start: Place, end: Place, random: &mut SmallRng) -> i32 {
    const TUNNEL: i32 = 694;
    const HUDSON: i32 = 1_606;
    let (cents, chance) = match (start, end) {
        (Place::Newark, _) | (_, Place::Newark) => (HUDSON, 0.85),
        (Place::Airport, Place::Manhattan) | (Place::Manhattan, Place::Airport) => (TUNNEL, 0.48),
        (a, b) if a != b => (TUNNEL, 0.12),
        _ => (TUNNEL, 0.001),
    };
    if random.random_bool(chance) { cents } else { 0 }
}

/// Makes the trips' totals add up to `target_cents`; returns the factor the day's meters run by.
pub(crate) fn close_sum(trips: &mut [Trip], target_cents: i64) -> f64 {
    let factor = fit_factor(trips, target_cents);
    let mut rest = target_cents - sum(trips, factor);
    while rest != 0 {
        let before = rest;
        rest = spread_over_tips(trips, factor, rest);
        if rest == before {
            put_on_a_fare(trips, factor, rest);
            break;
        }
    }
    debug_assert_eq!(sum(trips, factor), target_cents);
    factor
}

fn sum(trips: &[Trip], factor: f64) -> i64 {
    trips.iter().map(|trip| i64::from(trip.amounts(factor).total())).sum()
}

/// The factor at which the sum comes nearest, up to the meters' steps.
fn fit_factor(trips: &[Trip], target_cents: i64) -> f64 {
    const STEPS: usize = 4;
    let unmetered = sum(trips, 0.0);
    let wanted = (target_cents - unmetered) as f64;
    let mut factor = 1.0;
    for _ in 0..STEPS {
        let metered = (sum(trips, factor) - unmetered) as f64;
        if metered <= 0.0 || wanted <= 0.0 {
            break;
        }
        factor *= wanted / metered;
    }
    factor
}

/// Spreads `rest` evenly over the tips and returns what they could not take: a tip stays one.
fn spread_over_tips(trips: &mut [Trip], factor: f64, rest: i64) -> i64 {
    let can_take =
        |trip: &Trip| trip.tip_permille > 0 && (rest > 0 || trip.amounts(factor).tip > 1);
    let takers = trips.iter().filter(|trip| can_take(trip)).count() as i64;
    let mut left = rest.abs();
    let each = (left + takers - 1) / takers.max(1);
    for trip in trips.iter_mut().filter(|trip| can_take(trip)) {
        let most = if rest > 0 { each } else { each.min(i64::from(trip.amounts(factor).tip) - 1) };
        let cents = most.min(left);
        trip.tip_correction += (cents * rest.signum()) as i32;
        left -= cents;
    }
    left * rest.signum()
}

/// The last resort of a day without tips: the dearest trip closes the sum by its fare, and its tip stays what it is.
fn put_on_a_fare(trips: &mut [Trip], factor: f64, rest: i64) {
    let forward = trips.iter_mut().filter(|trip| !trip.is_reversal);
    if let Some(trip) = forward.max_by_key(|trip| trip.amounts(factor).fare) {
        trip.tip_correction = trip.amounts(factor).tip;
        trip.tip_permille = 0;
        trip.fare_correction = rest as i32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, generator};
    use crate::trip::City;

    fn trips(count: usize) -> Vec<Trip> {
        let mut random = generator(1, Purpose::Rows, 0);
        let city = City::new();
        (0..count).map(|i| city.draw(QUARTER_START + i as i64, 161, &mut random)).collect()
    }

    #[test]
    fn a_sum_is_closed_to_the_cent() {
        for target_cents in [2_000_000, 2_345_678, 2_999_999] {
            let mut trips = trips(1_000);
            let factor = close_sum(&mut trips, target_cents);
            assert_eq!(sum(&trips, factor), target_cents);
            assert!(trips.iter().all(|trip| trip.tip_correction.abs() < 20));
        }
    }

    #[test]
    fn a_sum_out_of_reach_of_the_tips_is_closed_too() {
        for (count, target_cents) in [(1, 1), (1, 99_999), (3, -500), (40, 7)] {
            let mut trips = trips(count);
            let factor = close_sum(&mut trips, target_cents);
            assert_eq!(sum(&trips, factor), target_cents, "{count} trips");
        }
    }
}
