//! Results on their way out.
//!
//! ```text
//! RecordBatch -> ResultPrinter (table | csv, tsv | json, nd-json) -> Console -> stdout
//! commit lines, notices ------------------------------------------> Console -> stdout or stderr
//! ```

mod console;
mod delimited;
mod expanded;
mod fit;
mod fitted;
mod json;
mod plan;
mod text;

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

pub use console::{Console, Pipe, wants_colours};

use crate::args::Format;
use crate::status::{Failure, Result};

/// Prints one result, batch by batch.
pub trait ResultPrinter: Send {
    /// Prints a batch, or keeps it where the layout needs more rows to be known.
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()>;

    /// Prints what is still kept and closes the result.
    fn finish(&mut self, out: &mut dyn Write) -> Result<()>;
}

/// The printer for a format; a plan printed for people is text, not a table.
pub fn printer(format: Format, schema: &SchemaRef, is_explain: bool) -> Box<dyn ResultPrinter> {
    match format {
        Format::Table if is_explain => Box::new(plan::PlanPrinter::default()),
        Format::Table => shaped_printer(schema, Shape::WHOLE),
        Format::Csv => Box::new(delimited::DelimitedPrinter::new(schema.clone(), b',')),
        Format::Tsv => Box::new(delimited::DelimitedPrinter::new(schema.clone(), b'\t')),
        Format::Json => Box::new(json::ArrayPrinter::new()),
        Format::NdJson => Box::new(json::LinePrinter::new()),
    }
}

/// How much of a result a terminal is to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Columns of the terminal.
    pub width: usize,
    /// Rows shown; none: all.
    pub row_limit: Option<usize>,
    /// One line per column, in place of one per row.
    pub expanded: bool,
    /// Whether what reads it shows colours.
    pub colours: bool,
}

impl Shape {
    /// Every row and column, for whatever reads it.
    pub const WHOLE: Self =
        Self { width: usize::MAX, row_limit: None, expanded: false, colours: false };
}

/// The printer for people at a terminal.
pub fn shaped_printer(schema: &SchemaRef, shape: Shape) -> Box<dyn ResultPrinter> {
    match shape.expanded {
        true => Box::new(expanded::ExpandedPrinter::new(schema, shape)),
        false => Box::new(fitted::FittedPrinter::new(schema, shape)),
    }
}

impl From<arrow::error::ArrowError> for Failure {
    fn from(error: arrow::error::ArrowError) -> Self {
        Failure::failed(format!("the result can't be printed: {error}"))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Failure::failed(format!("the result can't be written: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    fn sample() -> RecordBatch {
        let n: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        let s: ArrayRef = Arc::new(StringArray::from(vec![Some("a,\"b\"\tc"), Some("")]));
        RecordBatch::try_from_iter([("n", n), ("s", s)]).unwrap()
    }

    fn printed(format: Format, batches: &[RecordBatch]) -> String {
        let mut out = Vec::new();
        let mut printer = printer(format, &sample().schema(), false);
        for batch in batches {
            printer.batch(batch, &mut out).unwrap();
        }
        printer.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn csv_and_tsv_have_a_header_and_quote_what_needs_it() {
        let csv = printed(Format::Csv, &[sample(), sample()]);
        let row = "1,\"a,\"\"b\"\"\tc\"\n,\n";
        assert_eq!(csv, format!("n,s\n{row}{row}"));
        let tsv = printed(Format::Tsv, &[sample()]);
        assert!(tsv.starts_with("n\ts\n1\t\"a,"), "{tsv}");
    }

    #[test]
    fn json_is_one_array_and_keeps_nulls() {
        let json = printed(Format::Json, &[sample(), sample()]);
        let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(rows.as_array().unwrap().len(), 4);
        assert!(rows[1].as_object().unwrap()["n"].is_null());
        assert_eq!(printed(Format::NdJson, &[sample()]).lines().count(), 2);
    }

    #[test]
    fn a_table_obeys_no_value() {
        let text: ArrayRef = Arc::new(StringArray::from(vec!["\u{1b}[31mred", "a\tb\r", "c\nd"]));
        let batch = RecordBatch::try_from_iter([("t", text)]).unwrap();
        let mut out = Vec::new();
        let mut printer = printer(Format::Table, &batch.schema(), false);
        printer.batch(&batch, &mut out).unwrap();
        printer.finish(&mut out).unwrap();
        let table = String::from_utf8(out).unwrap();
        assert!(!table.contains(['\u{1b}', '\t', '\r']), "{table}");
        assert!(table.contains("| \\u{1b}[31mred |"), "{table}");
        let width = table.lines().next().unwrap().len();
        assert!(table.lines().all(|line| line.len() == width), "{table}");
    }

    #[test]
    fn an_empty_result_still_has_its_shape() {
        assert_eq!(printed(Format::Json, &[]), "[]\n");
        assert_eq!(printed(Format::NdJson, &[]), "");
        assert_eq!(printed(Format::Csv, &[]), "n,s\n");
        assert_eq!(printed(Format::Table, &[]).lines().nth(1), Some("| n | s |"));
    }
}
