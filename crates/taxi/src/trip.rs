//! One trip: where to, how far, how long, who pays what.

use rand::Rng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, StandardNormal};

use crate::amounts::{Charges, Meter, charges_for, meter_for};
use crate::calendar::{DAY_SECONDS, HOUR_SECONDS, QUARTER_START};
use crate::zones::{KENNEDY, Place, ZONES, popularity};

/// A row before its sums are closed.
#[derive(Debug, Clone)]
pub(crate) struct Trip {
    /// Seconds since 1970.
    pub pickup: i64,
    pub duration_seconds: i64,
    pub vendor: i32,
    pub passengers: i64,
    pub hundredths_of_a_mile: u32,
    pub rate_code: i64,
    pub was_stored: bool,
    pub from: u16,
    pub to: u16,
    pub payment: Payment,
    pub meter: Meter,
    pub charges: Charges,
    pub tip_permille: i32,
    /// Cents added to the tip to close a day's sum.
    pub tip_correction: i32,
    /// Cents added to the fare where no tip could close a day's sum.
    pub fare_correction: i32,
    /// The negative copy of another trip.
    pub is_reversal: bool,
    /// Rows stand in their file by this, in seconds: the pickup, give or take some minutes.
    pub file_order: i64,
}

/// How a trip was paid, with the numbers of the trip files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payment {
    /// Booked by an app: several columns are left empty.
    Unrecorded = 0,
    Card = 1,
    Cash = 2,
    NoCharge = 3,
    Dispute = 4,
}

/// Draws trips: for every place trips start from, the zones they go to.
pub(crate) struct City {
    /// By place, in the order of [`PLACES`]: running sums over the zones.
    destinations: Vec<Vec<f64>>,
}

const PLACES: [Place; 9] = [
    Place::Manhattan,
    Place::Airport,
    Place::Queens,
    Place::Brooklyn,
    Place::Bronx,
    Place::StatenIsland,
    Place::Newark,
    Place::Unknown,
    Place::Outside,
];

impl City {
    pub fn new() -> Self {
        Self { destinations: PLACES.iter().map(|from| running_sums(*from)).collect() }
    }

    /// A trip from a zone at a moment (seconds since 1970).
    pub fn draw(&self, pickup: i64, from: u16, random: &mut SmallRng) -> Trip {
        let to = self.draw_destination(from, random);
        let payment = draw_payment(random);
        let miles = draw_miles(from, to, random);
        let minutes = draw_minutes(miles, pickup, random);
        let rate_code = draw_rate_code(from, to, random);
        let charges = charges_for(from, to, pickup, rate_code, payment, random);
        Trip {
            pickup,
            duration_seconds: (minutes * 60.0) as i64,
            vendor: if random.random_bool(0.755) { 2 } else { 1 },
            passengers: draw_passengers(random),
            hundredths_of_a_mile: (miles * 100.0) as u32,
            rate_code,
            was_stored: random.random_bool(0.004),
            from,
            to,
            payment,
            meter: meter_for(rate_code, miles, minutes, random),
            charges,
            tip_permille: draw_tip_permille(payment, random),
            tip_correction: 0,
            fare_correction: 0,
            is_reversal: false,
            file_order: pickup + random.random_range(-420..420),
        }
    }

    fn draw_destination(&self, from: u16, random: &mut SmallRng) -> u16 {
        let place = Place::of(from);
        if matches!(place, Place::Unknown | Place::Outside) && random.random_bool(0.7) {
            return from;
        }
        let index = PLACES.iter().position(|known| *known == place).unwrap_or(0);
        let sums = &self.destinations[index];
        let aim = random.random_range(0.0..sums[ZONES - 1]);
        sums.partition_point(|sum| *sum <= aim) as u16 + 1
    }
}

fn running_sums(from: Place) -> Vec<f64> {
    let mut sum = 0.0;
    let weight = |zone| popularity(zone) * affinity(from, Place::of(zone));
    let sums = (1..=ZONES as u16).map(|zone| {
        sum += weight(zone);
        sum
    });
    sums.collect()
}

/// How much likelier a trip goes to a place than the popularity of its zones tells.
fn affinity(from: Place, to: Place) -> f64 {
    match (from, to) {
        (_, Place::Newark) => 1.0,
        (Place::Airport, Place::Airport) => 0.15,
        (Place::Manhattan, Place::Airport) => 0.42,
        (Place::Airport, Place::Queens | Place::Brooklyn) => 9.0,
        (Place::Airport, Place::Manhattan) => 1.0,
        (Place::Manhattan, Place::Manhattan) => 1.0,
        (from, to) if from == to => 30.0,
        (
            Place::Queens | Place::Brooklyn | Place::Bronx | Place::StatenIsland,
            Place::Manhattan,
        ) => 0.5,
        _ => 2.2,
    }
}

/// Median and spread (of the logarithm) of the miles between two places.
fn usual_miles(from: u16, to: u16) -> (f64, f64) {
    let to_or_from = |zone| from == zone || to == zone;
    match (Place::of(from), Place::of(to)) {
        _ if from == to => (0.75, 0.6),
        (Place::Unknown | Place::Outside, _) | (_, Place::Unknown | Place::Outside) => (4.0, 0.9),
        (Place::Newark, _) | (_, Place::Newark) => (17.3, 0.12),
        (Place::Manhattan, Place::Manhattan) => (1.7, 0.55),
        (Place::Airport, Place::Queens | Place::Brooklyn) => (10.5, 0.4),
        (Place::Airport, _) | (_, Place::Airport) if to_or_from(KENNEDY) => (17.2, 0.13),
        (Place::Airport, _) | (_, Place::Airport) => (9.8, 0.2),
        (from, to) if from == to => (3.0, 0.6),
        (Place::Manhattan, _) | (_, Place::Manhattan) => (5.6, 0.4),
        _ => (8.0, 0.4),
    }
}

fn draw_miles(from: u16, to: u16, random: &mut SmallRng) -> f64 {
    let (median, spread) = usual_miles(from, to);
    (median * spread_by(spread, random)).clamp(0.01, 60.0)
}

fn draw_minutes(miles: f64, pickup: i64, random: &mut SmallRng) -> f64 {
    let hour = (pickup - QUARTER_START).rem_euclid(DAY_SECONDS) / HOUR_SECONDS;
    let city_mph = match hour {
        0..=5 => 14.0,
        6 | 7 | 21.. => 11.0,
        14..=18 => 8.0,
        _ => 9.0,
    };
    let mph = city_mph * (1.0 + miles.min(16.0) / 10.0);
    (1.2 + miles / mph * 60.0 * spread_by(0.22, random)).clamp(0.3, 300.0)
}

/// A factor around 1 whose logarithm is normal.
fn spread_by(spread: f64, random: &mut SmallRng) -> f64 {
    let normal: f64 = StandardNormal.sample(random);
    (spread * normal).exp()
}

fn draw_rate_code(from: u16, to: u16, random: &mut SmallRng) -> i64 {
    let places = (Place::of(from), Place::of(to));
    match (from, to, places) {
        _ if random.random_bool(0.006) => 5,
        (KENNEDY, _, (_, Place::Manhattan)) | (_, KENNEDY, (Place::Manhattan, _)) => 2,
        (_, _, (_, Place::Newark)) => 3,
        _ => 1,
    }
}

fn draw_payment(random: &mut SmallRng) -> Payment {
    match random.random_range(0..1_000) {
        0..47 => Payment::Unrecorded,
        47..835 => Payment::Card,
        835..985 => Payment::Cash,
        985..991 => Payment::NoCharge,
        _ => Payment::Dispute,
    }
}

fn draw_passengers(random: &mut SmallRng) -> i64 {
    match random.random_range(0..1_000) {
        0..11 => 0,
        11..778 => 1,
        778..924 => 2,
        924..956 => 3,
        956..976 => 4,
        976..988 => 5,
        _ => 6,
    }
}

/// The tip as a share of what it is reckoned on; the terminal proposes 20, 25 and 30 percent.
fn draw_tip_permille(payment: Payment, random: &mut SmallRng) -> i32 {
    let tips = match payment {
        Payment::Card => random.random_bool(0.945),
        Payment::Unrecorded => random.random_bool(0.5),
        _ => false,
    };
    match random.random_range(0..100) {
        _ if !tips => 0,
        0..48 => 200,
        48..58 => 250,
        58..64 => 300,
        _ => random.random_range(60..240),
    }
}
