//! Aligned columns, for people.
//!
//! The first rows decide the widths; the rest is printed as it arrives, so that a long result
//! neither waits for its end nor fills the memory.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow::util::pretty::pretty_format_batches_with_options;

use super::ResultPrinter;
use crate::status::Result;

/// Rows looked at before the widths are settled.
const PREVIEW_ROWS: usize = 1_000;

pub(super) struct TablePrinter {
    preview: Vec<RecordBatch>,
    preview_rows: usize,
    /// The frame, once the preview is printed.
    frame: Option<Frame>,
    options: FormatOptions<'static>,
}

/// The line between the parts of a table, which holds the width of every column.
struct Frame {
    border: String,
}

impl TablePrinter {
    pub(super) fn new(schema: SchemaRef) -> Self {
        Self {
            preview: vec![RecordBatch::new_empty(schema)],
            preview_rows: 0,
            frame: None,
            options: FormatOptions::new().with_null("NULL").with_display_error(true),
        }
    }

    fn print_preview(&mut self, out: &mut dyn Write) -> Result<()> {
        let table = pretty_format_batches_with_options(&self.preview, &self.options)?.to_string();
        self.preview.clear();
        let (rows, border) = table.rsplit_once('\n').unwrap_or(("", &table));
        if !rows.is_empty() {
            writeln!(out, "{rows}")?;
        }
        self.frame = Some(Frame { border: border.to_owned() });
        Ok(())
    }
}

impl ResultPrinter for TablePrinter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        if let Some(frame) = &self.frame {
            return frame.print(batch, &self.options, out);
        }
        self.preview_rows += batch.num_rows();
        self.preview.push(batch.clone());
        match self.preview_rows >= PREVIEW_ROWS {
            true => self.print_preview(out),
            false => Ok(()),
        }
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        if self.frame.is_none() {
            self.print_preview(out)?;
        }
        let border = self.frame.take().map(|frame| frame.border);
        Ok(writeln!(out, "{}", border.unwrap_or_default())?)
    }
}

impl Frame {
    fn widths(&self) -> Vec<usize> {
        let columns = self.border.trim_matches('+').split('+');
        columns.map(|dashes| dashes.chars().count().saturating_sub(2)).collect()
    }

    fn print(
        &self,
        batch: &RecordBatch,
        options: &FormatOptions,
        out: &mut dyn Write,
    ) -> Result<()> {
        let columns = batch.columns().iter();
        let columns: Vec<_> =
            columns.map(|c| ArrayFormatter::try_new(c, options)).collect::<Result<_, _>>()?;
        let widths = self.widths();
        for row in 0..batch.num_rows() {
            let cells = columns.iter().map(|column| column.value(row).to_string());
            print_row(&cells.collect::<Vec<_>>(), &widths, out)?;
        }
        Ok(())
    }
}

/// A row is as high as its highest cell.
fn print_row(cells: &[String], widths: &[usize], out: &mut dyn Write) -> Result<()> {
    let height = cells.iter().map(|cell| cell.lines().count()).max().unwrap_or(1).max(1);
    for line in 0..height {
        for (cell, width) in cells.iter().zip(widths) {
            let text = cell.lines().nth(line).unwrap_or("");
            write!(out, "| {text:<width$} ")?;
        }
        writeln!(out, "|")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    fn numbers(from: i64, count: i64) -> RecordBatch {
        let n: ArrayRef = Arc::new(Int64Array::from_iter_values(from..from + count));
        let s: ArrayRef = Arc::new(StringArray::from(vec![None::<&str>; count as usize]));
        RecordBatch::try_from_iter([("number", n), ("text", s)]).unwrap()
    }

    fn printed(batches: &[RecordBatch]) -> String {
        let mut printer = TablePrinter::new(numbers(0, 0).schema());
        let mut out = Vec::new();
        for batch in batches {
            printer.batch(batch, &mut out).unwrap();
        }
        printer.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn null_is_written_out() {
        let table = printed(&[numbers(7, 1)]);
        let expected = "\
+--------+------+
| number | text |
+--------+------+
| 7      | NULL |
+--------+------+
";
        assert_eq!(table, expected);
    }

    #[test]
    fn a_long_result_has_one_frame_and_every_row() {
        let table = printed(&[numbers(0, 900), numbers(900, 900), numbers(1_800, 900)]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 2_700 + 4);
        assert!(lines.iter().all(|line| line.len() == lines[0].len()));
        assert_eq!(lines.iter().filter(|line| line.starts_with('+')).count(), 3);
        assert_eq!(lines[lines.len() - 2], "| 2699   | NULL |");
    }

    #[test]
    fn lines_inside_a_cell_stay_in_their_column() {
        let mut out = Vec::new();
        print_row(&["a\nb".to_owned(), "c".to_owned()], &[3, 2], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "| a   | c  |\n| b   |    |\n");
    }
}
