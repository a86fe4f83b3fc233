//! What a script expects of its statements, written as comments in front of them.
//!
//! ```text
//! -- expect: '2024-01', january.buckets, 2 * january.trips, _     a row of the result, cell by cell
//! -- expect contains: partitions=1/91                            the result holds this text
//! -- expect error: ({january.buckets} -> 10 rows)              the statement must fail, saying this
//! ```
//!
//! A cell is a figure's name (with a factor, if any), a number, a quoted text, or `_` for anything.
//! Each may be repeated: every row in turn, every text. In a text `{name}` stands for a figure.
//! `partwise demo` knows the figures and compares them; a plain run honours `expect error` alone.

use crate::figures::{Figure, Figures};
use crate::number::without_grouping;

const EXPECT_ERROR: &str = "expect error:";

/// What the comments in front of one statement say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations {
    /// The result, row by row; empty: not compared.
    pub rows: Vec<Vec<Cell>>,
    /// Texts the result must contain.
    pub contains: Vec<Template>,
    /// Texts the error must contain; empty: the statement must succeed.
    pub errors: Vec<Template>,
    /// The other comment lines: what a reader is told.
    pub remarks: Vec<String>,
}

/// One cell of an expected row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// Not compared.
    Any,
    /// This text.
    Text(String),
    /// This number.
    Number(Figure),
    /// A figure by its name, times a factor.
    Named {
        /// What the figure is multiplied by.
        factor: u32,
        /// The figure's name.
        name: String,
    },
}

/// A text with `{name}` for figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(String);

impl Expectations {
    /// Reads the comment lines in front of a statement, without their dashes.
    ///
    /// # Errors
    /// A directive that can't be read, as a message that quotes it.
    pub fn read(comments: &[String]) -> Result<Self, String> {
        let mut found = Self::default();
        for comment in comments {
            let text = comment.trim();
            if let Some(row) = text.strip_prefix("expect:") {
                found.rows.push(read_row(row)?);
            } else if let Some(part) = text.strip_prefix("expect contains:") {
                found.contains.push(Template(part.trim().to_owned()));
            } else if let Some(part) = text.strip_prefix(EXPECT_ERROR) {
                found.errors.push(Template(part.trim().to_owned()));
            } else {
                found.remarks.push(text.to_owned());
            }
        }
        Ok(found)
    }

    /// Whether the statement must fail.
    pub fn expects_error(&self) -> bool {
        !self.errors.is_empty()
    }
}

/// The texts that the statement's error must contain; empty when it must succeed. Reads no other
/// directive, so that comments which only look like one do no harm outside the demo.
pub fn expected_errors(comments: &[String]) -> Vec<Template> {
    let errors = comments.iter().filter_map(|text| text.trim().strip_prefix(EXPECT_ERROR));
    errors.map(|text| Template(text.trim().to_owned())).collect()
}

fn read_row(row: &str) -> Result<Vec<Cell>, String> {
    row.split(',').map(|cell| read_cell(cell.trim())).collect()
}

fn read_cell(text: &str) -> Result<Cell, String> {
    let quoted = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    if let Some(quoted) = quoted {
        return Ok(Cell::Text(quoted.to_owned()));
    }
    if text == "_" {
        return Ok(Cell::Any);
    }
    if let Some(number) = Figure::parse(text) {
        return Ok(Cell::Number(number));
    }
    let (factor, name) = read_product(text)?;
    Ok(Cell::Named { factor, name: name.to_owned() })
}

/// `name` or `2 * name`.
fn read_product(text: &str) -> Result<(u32, &str), String> {
    let (factor, name) = match text.split_once('*') {
        Some((factor, name)) => (factor.trim().parse().ok(), name.trim()),
        None => (Some(1), text),
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    match factor {
        Some(factor) if !name.is_empty() && name.chars().all(is_name) => Ok((factor, name)),
        _ => Err(format!("`{text}` in an expect comment is no figure, number, 'text' or _")),
    }
}

impl Cell {
    /// The number this cell stands for; `None` for texts and anything.
    ///
    /// # Errors
    /// A name that is no figure.
    pub fn number(&self, figures: &Figures) -> Result<Option<Figure>, String> {
        match self {
            Cell::Any | Cell::Text(_) => Ok(None),
            Cell::Number(number) => Ok(Some(*number)),
            Cell::Named { factor, name } => figures.get(name).map(|f| Some(f.times(*factor))),
        }
    }
}

impl Template {
    /// The text with every figure filled in.
    ///
    /// # Errors
    /// A name that is no figure.
    pub fn filled(&self, figures: &Figures) -> Result<String, String> {
        let mut filled = String::new();
        for part in self.parts() {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Figure(product) => {
                    let (factor, name) = read_product(product)?;
                    filled.push_str(&figures.get(name)?.times(factor).to_string());
                }
            }
        }
        Ok(filled)
    }

    /// Whether `text` contains this one; numbers match with and without their commas.
    /// Without figures, any number stands for any figure.
    ///
    /// # Errors
    /// A name that is no figure.
    pub fn is_in(&self, text: &str, figures: Option<&Figures>) -> Result<bool, String> {
        let text = without_grouping(text);
        match figures {
            Some(figures) => Ok(text.contains(&without_grouping(&self.filled(figures)?))),
            None => Ok(self.may_be_in(&text)),
        }
    }

    fn may_be_in(&self, text: &str) -> bool {
        let parts: Vec<Part> = self.parts().collect();
        let starts = text.char_indices().map(|(start, _)| start);
        starts.into_iter().any(|start| {
            let end = parts.iter().try_fold(&text[start..], |rest, part| match part {
                Part::Text(text) => rest.strip_prefix(&*without_grouping(text)),
                Part::Figure(_) => {
                    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
                    (after.len() < rest.len()).then_some(after)
                }
            });
            end.is_some()
        })
    }

    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let pieces = self.0.split('{').enumerate();
        pieces
            .flat_map(|(i, piece)| match piece.split_once('}') {
                Some((name, text)) if i > 0 => [Some(Part::Figure(name)), Some(Part::Text(text))],
                _ => [Some(Part::Text(piece)), None],
            })
            .flatten()
    }
}

enum Part<'a> {
    Text(&'a str),
    Figure(&'a str),
}

impl std::fmt::Display for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(comments: &[&str]) -> Expectations {
        let comments: Vec<String> = comments.iter().map(|&c| c.to_owned()).collect();
        Expectations::read(&comments).unwrap()
    }

    fn named(factor: u32, name: &str) -> Cell {
        Cell::Named { factor, name: name.to_owned() }
    }

    #[test]
    fn a_row_is_read_cell_by_cell() {
        let found = read(&["what it shows", "expect: '2024-01', 5, 1.50, 2 * report.trips, _"]);
        let cells = vec![
            Cell::Text("2024-01".into()),
            Cell::Number(Figure::Count(5)),
            Cell::Number(Figure::Cents(150)),
            named(2, "report.trips"),
            Cell::Any,
        ];
        assert_eq!(found.rows, vec![cells]);
        assert_eq!(found.remarks, vec!["what it shows"]);
        assert!(!found.expects_error());
    }

    #[test]
    fn texts_and_errors_are_kept_apart() {
        let found = read(&["expect contains: partitions=1/91", "expect error: exists"]);
        assert_eq!(found.contains, vec![Template("partitions=1/91".into())]);
        assert!(found.expects_error());
    }

    #[test]
    fn a_cell_that_is_nothing_is_quoted_back() {
        let error = Expectations::read(&["expect: two words".to_owned()]).unwrap_err();
        assert!(error.contains("`two words`"), "{error}");
    }

    #[test]
    fn a_template_finds_its_figures_with_or_without_commas() {
        let figures = Figures::at_scale(1.0).unwrap();
        let template = Template("2024-01 ({january.buckets} -> 10 rows".into());
        let message = "would shrink pickup_month=2024-01 (77,530 -> 10 rows)";
        assert!(template.is_in(message, Some(&figures)).unwrap());
        assert!(template.is_in(&message.replace(',', ""), Some(&figures)).unwrap());
        assert!(!template.is_in(&message.replace("530", "531"), Some(&figures)).unwrap());
    }

    #[test]
    fn without_figures_any_number_will_do() {
        let template = Template("from {january.buckets} to 10".into());
        assert!(template.is_in("shrink from 1,234 to 10 rows", None).unwrap());
        assert!(!template.is_in("shrink from many to 10 rows", None).unwrap());
    }
}
