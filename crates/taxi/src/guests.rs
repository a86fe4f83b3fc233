//! Guests: the rows of a file that do not belong to its month, drawn one by one before the days are.

use rand::Rng;
use rand::rngs::SmallRng;

use crate::calendar::{DAY_SECONDS, Day, HOUR_SECONDS, MONTH_DAYS};
use crate::plan::DayPlan;
use crate::random::{Purpose, generator};
use crate::stragglers::{Edge, STRAGGLERS, Straggler, buckets_for, stray_hours};
use crate::trip::{City, Trip};

/// A finished row and the place it takes among the rows of the file it sits in.
pub(crate) struct Guest {
    pub trip: Trip,
    /// The month it was picked up in; `None` for a stray.
    pub month: Option<usize>,
    /// The day of the file's month among whose rows it stands.
    pub host: Day,
}

impl Guest {
    /// What it adds to the revenue of a month, in cents.
    pub fn revenue_in(&self, month: usize) -> i64 {
        if self.month == Some(month) { i64::from(self.trip.amounts(1.0).total()) } else { 0 }
    }
}

/// The guests of each file.
pub(crate) fn draw_guests(months: &[Vec<DayPlan>; 3], seed: u64, city: &City) -> [Vec<Guest>; 3] {
    [0, 1, 2].map(|file| {
        let mut random = generator(seed, Purpose::Guests, file);
        let mut guests = Vec::new();
        for straggler in STRAGGLERS.iter().filter(|straggler| straggler.file == file) {
            let trips = straggler_trips(straggler, &months[straggler.month], city, &mut random);
            guests.extend(trips.into_iter().map(|trip| (trip, Some(straggler.month))));
        }
        let strays = stray_trips(file, &months[file], city, &mut random);
        guests.extend(strays.into_iter().map(|trip| (trip, None)));
        guests.into_iter().map(|(trip, month)| seat(trip, month, file, &mut random)).collect()
    })
}

/// Trips in the quarter hour next to the month's edge, or wherever the edge's buckets are.
fn straggler_trips(
    straggler: &Straggler,
    days: &[DayPlan],
    city: &City,
    random: &mut SmallRng,
) -> Vec<Trip> {
    let quarter_hour = match straggler.edge {
        Edge::First => 0..HOUR_SECONDS / 4,
        Edge::Last => HOUR_SECONDS * 3 / 4..HOUR_SECONDS,
    };
    let draw = |(index, hour, zone): (usize, u32, u16)| {
        let hour_start = days[index].day.start() + i64::from(hour) * HOUR_SECONDS;
        city.draw(hour_start + random.random_range(quarter_hour.clone()), zone, random)
    };
    buckets_for(straggler, days).into_iter().map(draw).collect()
}

/// Trips at the strays' hours, from zones where the file's own month is busy.
fn stray_trips(file: usize, days: &[DayPlan], city: &City, random: &mut SmallRng) -> Vec<Trip> {
    let draw = |hour_start: i64| {
        let cells = &days[random.random_range(0..days.len())].cells;
        let zone = cells[random.random_range(0..cells.len())].zone;
        city.draw(hour_start + random.random_range(0..HOUR_SECONDS), zone, random)
    };
    stray_hours(file).into_iter().map(draw).collect()
}

/// Gives a guest a random place in the file.
fn seat(mut trip: Trip, month: Option<usize>, file: usize, random: &mut SmallRng) -> Guest {
    let nth = random.random_range(0..MONTH_DAYS[file]);
    let host = Day::of_month(file).nth(nth).unwrap_or(Day(0));
    trip.file_order = host.start() + random.random_range(0..DAY_SECONDS);
    Guest { trip, month, host }
}
