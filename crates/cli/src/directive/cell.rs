//! What stands for a value: a cell of an expected row, a figure with its factor, a bound.

use std::cmp::Ordering;
use std::fmt;

use crate::figures::{Figure, Figures};

/// One cell of an expected row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Not compared.
    Any,
    /// This text.
    Text(String),
    /// This number.
    Number(Figure),
    /// A figure by its name.
    Named(Product),
}

impl Cell {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let quoted = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        if let Some(quoted) = quoted {
            return Ok(Cell::Text(quoted.to_owned()));
        }
        if text == "_" {
            return Ok(Cell::Any);
        }
        match Figure::parse(text) {
            Some(number) => Ok(Cell::Number(number)),
            None => Product::read(text).map(Cell::Named),
        }
    }

    /// The number this cell stands for; `None` for texts and anything.
    ///
    /// # Errors
    /// A name that is no figure.
    pub fn number(&self, figures: &Figures) -> Result<Option<Figure>, String> {
        match self {
            Cell::Any | Cell::Text(_) => Ok(None),
            Cell::Number(number) => Ok(Some(*number)),
            Cell::Named(product) => product.figure(figures).map(Some),
        }
    }
}

/// A figure by its name, times a factor: `name` or `2 * name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// What the figure is multiplied by.
    pub factor: u32,
    /// The figure's name.
    pub name: String,
}

impl Product {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let (factor, name) = match text.split_once('*') {
            Some((factor, name)) => (factor.trim().parse().ok(), name.trim()),
            None => (Some(1), text),
        };
        match factor {
            Some(factor) if is_name(name) => Ok(Self { factor, name: name.to_owned() }),
            _ => Err(format!("`{text}` in an expect comment is no figure, number, 'text' or _")),
        }
    }

    /// The figure, multiplied.
    ///
    /// # Errors
    /// A name that is no figure.
    pub fn figure(&self, figures: &Figures) -> Result<Figure, String> {
        figures.get(&self.name).map(|figure| figure.times(self.factor))
    }
}

pub(super) fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    !text.is_empty() && text.chars().all(fits)
}

/// What a value of the result must be: `rows_read > 3 * day.trips`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The value, by its column's name or as `name=` in a plan.
    pub value: String,
    /// How it compares.
    pub relation: Relation,
    /// What it is compared with.
    pub limit: Cell,
}

/// How two figures compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `>`
    Above,
    /// `<`
    Below,
}

impl Bound {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` in an expect comment is no value, > or <, figure");
        let above = text.split_once('>').map(|(value, limit)| (value, Relation::Above, limit));
        let below = || text.split_once('<').map(|(value, limit)| (value, Relation::Below, limit));
        let (value, relation, limit) = above.or_else(below).ok_or_else(wrong)?;
        let value = value.trim();
        match Cell::read(limit.trim()) {
            Ok(limit @ (Cell::Number(_) | Cell::Named(_))) if is_name(value) => {
                Ok(Self { value: value.to_owned(), relation, limit })
            }
            _ => Err(wrong()),
        }
    }
}

impl Relation {
    /// Whether `value` stands so to `limit`; figures of two kinds never do.
    pub fn holds(self, value: Figure, limit: Figure) -> bool {
        let wanted = match self {
            Self::Above => Ordering::Greater,
            Self::Below => Ordering::Less,
        };
        value.compared_with(limit) == Some(wanted)
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Above => ">",
            Self::Below => "<",
        })
    }
}

/// A value of the result that later statements compare with: `flat.rows = rows_read`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// The figure's name from here on.
    pub name: String,
    /// The value, by its column's name or as `name=` in a plan.
    pub value: String,
}

impl Keep {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        match parts {
            Some((name, value)) if name.contains('.') && is_name(name) && is_name(value) => {
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err(format!("`{text}` in a keep comment is no dotted.name = value")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_names_a_value_and_a_figure() {
        let bound = Bound::read("rows_read > 3 * day.trips").unwrap();
        assert_eq!((bound.value.as_str(), bound.relation), ("rows_read", Relation::Above));
        assert_eq!(bound.limit, Cell::Named(Product { factor: 3, name: "day.trips".into() }));
        for wrong in ["rows_read", "rows_read > 'a'", "rows read > 5", "a > b > c"] {
            let error = Bound::read(wrong).unwrap_err();
            assert!(error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn a_bound_is_not_met_by_the_figure_itself() {
        let (five, six) = (Figure::Count(5), Figure::Count(6));
        assert!(Relation::Above.holds(six, five) && !Relation::Above.holds(five, five));
        assert!(Relation::Below.holds(five, six) && !Relation::Below.holds(five, five));
        assert!(!Relation::Above.holds(Figure::Cents(600), five));
    }

    #[test]
    fn what_is_kept_has_a_name_of_its_own() {
        let keep = Keep::read("flat.rows = rows_read").unwrap();
        assert_eq!((keep.name.as_str(), keep.value.as_str()), ("flat.rows", "rows_read"));
        assert!(Keep::read("rows = rows_read").is_err());
    }
}
