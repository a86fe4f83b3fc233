//! Arrow's values in PostgreSQL's binary format.
//!
//! ```text
//! Encoder   column of a record batch -> normal (one Arrow type for each kind) -> per value: length, bytes
//!    |--> COPY     a row: number of columns, its values
//!    `--> arrays   a column: header, its values
//! ```

mod copy;
mod normal;
mod numeric;
mod value;

pub(crate) use copy::{CopyRows, encoders};

use std::error::Error as StdError;

use bytes::{BufMut, BytesMut};
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::buffer::NullBuffer;
use partwise_stream::{Error, Result};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::kind::Kind;
use crate::target::Column;

/// Puts the bytes of the value in a row behind others.
type Put = Box<dyn Fn(usize, &mut BytesMut) -> Result<()> + Send + Sync>;

/// The values of a column, ready to be written.
pub(crate) struct Encoder {
    nulls: Option<NullBuffer>,
    put: Put,
}

impl Encoder {
    /// The values of a column as a kind that takes them; `typmod` is the column's.
    ///
    /// # Errors
    /// A value that the kind doesn't have, such as nanoseconds; the column is named.
    pub fn new(name: &str, values: &ArrayRef, kind: &Kind, typmod: i32) -> Result<Self> {
        let normal = normal::normal(values, kind).map_err(|error| in_column(name, &error))?;
        let put = value::put(&normal, kind, typmod).map_err(|error| in_column(name, &error))?;
        let name = name.to_owned();
        Ok(Self {
            nulls: normal.logical_nulls(),
            put: Box::new(move |row, out| put(row, out).map_err(|error| in_column(&name, &error))),
        })
    }

    /// Puts the length and the bytes of a value.
    ///
    /// # Errors
    /// A value that PostgreSQL doesn't have.
    pub fn put(&self, row: usize, out: &mut BytesMut) -> Result<()> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            out.put_i32(-1);
            return Ok(());
        }
        let length_at = out.len();
        out.put_i32(0);
        (self.put)(row, out)?;
        let length = i32::try_from(out.len() - length_at - 4)
            .map_err(|_| Error::invalid("a value of more than 2 GiB"))?;
        out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

fn in_column(name: &str, error: &Error) -> Error {
    Error::new(error.kind(), format!("column {name}: {error}"))
}

/// Puts what comes before the values of an array.
fn put_array_header(kind: &Kind, values: usize, out: &mut BytesMut) -> Result<()> {
    let length = i32::try_from(values).map_err(|_| Error::invalid("an array too long"))?;
    out.put_i32(i32::from(length > 0));
    out.put_i32(1);
    out.put_u32(kind.element().oid());
    if length > 0 {
        out.put_i32(length);
        out.put_i32(1);
    }
    Ok(())
}

/// A whole column as one parameter: an array.
#[derive(Debug)]
pub(crate) struct ArrayParameter(BytesMut);

impl ArrayParameter {
    /// The values of a column in several record batches, `rows` in all.
    ///
    /// # Errors
    /// As those of [`Encoder`].
    pub fn new<'a>(
        column: &Column,
        rows: usize,
        pieces: impl Iterator<Item = &'a ArrayRef>,
    ) -> Result<Self> {
        let mut out = BytesMut::new();
        put_array_header(&column.kind, rows, &mut out)?;
        for values in pieces {
            let encoder = Encoder::new(&column.name, values, &column.kind, column.typmod)?;
            for row in 0..values.len() {
                encoder.put(row, &mut out)?;
            }
        }
        Ok(Self(out))
    }
}

impl ToSql for ArrayParameter {
    fn to_sql(
        &self,
        _ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(_ty: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
