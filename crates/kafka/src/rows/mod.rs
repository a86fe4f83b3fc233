//! Messages as rows.
//!
//! ```text
//! messages of a piece -> values decoded at once (json, csv, raw) + columns of the messages -> rows
//!                          | where that fails: halves, down to the message that is no row
//!                          v
//!                        fail | null | skip
//! ```

mod columns;
mod message;
mod values;

pub(crate) use columns::{META, RowColumns};
pub(crate) use message::Message;
pub(crate) use values::Format;

use std::str::FromStr;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::error::ArrowError;
use partwise_stream::{Error, Result};

use columns::Misfit;

/// What becomes of a message that is no row of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnBadRecord {
    /// The query stops and names it.
    #[default]
    Fail,
    /// A row whose columns of the value are NULL, or those of the message that don't fit.
    Null,
    /// None.
    Skip,
}

impl FromStr for OnBadRecord {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.to_ascii_lowercase().as_str() {
            "fail" => Ok(Self::Fail),
            "null" => Ok(Self::Null),
            "skip" => Ok(Self::Skip),
            _ => Err(Error::invalid(format!("on_bad_record is '{text}': fail, null or skip"))),
        }
    }
}

/// Makes rows of the messages of one partition.
#[derive(Clone, Debug)]
pub(crate) struct RowDecoder {
    pub columns: RowColumns,
    pub on_bad: OnBadRecord,
    pub topic: String,
    pub partition: i32,
}

impl RowDecoder {
    /// The rows of messages, and how many of these were bad.
    ///
    /// # Errors
    /// A message that is no row, named, where that is an error.
    pub fn rows(&self, messages: &[Message]) -> Result<(RecordBatch, u64)> {
        let (mut rows, mut bad) = (Vec::with_capacity(1), 0);
        self.piece(messages, &mut rows, &mut bad)?;
        let rows = match (rows.pop(), rows.is_empty()) {
            (Some(all), true) => all,
            (None, _) => RecordBatch::new_empty(self.columns.schema().clone()),
            (Some(last), false) => {
                rows.push(last);
                concat_batches(self.columns.schema(), &rows)?
            }
        };
        Ok((rows, bad))
    }

    fn piece(&self, piece: &[Message], rows: &mut Vec<RecordBatch>, bad: &mut u64) -> Result<()> {
        let error = match (self.decode(piece, Misfit::Fail), piece) {
            (Ok(decoded), _) => {
                rows.push(decoded);
                return Ok(());
            }
            (Err(error), [one]) => (error, one),
            (Err(_), many) => {
                let (first, second) = many.split_at(many.len() / 2);
                self.piece(first, rows, bad)?;
                return self.piece(second, rows, bad);
            }
        };
        let (error, message) = error;
        *bad += 1;
        match self.on_bad {
            OnBadRecord::Skip => Ok(()),
            OnBadRecord::Fail => Err(self.named(message, &error)),
            OnBadRecord::Null => {
                let row = self.with_nulls(message).map_err(|error| self.named(message, &error))?;
                rows.push(row);
                Ok(())
            }
        }
    }

    /// A bad message with NULL for the parts of it that don't fit: columns of the message itself
    /// each, those of the value all together.
    fn with_nulls(&self, message: &Message) -> Result<RecordBatch, ArrowError> {
        let emptied = || Message { value: None, ..message.clone() };
        self.decode(std::slice::from_ref(message), Misfit::Null)
            .or_else(|_| self.decode(&[emptied()], Misfit::Null))
    }

    fn decode(&self, messages: &[Message], misfit: Misfit) -> Result<RecordBatch, ArrowError> {
        let columns = self.columns.decode(messages, &self.topic, self.partition, misfit)?;
        let options = RecordBatchOptions::new().with_row_count(Some(messages.len()));
        RecordBatch::try_new_with_options(self.columns.schema().clone(), columns, &options)
    }

    fn named(&self, message: &Message, error: &ArrowError) -> Error {
        Error::invalid(format!(
            "the message at offset {} of the topic '{}', partition {}, is no row of the stream: \
             {error}. OPTIONS ('on_bad_record' 'skip') leaves such messages out and counts them, \
             'null' makes rows of NULLs of them",
            message.offset, self.topic, self.partition
        ))
    }
}
