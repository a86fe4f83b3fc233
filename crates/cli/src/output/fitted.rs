//! A table: for a terminal at most so many rows, no wider than there is room; else whole.
//!
//! The first rows decide the widths, the rest is printed as it arrives: a long result neither waits
//! for its end nor fills the memory. Where later rows are wider, the header is printed anew above
//! them. With a limit, its rows are all that is printed.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::fit::{GAP, Slot, Want, fit};
use super::text::{exactly, rows_of, visible, width};
use super::{ResultPrinter, Shape};
use crate::status::Result;

/// Rows looked at before the widths are settled, where the limit doesn't settle it.
const PREVIEW_ROWS: usize = 1_000;

pub(super) struct FittedPrinter {
    shape: Shape,
    header: Vec<String>,
    /// Which columns are numbers.
    numeric: Vec<bool>,
    /// What the columns of the rows so far would take.
    wants: Vec<Want>,
    waiting: Vec<Vec<String>>,
    /// The columns as printed, once they are.
    slots: Option<Vec<Slot>>,
    /// Rows printed or waiting to be.
    taken: usize,
}

impl FittedPrinter {
    pub(super) fn new(schema: &SchemaRef, shape: Shape) -> Self {
        let header: Vec<String> = schema.fields().iter().map(|f| visible(f.name())).collect();
        let wants = header.iter().map(|name| Want { width: width(name), least: 0 }).collect();
        let numeric = schema.fields().iter().map(|field| field.data_type().is_numeric()).collect();
        Self { shape, header, numeric, wants, waiting: vec![], slots: None, taken: 0 }
    }

    fn limit(&self) -> usize {
        self.shape.row_limit.unwrap_or(usize::MAX)
    }

    /// Prints what waits, under a header where it needs one of its own.
    fn print(&mut self, out: &mut dyn Write) -> Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        self.widen(&rows);
        let slots = fit(&self.wants, self.shape.width);
        if self.slots.as_ref() != Some(&slots) {
            self.print_header(&slots, rows.is_empty(), out)?;
        }
        rows.iter().try_for_each(|row| print_row(row, &slots, out))?;
        if self.taken == self.limit() {
            writeln!(out, "{}", border(&slots))?;
        }
        self.slots = Some(slots);
        Ok(())
    }

    fn print_header(&self, slots: &[Slot], alone: bool, out: &mut dyn Write) -> Result<()> {
        writeln!(out, "{}", border(slots))?;
        print_row(&self.header, slots, out)?;
        // A table without rows is closed by one border.
        if !alone {
            writeln!(out, "{}", border(slots))?;
        }
        Ok(())
    }

    fn widen(&mut self, rows: &[Vec<String>]) {
        for (i, want) in self.wants.iter_mut().enumerate() {
            let widest = rows.iter().map(|row| width(&row[i])).max().unwrap_or(0);
            want.width = want.width.max(widest);
            if self.numeric[i] {
                want.least = want.least.max(widest);
            }
        }
    }

    /// `9 of 19 columns shown: \x shows every column, \pager the whole table`.
    fn columns_left_out(&self) -> Option<String> {
        let slots = self.slots.as_deref()?;
        let shown = slots.iter().filter(|slot| matches!(slot, Slot::Column(..))).count();
        (shown < self.header.len()).then(|| {
            let all = self.header.len();
            format!(
                "{shown} of {all} columns shown: \\x shows every column, \\pager the whole table"
            )
        })
    }
}

impl ResultPrinter for FittedPrinter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let room = self.limit() - self.taken;
        if room == 0 {
            return Ok(());
        }
        let rows = rows_of(batch, room, self.shape.colours)?;
        self.taken += rows.len();
        self.waiting.extend(rows);
        let settled = self.slots.is_some() || self.waiting.len() >= PREVIEW_ROWS;
        match settled || self.taken == self.limit() {
            true => self.print(out),
            false => Ok(()),
        }
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        if self.taken < self.limit() || self.slots.is_none() {
            self.print(out)?;
            if self.taken < self.limit() {
                writeln!(out, "{}", border(self.slots.as_deref().unwrap_or_default()))?;
            }
        }
        if let Some(note) = self.columns_left_out() {
            writeln!(out, "{note}")?;
        }
        Ok(())
    }
}

fn border(slots: &[Slot]) -> String {
    let dashes = slots.iter().map(|slot| "-".repeat(slot.width() + 2));
    format!("+{}+", dashes.collect::<Vec<_>>().join("+"))
}

/// A row is as high as its highest cell.
fn print_row(cells: &[String], slots: &[Slot], out: &mut dyn Write) -> Result<()> {
    let height = cells.iter().map(|cell| cell.lines().count()).max().unwrap_or(1).max(1);
    for line in 0..height {
        for slot in slots {
            let text = match slot {
                Slot::Column(index, _) => cells[*index].lines().nth(line).unwrap_or(""),
                Slot::Gap => GAP,
            };
            write!(out, "| {} ", exactly(text, slot.width()))?;
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

    fn numbers(count: i64) -> RecordBatch {
        numbers_from(0, count)
    }

    fn numbers_from(first: i64, count: i64) -> RecordBatch {
        let n: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + count));
        let s: ArrayRef =
            Arc::new(StringArray::from(vec!["a text that has many letters"; count as usize]));
        RecordBatch::try_from_iter([("number", n), ("text", s)]).unwrap()
    }

    fn printed(batches: &[RecordBatch], width: usize, row_limit: Option<usize>) -> String {
        let mut printer = FittedPrinter::new(
            &numbers(0).schema(),
            Shape { width, row_limit, expanded: false, colours: false },
        );
        let mut out = Vec::new();
        for batch in batches {
            printer.batch(batch, &mut out).unwrap();
        }
        printer.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_cell_without_room_is_cut() {
        let expected = "\
+--------+----------------------+
| number | text                 |
+--------+----------------------+
| 0      | a text that has man… |
+--------+----------------------+
";
        assert_eq!(printed(&[numbers(1)], 33, None), expected);
    }

    #[test]
    fn a_limit_ends_the_table_where_it_is_reached() {
        for batches in [vec![numbers(50), numbers(50)], vec![numbers(3), numbers(7)]] {
            let table = printed(&batches, 80, Some(10));
            assert_eq!(table.lines().count(), 10 + 4, "{table}");
            assert!(table.ends_with("+\n"), "{table}");
        }
    }

    #[test]
    fn without_a_limit_every_row_comes_through() {
        let table = printed(&[numbers(900), numbers(900), numbers(9)], 80, None);
        assert_eq!(table.lines().count(), 1_809 + 4);
        assert_eq!(printed(&[], 80, Some(40)).lines().count(), 3);
        assert_eq!(printed(&[], 80, Some(0)).lines().count(), 3);
    }

    #[test]
    fn columns_that_are_left_out_are_counted() {
        let table = printed(&[numbers(1)], 12, None);
        assert!(table.contains("| number | … |"), "{table}");
        assert!(table.contains("1 of 2 columns shown: \\x"), "{table}");
    }

    #[test]
    fn later_rows_that_are_wider_get_a_header_of_their_own() {
        let wide = numbers_from(1_234_567_890, 3);
        for width in [80, 40, usize::MAX] {
            let table = printed(&[numbers(1_000), wide.clone(), numbers(2)], width, None);
            assert!(table.contains("| 1234567890 |"), "{table}");
            assert_eq!(table.matches("| number ").count(), 2);
            assert_eq!(table.lines().count(), 1_005 + 3 + 3 + 1);
        }
    }

    #[test]
    fn lines_inside_a_cell_stay_in_their_column() {
        let slots = [Slot::Column(0, 3), Slot::Column(1, 2)];
        let mut out = Vec::new();
        print_row(&["a\nb".to_owned(), "c".to_owned()], &slots, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "| a   | c  |\n| b   |    |\n");
    }
}
