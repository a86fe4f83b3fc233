//! From a day's plan to its finished rows, in the order they stand in the file.

use rand::Rng;
use rand::rngs::SmallRng;

use crate::amounts::{Amounts, close_sum};
use crate::calendar::HOUR_SECONDS;
use crate::guests::Guest;
use crate::plan::{Cell, DayPlan};
use crate::random::{Purpose, generator};
use crate::trip::{City, Payment, Trip};

/// A trip whose amounts are settled.
pub(crate) struct Row {
    pub trip: Trip,
    pub amounts: Amounts,
}

/// Rows that take back another one, among all.
const REVERSAL_SHARE: f64 = 0.0105;

/// The rows of a day in its month's file, with the guests that stand among them.
pub(crate) fn rows_of_day(plan: &DayPlan, guests: &[Guest], seed: u64, city: &City) -> Vec<Row> {
    let mut trips = draw_trips(plan, seed, city);
    let factor = close_sum(&mut trips, plan.revenue_cents);
    let guests = guests.iter().filter(|guest| guest.host == plan.day);
    let guests =
        guests.map(|guest| Row { trip: guest.trip.clone(), amounts: guest.trip.amounts(1.0) });
    let own = trips.into_iter().map(|trip| Row { amounts: trip.amounts(factor), trip });
    let mut rows: Vec<Row> = own.chain(guests).collect();
    rows.sort_by_key(|row| row.trip.file_order);
    rows
}

fn draw_trips(plan: &DayPlan, seed: u64, city: &City) -> Vec<Trip> {
    let mut random = generator(seed, Purpose::Rows, plan.day.0);
    let reversible = (plan.trips - plan.cells.len() as u64).max(1) as f64;
    let chance = (REVERSAL_SHARE * plan.trips as f64 / reversible).min(0.25);
    let mut trips = Vec::with_capacity(plan.trips as usize);
    for cell in &plan.cells {
        draw_cell(cell, plan, chance, city, &mut random, &mut trips);
    }
    trips
}

/// Appends the trips of one bucket; now and then one of them is a reversal of the trip before it.
fn draw_cell(
    cell: &Cell,
    plan: &DayPlan,
    chance: f64,
    city: &City,
    random: &mut SmallRng,
    trips: &mut Vec<Trip>,
) {
    let hour_start = plan.day.start() + i64::from(cell.hour) * HOUR_SECONDS;
    for nth in 0..cell.trips {
        let takes_back = nth > 0 && random.random_bool(chance);
        let reversal = if takes_back { trips.last_mut().and_then(reverse) } else { None };
        let draw =
            || city.draw(hour_start + random.random_range(0..HOUR_SECONDS), cell.zone, random);
        trips.push(reversal.unwrap_or_else(draw));
    }
}

/// The negative copy of a trip, which becomes one in dispute; `None` for a trip that can't be taken back.
fn reverse(trip: &mut Trip) -> Option<Trip> {
    if trip.is_reversal || trip.payment == Payment::Unrecorded {
        return None;
    }
    trip.payment = Payment::Dispute;
    trip.tip_permille = 0;
    Some(Trip { is_reversal: true, file_order: trip.file_order + 1, ..trip.clone() })
}
