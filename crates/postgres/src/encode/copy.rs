//! Rows in the format of `COPY .. (FORMAT binary)`.

use bytes::{BufMut, Bytes, BytesMut};
use datafusion::arrow::array::RecordBatch;
use partwise_stream::{Error, Result};

use super::Encoder;
use crate::target::Column;

/// What the stream begins with: a signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Bytes that are sent in one piece.
const PIECE: usize = 128 * 1024;

/// Rows on their way into a `COPY`, each with the same values behind its own.
#[derive(Debug, Default)]
pub(crate) struct CopyRows {
    out: BytesMut,
}

impl CopyRows {
    /// The beginning of a stream.
    pub fn begin() -> Self {
        Self { out: BytesMut::from(HEADER) }
    }

    /// The rest of a stream.
    pub fn end(mut self) -> Bytes {
        self.out.put_i16(-1);
        self.out.freeze()
    }

    /// Adds rows from `row` on, until a piece is full; the row to go on from.
    ///
    /// # Errors
    /// A value that PostgreSQL doesn't have.
    pub fn add(
        &mut self,
        encoders: &[Encoder],
        rows: usize,
        mut row: usize,
        behind: &dyn Fn(usize, &mut BytesMut),
        behind_columns: usize,
    ) -> Result<usize> {
        let columns = i16::try_from(encoders.len() + behind_columns)
            .map_err(|_| Error::invalid("PostgreSQL has at most 1,600 columns"))?;
        while row < rows && self.out.len() < PIECE {
            self.out.put_i16(columns);
            encoders.iter().try_for_each(|encoder| encoder.put(row, &mut self.out))?;
            behind(row, &mut self.out);
            row += 1;
        }
        Ok(row)
    }

    /// A piece to be sent, where one is full.
    pub fn piece(&mut self) -> Option<Bytes> {
        (self.out.len() >= PIECE).then(|| self.out.split().freeze())
    }
}

/// The encoders of the columns of a record batch.
pub(crate) fn encoders(columns: &[Column], rows: &RecordBatch) -> Result<Vec<Encoder>> {
    let encoder = |column: &Column| {
        Encoder::new(&column.name, rows.column(column.from), &column.kind, column.typmod)
    };
    columns.iter().map(encoder).collect()
}
