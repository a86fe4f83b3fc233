//! JSON: one array per result, or one object per line.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::json::WriterBuilder;
use arrow::json::writer::{JsonArray, JsonFormat, LineDelimited, Writer};

use super::ResultPrinter;
use crate::status::Result;

/// One array of objects; `[]` when there are no rows.
pub(super) type ArrayPrinter = JsonPrinter<JsonArray>;

/// One object per line; nothing when there are no rows.
pub(super) type LinePrinter = JsonPrinter<LineDelimited>;

/// Objects with every column, also where it is NULL.
pub(super) struct JsonPrinter<F: JsonFormat> {
    writer: Writer<Vec<u8>, F>,
}

impl<F: JsonFormat> JsonPrinter<F> {
    pub(super) fn new() -> Self {
        Self { writer: WriterBuilder::new().with_explicit_nulls(true).build(Vec::new()) }
    }

    fn pass_on(&mut self, out: &mut dyn Write) -> Result<()> {
        let buffer = self.writer.get_mut();
        out.write_all(buffer)?;
        buffer.clear();
        Ok(())
    }
}

impl<F: JsonFormat + Send> ResultPrinter for JsonPrinter<F> {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        self.writer.write(batch)?;
        self.pass_on(out)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        self.writer.finish()?;
        let has_tail = !self.writer.get_ref().is_empty();
        self.pass_on(out)?;
        if has_tail {
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}
