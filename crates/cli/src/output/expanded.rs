//! One line per column: for rows too wide for a table.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use super::text::{exactly, rows_of, visible, width};
use super::{ResultPrinter, Shape};
use crate::status::Result;

pub(super) struct ExpandedPrinter {
    shape: Shape,
    names: Vec<String>,
    printed: usize,
}

impl ExpandedPrinter {
    pub(super) fn new(schema: &SchemaRef, shape: Shape) -> Self {
        let names: Vec<String> = schema.fields().iter().map(|f| visible(f.name())).collect();
        let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
        let names = names.iter().map(|name| exactly(name, widest)).collect();
        Self { shape, names, printed: 0 }
    }

    fn row(&mut self, cells: &[String], out: &mut dyn Write) -> Result<()> {
        self.printed += 1;
        writeln!(out, "-[ row {} ]-", self.printed)?;
        for (name, cell) in self.names.iter().zip(cells) {
            let mut lines = cell.lines();
            writeln!(out, "{name} | {}", lines.next().unwrap_or(""))?;
            let blank = " ".repeat(width(name));
            lines.try_for_each(|line| writeln!(out, "{blank} | {line}"))?;
        }
        Ok(())
    }
}

impl ResultPrinter for ExpandedPrinter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let room = self.shape.row_limit.unwrap_or(usize::MAX) - self.printed;
        rows_of(batch, room, self.shape.colours)?.iter().try_for_each(|row| self.row(row, out))
    }

    fn finish(&mut self, _out: &mut dyn Write) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    #[test]
    fn each_column_has_a_line() {
        let n: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
        let text: ArrayRef = Arc::new(StringArray::from(vec!["a\nb", "c", "d"]));
        let batch = RecordBatch::try_from_iter([("n", n), ("text", text)]).unwrap();
        let shape = Shape { width: 80, row_limit: Some(2), expanded: true, colours: false };
        let mut printer = ExpandedPrinter::new(&batch.schema(), shape);
        let mut out = Vec::new();
        printer.batch(&batch, &mut out).unwrap();
        printer.batch(&batch, &mut out).unwrap();
        printer.finish(&mut out).unwrap();
        let expected = "\
-[ row 1 ]-
n    | 1
text | a
     | b
-[ row 2 ]-
n    | NULL
text | c
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
