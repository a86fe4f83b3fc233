//! A table that fits a terminal: at most so many rows, no wider than there is room.
//!
//! The first rows decide the widths; with a limit they are all that is printed, the rest is
//! counted.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::fit::{GAP, Slot, fit};
use super::text::{exactly, rows_of, visible, width};
use super::{ResultPrinter, Shape};
use crate::status::Result;

/// Rows looked at before the widths are settled, where the limit doesn't settle it.
const PREVIEW_ROWS: usize = 1_000;

pub(super) struct FittedPrinter {
    shape: Shape,
    header: Vec<String>,
    waiting: Vec<Vec<String>>,
    /// The columns as printed, once they are.
    slots: Option<Vec<Slot>>,
    /// Rows printed or waiting to be.
    taken: usize,
}

impl FittedPrinter {
    pub(super) fn new(schema: &SchemaRef, shape: Shape) -> Self {
        let header = schema.fields().iter().map(|field| visible(field.name())).collect();
        Self { shape, header, waiting: vec![], slots: None, taken: 0 }
    }

    fn limit(&self) -> usize {
        self.shape.row_limit.unwrap_or(usize::MAX)
    }

    /// Prints what waits; the first time with the header.
    fn print(&mut self, out: &mut dyn Write) -> Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        if self.slots.is_none() {
            let slots = fit(&self.widths(&rows), self.shape.width);
            writeln!(out, "{}", border(&slots))?;
            print_row(&self.header, &slots, out)?;
            writeln!(out, "{}", border(&slots))?;
            self.slots = Some(slots);
        }
        let slots = self.slots.as_deref().unwrap_or_default();
        rows.iter().try_for_each(|row| print_row(row, slots, out))?;
        if self.taken == self.limit() {
            writeln!(out, "{}", border(slots))?;
        }
        Ok(())
    }

    fn widths(&self, rows: &[Vec<String>]) -> Vec<usize> {
        let column = |i: usize| rows.iter().map(move |row| width(&row[i])).max().unwrap_or(0);
        self.header.iter().enumerate().map(|(i, name)| width(name).max(column(i))).collect()
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
        let rows = rows_of(batch, 0, room)?;
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
        let n: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
        let s: ArrayRef =
            Arc::new(StringArray::from(vec!["a text that has many letters"; count as usize]));
        RecordBatch::try_from_iter([("number", n), ("text", s)]).unwrap()
    }

    fn printed(batches: &[RecordBatch], width: usize, row_limit: Option<usize>) -> String {
        let mut printer =
            FittedPrinter::new(&numbers(0).schema(), Shape { width, row_limit, expanded: false });
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
        assert_eq!(printed(&[], 80, Some(40)).lines().count(), 4);
        assert_eq!(printed(&[], 80, Some(0)).lines().count(), 4);
    }

    #[test]
    fn columns_that_are_left_out_are_counted() {
        let table = printed(&[numbers(1)], 12, None);
        assert!(table.contains("| number | … |"), "{table}");
        assert!(table.contains("1 of 2 columns shown: \\x"), "{table}");
    }
}
