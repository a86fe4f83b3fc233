//! The quarter's days and hours. Times are local, without a zone, counted in seconds since 1970-01-01.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};

pub(crate) const MONTH_DAYS: [usize; 3] = [31, 29, 31];
pub(crate) const DAYS: usize = 91;
pub(crate) const HOURS: usize = DAYS * 24;
pub(crate) const DAY_SECONDS: i64 = 86_400;
pub(crate) const HOUR_SECONDS: i64 = 3_600;

/// 2024-01-01 00:00:00.
pub(crate) const QUARTER_START: i64 = 1_704_067_200;

/// 2024-01-15, counted from the quarter's first day: a holiday whose trips are published.
pub(crate) const JANUARY_15: usize = 14;

/// New Year's Day, Martin Luther King Jr. Day and Presidents' Day.
const HOLIDAYS: [usize; 3] = [0, JANUARY_15, 49];

/// A day of the quarter, counted from 2024-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Day(pub usize);

impl Day {
    /// The days of a month (0 for January).
    pub fn of_month(month: usize) -> impl Iterator<Item = Day> {
        let first: usize = MONTH_DAYS[..month].iter().sum();
        (first..first + MONTH_DAYS[month]).map(Day)
    }

    /// 0 for Monday; the quarter starts on one.
    pub fn weekday(self) -> usize {
        self.0 % 7
    }

    pub fn is_holiday(self) -> bool {
        HOLIDAYS.contains(&self.0)
    }

    pub fn start(self) -> i64 {
        QUARTER_START + self.0 as i64 * DAY_SECONDS
    }

    pub fn date(self) -> NaiveDate {
        epoch().date() + TimeDelta::seconds(self.start())
    }
}

/// The month (0 for January) and the hour of the quarter a moment falls into, or `None` when it is a stray.
pub(crate) fn month_and_hour(seconds: i64) -> Option<(usize, usize)> {
    let hour = usize::try_from((seconds - QUARTER_START).div_euclid(HOUR_SECONDS)).ok()?;
    let mut end = 0;
    let month = MONTH_DAYS.iter().position(|days| {
        end += days * 24;
        hour < end
    })?;
    Some((month, hour))
}

pub(crate) fn seconds_at(year: i32, month: u32, day: u32, hour: u32) -> i64 {
    let date = NaiveDate::from_ymd_opt(year, month, day).unwrap_or_default();
    let time = NaiveTime::from_hms_opt(hour, 0, 0).unwrap_or_default();
    (date.and_time(time) - epoch()).num_seconds()
}

fn epoch() -> NaiveDateTime {
    DateTime::UNIX_EPOCH.naive_utc()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_the_quarter() {
        let march_31 = seconds_at(2024, 3, 31, 23) + 3_599;
        assert_eq!(seconds_at(2024, 1, 1, 0), QUARTER_START);
        assert_eq!(month_and_hour(QUARTER_START), Some((0, 0)));
        assert_eq!(month_and_hour(QUARTER_START - 1), None);
        assert_eq!(month_and_hour(seconds_at(2024, 2, 29, 23)).map(|(month, _)| month), Some(1));
        assert_eq!(month_and_hour(march_31), Some((2, HOURS - 1)));
        assert_eq!(month_and_hour(march_31 + 1), None);
    }

    #[test]
    fn holidays_have_their_dates() {
        let dates = HOLIDAYS.map(|day| Day(day).date().to_string());
        assert_eq!(dates, ["2024-01-01", "2024-01-15", "2024-02-19"]);
    }
}
