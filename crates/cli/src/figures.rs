//! The figures of the lessons, by the names that scripts use for them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use partwise_sql::thousands;
use partwise_taxi::Figures as TaxiFigures;

use crate::number::amount;

const MONTHS: [&str; 3] = ["january", "february", "march"];

/// One figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// A number of things.
    Count(u64),
    /// An amount of money, in cents.
    Cents(i64),
}

impl Figure {
    /// `5` is a count, `1.50` an amount; anything else is no figure.
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once('.') {
            None => text.parse().ok().map(Figure::Count),
            Some((_, cents)) if cents.len() == 2 => Self::amount_of(text.parse().ok()?),
            Some(_) => None,
        }
    }

    /// The figure a result's cell shows, read as the same kind as this one.
    pub fn read_like(self, text: &str) -> Option<Self> {
        let number: f64 = text.parse().ok()?;
        match self {
            Figure::Cents(_) => Self::amount_of(number),
            Figure::Count(_) if number >= 0.0 && number.fract() == 0.0 => {
                Some(Figure::Count(number as u64))
            }
            Figure::Count(_) => None,
        }
    }

    /// This figure, several times.
    pub fn times(self, factor: u32) -> Self {
        match self {
            Figure::Count(count) => Figure::Count(count * u64::from(factor)),
            Figure::Cents(cents) => Figure::Cents(cents * i64::from(factor)),
        }
    }

    /// How this figure compares with another of its kind; figures of two kinds don't.
    pub fn compared_with(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Figure::Count(one), Figure::Count(two)) => Some(one.cmp(&two)),
            (Figure::Cents(one), Figure::Cents(two)) => Some(one.cmp(&two)),
            _ => None,
        }
    }

    fn amount_of(amount: f64) -> Option<Self> {
        amount.is_finite().then(|| Figure::Cents((amount * 100.0).round() as i64))
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match *self {
            Figure::Count(count) => thousands(count),
            Figure::Cents(cents) => amount(cents),
        })
    }
}

/// The figures of one quarter: the published ones, or those of a smaller scale; and what a script
/// has kept to compare with.
#[derive(Debug, Clone)]
pub struct Figures {
    taxi: TaxiFigures,
    scale: f64,
    kept: BTreeMap<String, Figure>,
}

impl Figures {
    /// The figures at a scale; 1 is the published quarter.
    ///
    /// # Errors
    /// A scale out of range, as a message that names the range.
    pub fn at_scale(scale: f64) -> Result<Self, String> {
        let taxi = TaxiFigures::at_scale(scale).map_err(|error| error.to_string())?;
        Ok(Self { taxi, scale, kept: BTreeMap::new() })
    }

    /// Whether these are the published figures.
    pub fn are_published(&self) -> bool {
        self.scale == 1.0
    }

    /// Rows in the January, February and March file.
    pub fn rows_per_file(&self) -> [u64; 3] {
        self.taxi.rows_per_file
    }

    /// Keeps a figure under a name; the last one kept under it counts.
    ///
    /// # Errors
    /// A name that the lessons' own figures have, as a message.
    pub fn keep(&mut self, name: &str, figure: Figure) -> Result<(), String> {
        if self.of_lessons(name).is_some() {
            return Err(format!("`{name}` is a figure of the lessons, nothing can be kept as it"));
        }
        self.kept.insert(name.to_owned(), figure);
        Ok(())
    }

    /// A figure by its name.
    ///
    /// | name | |
    /// |---|---|
    /// | `file.january` ... `file.march`, `files` | rows in each trip file, and in all three |
    /// | `kept`, `strays` | rows inside the quarter, and outside |
    /// | `report.buckets`, `report.trips`, `report.revenue` | the whole report |
    /// | `january.buckets`, ... `march.revenue` | the report by month |
    /// | `february_file.january.buckets`, ... `february_file.march.trips` | the February file aggregated alone |
    /// | `days`, `day.trips` | calendar days, trips on 2024-01-15 |
    /// | what was [kept](Self::keep) | |
    ///
    /// # Errors
    /// A name that isn't in this table, as a message.
    pub fn get(&self, name: &str) -> Result<Figure, String> {
        let found = self.of_lessons(name).or_else(|| self.kept.get(name).copied());
        found.ok_or_else(|| format!("`{name}` is no figure of the lessons"))
    }

    fn of_lessons(&self, name: &str) -> Option<Figure> {
        let path: Vec<&str> = name.split('.').collect();
        match path[..] {
            ["files"] => Some(Figure::Count(self.taxi.rows_per_file.iter().sum())),
            ["kept"] => Some(Figure::Count(self.taxi.kept)),
            ["strays"] => Some(Figure::Count(self.taxi.strays)),
            ["days"] => Some(Figure::Count(self.taxi.days)),
            ["day", "trips"] => Some(Figure::Count(self.taxi.trips_on_2024_01_15)),
            ["report", part] => self.of_report(part),
            ["file", month] => month_index(month).map(|m| Figure::Count(self.rows_per_file()[m])),
            ["february_file", month, part] => self.of_february_file(month, part),
            [month, part] => self.of_month(month, part),
            _ => None,
        }
    }

    fn of_report(&self, part: &str) -> Option<Figure> {
        match part {
            "buckets" => Some(Figure::Count(self.taxi.buckets)),
            "trips" => Some(Figure::Count(self.taxi.kept)),
            "revenue" => Some(Figure::Cents(self.taxi.revenue_cents)),
            _ => None,
        }
    }

    fn of_month(&self, month: &str, part: &str) -> Option<Figure> {
        let month = self.taxi.months[month_index(month)?];
        match part {
            "buckets" => Some(Figure::Count(month.buckets)),
            "trips" => Some(Figure::Count(month.trips)),
            "revenue" => Some(Figure::Cents(month.revenue_cents)),
            _ => None,
        }
    }

    fn of_february_file(&self, month: &str, part: &str) -> Option<Figure> {
        let slice = self.taxi.february_file[month_index(month)?];
        match part {
            "buckets" => Some(Figure::Count(slice.buckets)),
            "trips" => Some(Figure::Count(slice.trips)),
            _ => None,
        }
    }
}

fn month_index(name: &str) -> Option<usize> {
    MONTHS.iter().position(|&month| month == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_the_published_figures() {
        let figures = Figures::at_scale(1.0).unwrap();
        let shown = |name: &str| figures.get(name).unwrap().to_string();
        assert_eq!(shown("report.revenue"), "256,692,373.14");
        assert_eq!(shown("february.trips"), "3,007,533");
        assert_eq!(shown("february_file.january.buckets"), "10");
        assert_eq!(shown("file.march"), "3,582,628");
        assert_eq!(figures.get("report.trips").unwrap().times(2).to_string(), "19,109,514");
        assert!(figures.get("april.trips").is_err());
    }

    #[test]
    fn what_is_kept_is_a_figure_but_not_in_place_of_a_published_one() {
        let mut figures = Figures::at_scale(1.0).unwrap();
        assert!(figures.get("flat.rows").is_err());
        figures.keep("flat.rows", Figure::Count(5)).unwrap();
        figures.keep("flat.rows", Figure::Count(6)).unwrap();
        assert_eq!(figures.get("flat.rows"), Ok(Figure::Count(6)));
        assert!(figures.keep("day.trips", Figure::Count(5)).is_err());
    }

    #[test]
    fn a_cell_is_read_as_the_kind_it_is_compared_with() {
        assert_eq!(Figure::Cents(0).read_like("256692373.14"), Some(Figure::Cents(25_669_237_314)));
        assert_eq!(Figure::Count(0).read_like("5"), Some(Figure::Count(5)));
        assert_eq!(Figure::Count(0).read_like("5.5"), None);
        assert_eq!(Figure::Count(0).read_like("NULL"), None);
    }
}
