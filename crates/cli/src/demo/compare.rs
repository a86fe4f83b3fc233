//! What a statement gave beside what its script expects.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::util::display::array_value_to_string;
use partwise_sql::thousands;

use crate::directive::{Cell, Template};
use crate::figures::Figures;

/// One thing compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Comparison {
    /// A figure.
    Figure {
        /// The row's texts and the column's name.
        label: String,
        /// What the statement gave.
        computed: String,
        /// What it should have given.
        expected: String,
        /// Whether they are equal.
        agrees: bool,
    },
    /// A text that must occur.
    Text {
        /// The text.
        text: String,
        /// Whether it does.
        agrees: bool,
    },
}

impl Comparison {
    pub(super) fn agrees(&self) -> bool {
        match self {
            Self::Figure { agrees, .. } | Self::Text { agrees, .. } => *agrees,
        }
    }
}

/// A result as text, cell by cell.
#[derive(Debug, Default)]
pub(super) struct Grid {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Grid {
    /// Reads a result; a cell that can't be shown says why.
    pub(super) fn of(schema: &SchemaRef, batches: &[RecordBatch]) -> Self {
        let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        let rows =
            batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| cells(batch, row)));
        Self { columns, rows: rows.collect() }
    }

    /// All of it as one text.
    pub(super) fn text(&self) -> String {
        let rows = self.rows.iter().map(|row| row.join("\n"));
        rows.collect::<Vec<_>>().join("\n")
    }
}

fn cells(batch: &RecordBatch, row: usize) -> Vec<String> {
    let cell = |column| array_value_to_string(column, row).unwrap_or_else(|e| e.to_string());
    batch.columns().iter().map(|column| cell(column.as_ref())).collect()
}

/// Compares a result with the rows expected of it, cell by cell.
///
/// # Errors
/// A name that is no figure.
pub(super) fn compare_rows(
    expected: &[Vec<Cell>],
    grid: &Grid,
    figures: &Figures,
) -> Result<Vec<Comparison>, String> {
    if expected.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    if expected.len() != grid.rows.len() {
        found.push(figure("rows in the result", grid.rows.len(), expected.len()));
    }
    for (cells, row) in expected.iter().zip(&grid.rows) {
        found.extend(compare_row(cells, row, &grid.columns, figures)?);
    }
    Ok(found)
}

fn compare_row(
    expected: &[Cell],
    row: &[String],
    columns: &[String],
    figures: &Figures,
) -> Result<Vec<Comparison>, String> {
    if expected.len() != row.len() {
        return Ok(vec![figure("columns in the result", row.len(), expected.len())]);
    }
    let label = row_label(expected);
    let mut found = Vec::new();
    for ((cell, computed), column) in expected.iter().zip(row).zip(columns) {
        let label = format!("{label}{}", column.replace('_', " "));
        found.extend(compare_cell(cell, computed, label, figures)?);
    }
    Ok(found)
}

/// The texts of a row name it.
fn row_label(expected: &[Cell]) -> String {
    let texts = expected.iter().filter_map(|cell| match cell {
        Cell::Text(text) => Some(format!("{text} ")),
        _ => None,
    });
    texts.collect()
}

/// A text cell is only worth a line where it differs: it is the label of the others.
fn compare_cell(
    cell: &Cell,
    computed: &str,
    label: String,
    figures: &Figures,
) -> Result<Option<Comparison>, String> {
    if let Cell::Text(text) = cell {
        let differs = text != computed;
        let (computed, expected) = (computed.to_owned(), text.clone());
        let comparison = Comparison::Figure { label, computed, expected, agrees: false };
        return Ok(differs.then_some(comparison));
    }
    let Some(expected) = cell.number(figures)? else { return Ok(None) };
    let read = expected.read_like(computed);
    Ok(Some(Comparison::Figure {
        label,
        computed: read.map_or_else(|| computed.to_owned(), |figure| figure.to_string()),
        expected: expected.to_string(),
        agrees: read == Some(expected),
    }))
}

fn figure(label: &str, computed: usize, expected: usize) -> Comparison {
    Comparison::Figure {
        label: label.to_owned(),
        computed: thousands(computed as u64),
        expected: thousands(expected as u64),
        agrees: computed == expected,
    }
}

/// Looks for each expected text.
///
/// # Errors
/// A name that is no figure.
pub(super) fn compare_texts(
    expected: &[Template],
    text: &str,
    figures: &Figures,
) -> Result<Vec<Comparison>, String> {
    let compare = |template: &Template| {
        Ok(Comparison::Text {
            text: template.filled(figures)?,
            agrees: template.is_in(text, Some(figures))?,
        })
    };
    expected.iter().map(compare).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directive::Expectations;

    fn grid(columns: &[&str], rows: &[&[&str]]) -> Grid {
        let owned = |texts: &[&str]| texts.iter().map(|&t| t.to_owned()).collect::<Vec<_>>();
        Grid { columns: owned(columns), rows: rows.iter().map(|row| owned(row)).collect() }
    }

    fn compared(directive: &str, grid: &Grid) -> Vec<Comparison> {
        let expected = Expectations::read(&[directive.to_owned()]).unwrap();
        let figures = Figures::at_scale(1.0).unwrap();
        compare_rows(&expected.rows, grid, &figures).unwrap()
    }

    #[test]
    fn figures_are_compared_as_numbers_to_the_cent() {
        let directive = "expect: '2024-01', january.trips, january.revenue, _";
        let columns = ["m", "trips", "revenue", "x"];
        let right = grid(&columns, &[&["2024-01", "2964617", "79456198.67", "whatever"]]);
        let found = compared(directive, &right);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(Comparison::agrees), "{found:?}");
        let wrong = grid(&columns, &[&["2024-01", "2964617", "79456198.68", ""]]);
        let found = compared(directive, &wrong);
        assert_eq!(found.iter().filter(|c| !c.agrees()).count(), 1);
    }

    #[test]
    fn a_missing_row_or_column_is_a_difference() {
        let found = compared("expect: 5", &grid(&["n"], &[]));
        assert_eq!(found, vec![figure("rows in the result", 0, 1)]);
        let found = compared("expect: 5", &grid(&["n", "m"], &[&["5", "5"]]));
        assert!(!found[0].agrees());
    }

    #[test]
    fn a_null_is_no_figure() {
        let found = compared("expect: 5", &grid(&["n"], &[&[""]]));
        assert!(!found[0].agrees());
    }
}
