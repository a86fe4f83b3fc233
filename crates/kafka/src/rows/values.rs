//! What the values of messages are: JSON objects, CSV records, or just bytes.

use std::str::FromStr;
use std::sync::Arc;

use arrow::csv::ReaderBuilder as CsvReader;
use datafusion::arrow::array::{ArrayRef, BinaryArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, SchemaRef};
use datafusion::arrow::error::ArrowError;
use partwise_stream::source::json::ExactColumns;
use partwise_stream::{Error, Result};

use super::columns::{Misfit, as_type, check};
use super::message::Message;

/// What the value of a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    /// A JSON object; fields that aren't declared are left alone.
    #[default]
    Json,
    /// One CSV record, without a header.
    Csv,
    /// Bytes or text: one column.
    Raw,
}

impl Format {
    /// The word in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Raw => "raw",
        }
    }

    /// Checks the declared columns of the value.
    ///
    /// # Errors
    /// More than one for bytes, or one that bytes can't be.
    pub fn check(self, value: &[FieldRef]) -> Result<()> {
        match (self, value) {
            (Self::Json | Self::Csv, _) | (Self::Raw, []) => Ok(()),
            (Self::Raw, [one]) => check(&DataType::Binary, one),
            (Self::Raw, many) => Err(Error::invalid(format!(
                "format 'raw' gives the value as one column of STRING or BYTEA, and there are {}: \
                 columns of the message itself are _key, _topic, _partition, _offset, _timestamp \
                 and _headers",
                many.len()
            ))),
        }
    }

    /// Some columns of the values, by their places in `schema`, in this order. A message without a
    /// value gives NULLs.
    ///
    /// # Errors
    /// A value that isn't of the format, or doesn't fit the columns.
    pub fn decode(
        self,
        schema: &SchemaRef,
        places: &[usize],
        messages: &[Message],
    ) -> Result<Vec<ArrayRef>, ArrowError> {
        if messages.is_empty() {
            let none = RecordBatch::new_empty(Arc::new(schema.project(places)?));
            return Ok(none.columns().to_vec());
        }
        match self {
            Self::Json => json(Arc::new(schema.project(places)?), messages),
            Self::Csv => csv(schema, places, messages),
            Self::Raw => places.iter().map(|at| raw(schema.field(*at), messages)).collect(),
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let all = [Self::Json, Self::Csv, Self::Raw];
        all.into_iter().find(|format| format.name().eq_ignore_ascii_case(text)).ok_or_else(|| {
            Error::invalid(format!("format '{text}': messages are json, csv or raw"))
        })
    }
}

fn json(schema: SchemaRef, messages: &[Message]) -> Result<Vec<ArrayRef>, ArrowError> {
    // One more than there are, so that a second object in a message is seen.
    let first = messages.iter().find_map(|message| message.value.as_deref()).unwrap_or_default();
    let columns = ExactColumns::new(schema).spelled_as(first);
    let mut decoder = columns.decoder(messages.len() + 1)?;
    for (before, message) in messages.iter().enumerate() {
        let value = message.value.as_deref().unwrap_or(b"{}");
        if value.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
            return Err(ArrowError::JsonError("not a JSON object".to_owned()));
        }
        let read = decoder.decode(value)?;
        let whole = !decoder.has_partial_record() && decoder.len() == before + 1;
        if read < value.len() || !whole {
            return Err(ArrowError::JsonError("not one whole JSON object".to_owned()));
        }
    }
    exactly(&columns, decoder.flush()?)
}

fn exactly(columns: &ExactColumns, rows: Option<RecordBatch>) -> Result<Vec<ArrayRef>, ArrowError> {
    let rows = rows.map(|rows| columns.exactly(&rows)).transpose()?;
    Ok(rows.map(|rows| rows.columns().to_vec()).unwrap_or_default())
}

fn csv(
    schema: &SchemaRef,
    places: &[usize],
    messages: &[Message],
) -> Result<Vec<ArrayRef>, ArrowError> {
    let as_text = ExactColumns::new(Arc::clone(schema));
    let builder = CsvReader::new(Arc::clone(as_text.as_text()));
    let builder = builder.with_batch_size(messages.len() + 1);
    let mut decoder = builder.with_projection(places.to_vec()).build_decoder();
    let nothing = ",".repeat(schema.fields().len().saturating_sub(1)).into_bytes();
    for (before, message) in messages.iter().enumerate() {
        // An empty line is no record: a single column that is NULL is an empty text in quotes.
        let nothing = if nothing.is_empty() { b"\"\"".as_slice() } else { &nothing };
        let value = message.value.as_deref().unwrap_or(nothing);
        let mut read = decoder.decode(value)?;
        if !value.ends_with(b"\n") {
            decoder.decode(b"\n")?;
        }
        read += usize::from(value.is_empty());
        let records = messages.len() + 1 - decoder.capacity();
        if read < value.len() || records != before + 1 {
            return Err(ArrowError::CsvError("not one CSV record".to_owned()));
        }
    }
    exactly(&ExactColumns::new(Arc::new(schema.project(places)?)), decoder.flush()?)
}

fn raw(field: &Field, messages: &[Message]) -> Result<ArrayRef, ArrowError> {
    let values: ArrayRef =
        Arc::new(messages.iter().map(|message| message.value.as_deref()).collect::<BinaryArray>());
    as_type(&values, field, Misfit::Fail)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Array, Int64Array};
    use datafusion::arrow::datatypes::Schema;

    use super::*;

    fn schema(names: &[&str]) -> SchemaRef {
        let field = |name: &&str| Field::new(*name, DataType::Int64, true);
        Arc::new(Schema::new(names.iter().map(field).collect::<Vec<_>>()))
    }

    fn messages(values: &[Option<&str>]) -> Vec<Message> {
        let message = |value: &Option<&str>| Message {
            value: value.map(|value| value.as_bytes().to_vec()),
            ..Message::default()
        };
        values.iter().map(message).collect()
    }

    fn read(format: Format, values: &[Option<&str>]) -> Result<Vec<Option<i64>>, ArrowError> {
        let columns = format.decode(&schema(&["a", "n"]), &[1], &messages(values))?;
        let numbers = columns[0].as_any().downcast_ref::<Int64Array>().expect("numbers");
        Ok(numbers.iter().collect())
    }

    #[test]
    fn each_message_is_one_object() {
        let good = read(Format::Json, &[Some(r#"{"n": 1}"#), None, Some(" {\"a\":2}\n")]);
        assert_eq!(good.expect("rows"), [Some(1), None, None]);
        for bad in ["", "[1]", "7", "null", r#"{"n": 1} {"n": 2}"#, r#"{"n": 1"#, "{\"n\": \"x\"}"]
        {
            assert!(read(Format::Json, &[Some("{}"), Some(bad), Some("{}")]).is_err(), "{bad}");
            assert!(read(Format::Json, &[Some(bad)]).is_err(), "{bad}");
        }
        // Two halves that are one object together.
        assert!(read(Format::Json, &[Some("{\"n\":"), Some("1}")]).is_err());
    }

    #[test]
    fn numbers_are_not_cut() {
        let good =
            read(Format::Json, &[Some(r#"{"n": 2.0}"#), Some(r#"{"n": 9007199254740993.0}"#)]);
        assert_eq!(good.expect("rows"), [Some(2), Some(9_007_199_254_740_993)]);
        let cents = Field::new("d", DataType::Decimal128(10, 2), true);
        let cents = Arc::new(Schema::new(vec![cents]));
        for (format, bad) in [(Format::Json, r#"{"d": 1.999}"#), (Format::Csv, "1.999")] {
            let error = format.decode(&cents, &[0], &messages(&[Some(bad)])).expect_err(bad);
            assert!(error.to_string().contains("column d"), "{error}");
        }
        let error = read(Format::Json, &[Some(r#"{"n": 1.9}"#)]).expect_err("1.9").to_string();
        assert!(error.contains("column n") && error.contains("'1.9'"), "{error}");
    }

    #[test]
    fn each_message_is_one_record() {
        let good = read(Format::Csv, &[Some("1,2"), None, Some("3,4\n")]);
        assert_eq!(good.expect("rows"), [Some(2), None, Some(4)]);
        for bad in ["", "1", "1,2\n3,4", "1,x", "1,2,3"] {
            assert!(read(Format::Csv, &[Some("1,2"), Some(bad), Some("1,2")]).is_err(), "{bad}");
            assert!(read(Format::Csv, &[Some(bad)]).is_err(), "{bad}");
        }
    }
}
