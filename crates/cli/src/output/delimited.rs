//! Comma- and tab-separated values, header first; NULL is an empty field.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::csv::WriterBuilder;
use arrow::datatypes::SchemaRef;

use super::ResultPrinter;
use crate::status::Result;

pub(super) struct DelimitedPrinter {
    schema: SchemaRef,
    delimiter: u8,
    header_written: bool,
}

impl DelimitedPrinter {
    pub(super) fn new(schema: SchemaRef, delimiter: u8) -> Self {
        Self { schema, delimiter, header_written: false }
    }

    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let header = !std::mem::replace(&mut self.header_written, true);
        let format = WriterBuilder::new().with_header(header).with_delimiter(self.delimiter);
        Ok(format.build(out).write(batch)?)
    }
}

impl ResultPrinter for DelimitedPrinter {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        self.write(batch, out)
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        match self.header_written {
            true => Ok(()),
            false => self.write(&RecordBatch::new_empty(self.schema.clone()), out),
        }
    }
}
