//! The shapes of a quarter as text, computed from its files.

use std::fmt::Write;
use std::path::Path;

use crate::calendar::{DAYS, Day, HOURS};
use crate::error::Error;
use crate::found::{FILES, Origin, Presence, present};
use crate::survey::{Buckets, FileSurvey, survey};
use crate::zones::{Place, ZONES};

/// Reads the trip files in a folder and describes their shapes, be they synthetic or real.
///
/// # Errors
/// [`Error::Missing`], or why a file could not be read.
pub fn describe(dir: &Path) -> Result<String, Error> {
    let files = survey(dir)?;
    let buckets = Buckets::of(&files);
    let parts = [
        origin(&present(dir)),
        rows(&files),
        days(&buckets),
        hours(&buckets),
        zones(&buckets),
        amounts(&files),
        neighbours(&buckets),
    ];
    Ok(parts.join("\n"))
}

fn origin(presence: &Presence) -> String {
    match presence {
        Presence::Synthetic(Origin { scale, seed }) => {
            format!("synthetic trips, scale {scale}, seed {seed}\n")
        }
        Presence::Mixed => "synthetic trips of several runs that don't belong together\n".into(),
        _ => "trips from elsewhere\n".into(),
    }
}

/// A line of a description. Writing to a string cannot fail.
macro_rules! line {
    ($text:ident, $($arguments:tt)*) => {
        let _ = writeln!($text, $($arguments)*);
    };
}

fn rows(files: &[FileSurvey]) -> String {
    let mut text =
        String::from("rows                                    in all  outside the quarter\n");
    for (name, file) in FILES.iter().zip(files) {
        line!(text, "  {name:33} {:>10}  {:>19}", grouped(file.rows), grouped(file.strays));
    }
    text
}

fn days(buckets: &Buckets) -> String {
    let by_day: Vec<u64> = (0..DAYS).map(|day| buckets.trips_of_day(day)).collect();
    let mut order: Vec<usize> = (0..DAYS).collect();
    order.sort_by_key(|day| by_day[*day]);
    let mut text = String::from("trips per day\n");
    for (what, day) in [("least", order[0]), ("median", order[DAYS / 2]), ("most", order[DAYS - 1])]
    {
        line!(
            text,
            "  {what:7} {:>10}  {}",
            grouped(by_day[day]),
            Day(day).date().format("%a %Y-%m-%d")
        );
    }
    text
}

fn hours(buckets: &Buckets) -> String {
    const WIDTH: u64 = 50;
    let mut by_hour = [0; 24];
    (0..HOURS).for_each(|hour| by_hour[hour % 24] += buckets.trips_of_hour(hour));
    let most = by_hour.iter().copied().max().unwrap_or(0).max(1);
    let all = by_hour.iter().sum::<u64>().max(1) as f64;
    let mut text = String::from("trips by hour of day\n");
    for (hour, trips) in by_hour.iter().enumerate() {
        let bar = "#".repeat((trips * WIDTH / most) as usize);
        line!(text, "  {hour:02} {:4.1} % {bar}", *trips as f64 * 100.0 / all);
    }
    text
}

fn zones(buckets: &Buckets) -> String {
    const SHOWN: usize = 10;
    let mut by_zone: Vec<(u64, usize)> =
        (0..=ZONES).map(|zone| (buckets.trips_of_zone(zone), zone)).collect();
    by_zone.sort_by(|a, b| b.cmp(a));
    let all = by_zone.iter().map(|(trips, _)| trips).sum::<u64>().max(1) as f64;
    let used = by_zone.iter().filter(|(trips, _)| *trips > 0).count();
    let filled = buckets.0.iter().filter(|trips| **trips > 0).count() as u64;
    let mut text = String::new();
    line!(text, "busiest pickup zones ({used} have trips; {} zone-hour buckets)", grouped(filled));
    for (trips, zone) in by_zone.iter().take(SHOWN) {
        let borough = if *zone == 0 { "none" } else { Place::of(*zone as u16).borough() };
        let share = *trips as f64 * 100.0 / all;
        line!(text, "  {zone:3} {borough:13} {:>10}  {share:4.1} %", grouped(*trips));
    }
    text
}

fn amounts(files: &[FileSurvey]) -> String {
    let mut cents: Vec<i32> = files.iter().flat_map(|file| &file.totals_cents).copied().collect();
    cents.sort_unstable();
    let mut text = String::from("total_amount\n");
    for (name, share) in
        [("1 %", 0.01), ("25 %", 0.25), ("half", 0.5), ("75 %", 0.75), ("99 %", 0.99)]
    {
        let index = (cents.len().saturating_sub(1) as f64 * share) as usize;
        line!(text, "  {name:>5} {:9.2}", dollars(cents.get(index)));
    }
    let all = cents.len().max(1) as f64;
    let reversals = cents.partition_point(|cents| *cents < 0) as f64;
    let unrecorded = files.iter().map(|file| file.unrecorded).sum::<u64>() as f64;
    line!(text, "  from {:.2} to {:.2}", dollars(cents.first()), dollars(cents.last()));
    line!(text, "  reversals (negative)        {:5.2} % of the rows", reversals * 100.0 / all);
    line!(text, "  without a passenger count   {:5.2} % of the rows", unrecorded * 100.0 / all);
    text
}

fn dollars(cents: Option<&i32>) -> f64 {
    f64::from(*cents.unwrap_or(&0)) / 100.0
}

/// Buckets with fewer trips say little about their neighbours.
const LEAST_TRIPS: u32 = 20;

/// The bucket that stands out most from its neighbours: the same zone up to two hours before and after,
/// and at the same hour of the days before and after.
fn neighbours(buckets: &Buckets) -> String {
    let cells = (0..HOURS).flat_map(|hour| (0..=ZONES).map(move |zone| (hour, zone)));
    let busy = cells.filter(|(hour, zone)| buckets.trips(*hour, *zone) >= LEAST_TRIPS);
    let ratios = busy.map(|(hour, zone)| (ratio(buckets, hour, zone), hour, zone));
    let mut text = String::new();
    match ratios.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((ratio, hour, zone)) => {
            let (date, hour_of_day) = (Day(hour / 24).date(), hour % 24);
            line!(text, "largest bucket beside its neighbours (of {LEAST_TRIPS} trips and more)");
            line!(text, "  {ratio:.2} times their mean: zone {zone}, {date} {hour_of_day:02}:00");
        }
        None => {
            line!(text, "no bucket has {LEAST_TRIPS} trips");
        }
    }
    text
}

fn ratio(buckets: &Buckets, hour: usize, zone: usize) -> f64 {
    let near = [-24, -2, -1, 1, 2, 24].into_iter().filter_map(|step| hour.checked_add_signed(step));
    let near: Vec<f64> = near
        .filter(|hour| *hour < HOURS)
        .map(|hour| f64::from(buckets.trips(hour, zone)))
        .collect();
    let mean = near.iter().sum::<f64>() / near.len().max(1) as f64;
    f64::from(buckets.trips(hour, zone)) / mean
}

/// A count with commas between its thousands.
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1_000, 9_554_757].map(grouped), ["0", "999", "1,000", "9,554,757"]);
    }
}
