//! Which column of the stream comes from where.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, Int32Array, Int64Array, StringArray, TimestampMillisecondArray,
};
use datafusion::arrow::compute::{CastOptions, can_cast_types, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use datafusion::arrow::error::ArrowError;
use partwise_stream::{Error, Result};

use super::message::{Message, Wanted};
use super::values::Format;

/// Columns of these names are of the message, all others of its value.
pub(crate) const META: [Meta; 6] =
    [Meta::Key, Meta::Topic, Meta::Partition, Meta::Offset, Meta::Timestamp, Meta::Headers];

/// What a message has besides its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meta {
    Key,
    Topic,
    Partition,
    Offset,
    Timestamp,
    Headers,
}

impl Meta {
    /// The column's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "_key",
            Self::Topic => "_topic",
            Self::Partition => "_partition",
            Self::Offset => "_offset",
            Self::Timestamp => "_timestamp",
            Self::Headers => "_headers",
        }
    }

    fn of(name: &str) -> Option<Self> {
        META.into_iter().find(|meta| meta.name() == name)
    }

    /// The type that it has by itself; a declared column may have another that it is cast to.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Key => DataType::Binary,
            Self::Topic | Self::Headers => DataType::Utf8,
            Self::Partition => DataType::Int32,
            Self::Offset => DataType::Int64,
            Self::Timestamp => DataType::Timestamp(TimeUnit::Millisecond, None),
        }
    }

    fn array(self, messages: &[Message], topic: &str, partition: i32) -> ArrayRef {
        let all = messages.iter();
        match self {
            Self::Key => Arc::new(all.map(|m| m.key.as_deref()).collect::<BinaryArray>()),
            Self::Headers => Arc::new(all.map(|m| m.headers.as_deref()).collect::<StringArray>()),
            Self::Topic => Arc::new(all.map(|_| Some(topic)).collect::<StringArray>()),
            Self::Partition => Arc::new(all.map(|_| Some(partition)).collect::<Int32Array>()),
            Self::Offset => Arc::new(all.map(|m| Some(m.offset)).collect::<Int64Array>()),
            Self::Timestamp => {
                Arc::new(all.map(|m| m.timestamp).collect::<TimestampMillisecondArray>())
            }
        }
    }
}

/// The columns of rows, and where each is from.
#[derive(Clone, Debug)]
pub(crate) struct RowColumns {
    format: Format,
    schema: SchemaRef,
    /// All columns of the value, those that aren't asked for too.
    value: SchemaRef,
    /// The columns that are asked for, by place: of the message, or of the value.
    from: Vec<From>,
}

#[derive(Clone, Copy, Debug)]
enum From {
    Meta(Meta),
    /// The place among the columns of the value.
    Value(usize),
}

impl RowColumns {
    /// All columns of a stream.
    ///
    /// # Errors
    /// A column of the message under a type that it can't have; columns of the value that the
    /// format can't give.
    pub fn new(format: Format, schema: SchemaRef) -> Result<Self> {
        let (mut value, mut from) = (Vec::<FieldRef>::new(), Vec::new());
        for field in schema.fields() {
            match Meta::of(field.name()) {
                Some(meta) => {
                    check(&meta.data_type(), field)?;
                    from.push(From::Meta(meta));
                }
                None => {
                    from.push(From::Value(value.len()));
                    value.push(Arc::clone(field));
                }
            }
        }
        format.check(&value)?;
        Ok(Self { format, schema, value: Arc::new(Schema::new(value)), from })
    }

    /// Some of them, in an order.
    ///
    /// # Errors
    /// None of a stream's own columns.
    pub fn project(&self, columns: &[usize]) -> Result<Self> {
        let schema = Arc::new(self.schema.project(columns)?);
        let from = columns.iter().filter_map(|at| self.from.get(*at).copied()).collect();
        Ok(Self { schema, from, ..self.clone() })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub fn wanted(&self) -> Wanted {
        let has = |meta| self.from.iter().any(|from| matches!(from, From::Meta(m) if *m == meta));
        Wanted { key: has(Meta::Key), headers: has(Meta::Headers) }
    }

    pub(super) fn decode(
        &self,
        messages: &[Message],
        topic: &str,
        partition: i32,
        misfit: Misfit,
    ) -> Result<Vec<ArrayRef>, ArrowError> {
        let value = |from: &From| match from {
            From::Value(at) => Some(*at),
            From::Meta(_) => None,
        };
        let places: Vec<usize> = self.from.iter().filter_map(value).collect();
        let mut values = self.format.decode(&self.value, &places, messages)?.into_iter();
        let mut columns = Vec::with_capacity(self.from.len());
        for (from, field) in self.from.iter().zip(self.schema.fields()) {
            let column = match from {
                From::Meta(meta) => {
                    as_type(&meta.array(messages, topic, partition), field, misfit)?
                }
                From::Value(_) => values.next().ok_or_else(|| {
                    ArrowError::ComputeError(format!("no column {}", field.name()))
                })?,
            };
            columns.push(column);
        }
        Ok(columns)
    }
}

/// What becomes of a part of a message that isn't of its column's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    Fail,
    Null,
}

/// A column under the type that is declared for it.
pub(super) fn as_type(
    column: &ArrayRef,
    field: &Field,
    misfit: Misfit,
) -> Result<ArrayRef, ArrowError> {
    let options = CastOptions { safe: misfit == Misfit::Null, ..CastOptions::default() };
    cast_with_options(column, field.data_type(), &options).map_err(|error| {
        let (name, to) = (field.name(), field.data_type());
        let any =
            if column.data_type() == &DataType::Binary { ": BYTEA takes all bytes" } else { "" };
        ArrowError::CastError(format!("the column {name} is {to} ({error}){any}"))
    })
}

/// Checks that a part of messages can be had under a declared type.
pub(super) fn check(part: &DataType, field: &Field) -> Result<()> {
    if can_cast_types(part, field.data_type()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the column {} can't be {}: it is {part}",
        field.name(),
        field.data_type()
    )))
}
