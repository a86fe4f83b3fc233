//! What a script expects of its statements, written as comments in front of them.
//!
//! ```text
//! -- expect: '2024-01', january.buckets, 2 * january.trips, _     a row of the result, cell by cell
//! -- expect contains: partitions=1/91                            the result, or what a write says, holds this text
//! -- expect value: rows_read > 3 * day.trips                     a column of the first row, or name=number in a plan
//! -- expect error: ({january.buckets} -> 10 rows)              the statement must fail, saying this
//! -- keep: flat.rows = rows_read                                 such a value is a figure from here on
//! -- after: 01_report.sql                                        at the top: that script's tables are made first
//! ```
//!
//! A cell is a figure's name (with a factor, if any), a number, a quoted text, or `_` for anything.
//! Each may be repeated: every row in turn, every text. In a text `{name}` stands for a figure.
//! `partwise demo` knows the figures and compares them; a plain run honours `expect error` and
//! `after` alone.

mod cell;
mod template;

pub use cell::{Bound, Cell, Keep};
pub use template::Template;

use partwise_sql::ScriptStatement;

const EXPECT_ERROR: &str = "expect error:";
const AFTER: &str = "after:";

/// First words of statements that only show something.
const SHOWING: [&str; 5] = ["SELECT", "EXPLAIN", "SHOW", "DESCRIBE", "WITH"];

/// What the comments in front of one statement say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expectations {
    /// The result, row by row; empty: not compared.
    pub rows: Vec<Vec<Cell>>,
    /// Texts the result must contain.
    pub contains: Vec<Template>,
    /// What values of the result must be.
    pub bounds: Vec<Bound>,
    /// Texts the error must contain; empty: the statement must succeed.
    pub errors: Vec<Template>,
    /// Values of the result that later statements compare with.
    pub keeps: Vec<Keep>,
    /// The other comment lines: what a reader is told.
    pub remarks: Vec<String>,
}

impl Expectations {
    /// Reads the comment lines in front of a statement, without their dashes.
    ///
    /// # Errors
    /// A directive that can't be read, as a message that quotes it.
    pub fn read(comments: &[String]) -> Result<Self, String> {
        let mut found = Self::default();
        for comment in comments {
            found.read_line(comment.trim())?;
        }
        Ok(found)
    }

    fn read_line(&mut self, text: &str) -> Result<(), String> {
        if let Some(row) = text.strip_prefix("expect:") {
            self.rows.push(read_row(row)?);
        } else if let Some(part) = text.strip_prefix("expect contains:") {
            self.contains.push(Template(part.trim().to_owned()));
        } else if let Some(bound) = text.strip_prefix("expect value:") {
            self.bounds.push(Bound::read(bound.trim())?);
        } else if let Some(part) = text.strip_prefix(EXPECT_ERROR) {
            self.errors.push(Template(part.trim().to_owned()));
        } else if let Some(keep) = text.strip_prefix("keep:") {
            self.keeps.push(Keep::read(keep.trim())?);
        } else if !text.starts_with(AFTER) {
            self.remarks.push(text.to_owned());
        }
        Ok(())
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

/// The script that this one begins after: it lies beside it.
pub fn begins_after(statements: &[ScriptStatement]) -> Option<&str> {
    let comments = statements.first()?.comments_before.iter();
    comments.filter_map(|text| text.trim().strip_prefix(AFTER)).map(str::trim).next()
}

/// Whether a statement makes something: those of the script before that only show something are
/// left out.
pub fn makes_something(statement: &ScriptStatement) -> bool {
    let first = statement.text.split_whitespace().next().unwrap_or_default();
    !SHOWING.iter().any(|word| first.eq_ignore_ascii_case(word))
}

fn read_row(row: &str) -> Result<Vec<Cell>, String> {
    row.split(',').map(|cell| Cell::read(cell.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::cell::Product;
    use super::*;
    use crate::figures::Figure;
    use partwise_sql::split_statements;

    fn read(comments: &[&str]) -> Expectations {
        let comments: Vec<String> = comments.iter().map(|&c| c.to_owned()).collect();
        Expectations::read(&comments).unwrap()
    }

    #[test]
    fn a_row_is_read_cell_by_cell() {
        let found = read(&["what it shows", "expect: '2024-01', 5, 1.50, 2 * report.trips, _"]);
        let cells = vec![
            Cell::Text("2024-01".into()),
            Cell::Number(Figure::Count(5)),
            Cell::Number(Figure::Cents(150)),
            Cell::Named(Product { factor: 2, name: "report.trips".into() }),
            Cell::Any,
        ];
        assert_eq!(found.rows, vec![cells]);
        assert_eq!(found.remarks, vec!["what it shows"]);
        assert!(!found.expects_error());
    }

    #[test]
    fn texts_errors_bounds_and_keeps_are_told_apart() {
        let found = read(&[
            "expect contains: partitions=1/91",
            "expect error: exists",
            "expect value: bytes < 5",
            "keep: a.bytes = bytes",
        ]);
        assert_eq!(found.contains, vec![Template("partitions=1/91".into())]);
        assert!(found.expects_error());
        assert_eq!((found.bounds.len(), found.keeps.len()), (1, 1));
        assert!(found.remarks.is_empty());
    }

    #[test]
    fn a_cell_that_is_nothing_is_quoted_back() {
        let error = Expectations::read(&["expect: two words".to_owned()]).unwrap_err();
        assert!(error.contains("`two words`"), "{error}");
    }

    #[test]
    fn a_script_names_the_one_before_it_at_the_top() {
        let script = "-- A title: of a script\n-- after: 01_report.sql\nselect 1;\n-- after: x\nINSERT INTO t VALUES (1)";
        let statements = split_statements(script).unwrap();
        assert_eq!(begins_after(&statements), Some("01_report.sql"));
        let making: Vec<bool> = statements.iter().map(makes_something).collect();
        assert_eq!(making, [false, true]);
        assert_eq!(begins_after(&statements[1..]), Some("x"));
        assert_eq!(begins_after(&[]), None);
    }
}
