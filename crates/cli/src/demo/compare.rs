//! What a statement gave beside what its script expects.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::util::display::array_value_to_string;
use partwise_sql::thousands;

use crate::directive::{Bound, Cell, Keep, Template};
use crate::figures::{Figure, Figures};

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
    /// A figure that others are compared with.
    Kept {
        /// The column's name.
        label: String,
        /// What the statement gave.
        computed: String,
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
            Self::Kept { .. } => true,
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

    /// A value by its name: a column of the first row, or `name=number` in a plan.
    fn value(&self, name: &str) -> Option<String> {
        match self.columns.iter().position(|column| column == name) {
            Some(column) => self.rows.first().map(|row| row[column].clone()),
            None => number_after(&format!("{name}="), &self.text()),
        }
    }

    fn figure(&self, name: &str) -> Option<Figure> {
        let value = self.value(name)?;
        Figure::parse(&value).or_else(|| Figure::Cents(0).read_like(&value))
    }
}

/// The digits behind the first `key` that begins a word.
fn number_after(key: &str, text: &str) -> Option<String> {
    let begins_word = |at: usize| !text[..at].ends_with(|c: char| c == '_' || c.is_alphanumeric());
    let (at, _) = text.match_indices(key).find(|&(at, _)| begins_word(at))?;
    let rest = &text[at + key.len()..];
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (digits > 0).then(|| rest[..digits].to_owned())
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
    if !expected.iter().any(|cell| matches!(cell, Cell::Number(_) | Cell::Named(_))) {
        found.extend(texts_alone(expected, row, columns));
        return Ok(found);
    }
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

/// The texts of a row that has nothing else to compare.
fn texts_alone(expected: &[Cell], row: &[String], columns: &[String]) -> Vec<Comparison> {
    let cells = expected.iter().zip(row).zip(columns);
    let compare = |((cell, computed), column): ((&Cell, &String), &String)| {
        let Cell::Text(text) = cell else { return None };
        let label = column.replace('_', " ");
        let agrees = text == computed;
        Some(match agrees {
            true => Comparison::Text { text: format!("{label}: {text}"), agrees },
            false => differing_text(label, computed, text),
        })
    };
    cells.filter_map(compare).collect()
}

fn differing_text(label: String, computed: &str, expected: &str) -> Comparison {
    let (computed, expected) = (computed.to_owned(), expected.to_owned());
    Comparison::Figure { label, computed, expected, agrees: false }
}

/// Among figures a text is only worth a line where it differs: it is the label of the others.
fn compare_cell(
    cell: &Cell,
    computed: &str,
    label: String,
    figures: &Figures,
) -> Result<Option<Comparison>, String> {
    if let Cell::Text(text) = cell {
        return Ok((text != computed).then(|| differing_text(label, computed, text)));
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

/// Looks at each value that must be above or below something.
///
/// # Errors
/// A name that is no figure.
pub(super) fn compare_bounds(
    expected: &[Bound],
    grid: &Grid,
    figures: &Figures,
) -> Result<Vec<Comparison>, String> {
    let compare = |bound: &Bound| {
        let Some(limit) = bound.limit.number(figures)? else { return Ok(None) };
        let value = grid.figure(&bound.value);
        Ok(Some(Comparison::Figure {
            label: bound.value.replace('_', " "),
            computed: value.map_or_else(|| "nothing".to_owned(), |value| value.to_string()),
            expected: format!("{} {limit}", bound.relation),
            agrees: value.is_some_and(|value| bound.relation.holds(value, limit)),
        }))
    };
    expected.iter().filter_map(|bound| compare(bound).transpose()).collect()
}

/// Keeps values of the result as figures, and says which.
///
/// # Errors
/// A value that isn't there or is no number; a name that is taken.
pub(super) fn keep(
    keeps: &[Keep],
    grid: &Grid,
    figures: &mut Figures,
) -> Result<Vec<Comparison>, String> {
    let mut kept = Vec::with_capacity(keeps.len());
    for keep in keeps {
        let figure = grid.figure(&keep.value);
        let missing = || format!("the result has no number `{}` to keep", keep.value);
        let figure = figure.ok_or_else(missing)?;
        figures.keep(&keep.name, figure)?;
        let label = keep.value.replace('_', " ");
        kept.push(Comparison::Kept { label, computed: figure.to_string() });
    }
    Ok(kept)
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
    fn a_bound_looks_at_a_column_or_into_a_plan() {
        let expected = Expectations::read(&["expect value: rows_read > 5".to_owned()]).unwrap();
        let figures = Figures::at_scale(1.0).unwrap();
        let agrees =
            |grid: &Grid| compare_bounds(&expected.bounds, grid, &figures).unwrap()[0].agrees();
        assert!(agrees(&grid(&["rows_read"], &[&["6"]])));
        assert!(!agrees(&grid(&["rows_read"], &[&["5"]])));
        assert!(agrees(&grid(&["plan"], &[&["max_rows_read=1, rows_read=77, x"]])));
        assert!(!agrees(&grid(&["plan"], &[&["rows_read=K, max_rows_read=77"]])));
        assert!(!agrees(&grid(&["other"], &[])));
    }

    #[test]
    fn what_is_kept_is_compared_with_later() {
        let mut figures = Figures::at_scale(1.0).unwrap();
        let read = |text: &str| Expectations::read(&[text.to_owned()]).unwrap();
        let plan = grid(&["plan"], &[&["files=2/3, rows"]]);
        keep(&read("keep: flat.files = files").keeps, &plan, &mut figures).unwrap();
        let later = read("expect: flat.files");
        let found = compare_rows(&later.rows, &grid(&["n"], &[&["2"]]), &figures).unwrap();
        assert!(found[0].agrees(), "{found:?}");
        let gone = keep(&read("keep: a.b = nosuch").keeps, &plan, &mut figures).unwrap_err();
        assert!(gone.contains("nosuch"), "{gone}");
    }

    #[test]
    fn texts_are_compared_where_there_are_no_figures() {
        let named = grid(&["codec", "bytes"], &[&["ZSTD", "5"]]);
        let found = compared("expect: 'ZSTD', _", &named);
        assert_eq!(found, vec![Comparison::Text { text: "codec: ZSTD".into(), agrees: true }]);
        assert!(!compared("expect: 'GZIP', _", &named)[0].agrees());
    }

    #[test]
    fn a_null_is_no_figure() {
        let found = compared("expect: 5", &grid(&["n"], &[&[""]]));
        assert!(!found[0].agrees());
    }
}
