//! [`Encoder`]: rows as messages.

use std::sync::Arc;

use arrow::json::writer::{LineDelimited, Writer, WriterBuilder};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Schema};
use partwise_stream::sink::SinkQuery;
use partwise_stream::{Error, Result};
use serde_json::{Map, Value};

use super::definition::OutFormat;
use super::floats::FloatTexts;

/// A part of a message, where it has it.
type Part = Option<Vec<u8>>;

/// A message to be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outgoing {
    /// The topic, where it isn't the sink's.
    pub topic: Option<String>,
    /// The partition, where the key doesn't choose it.
    pub partition: Option<i32>,
    pub key: Part,
    /// None: the message says that what has the key is gone.
    pub value: Part,
    pub headers: Vec<(String, Part)>,
}

/// How the rows of a query become messages.
#[derive(Clone, Debug)]
pub(super) enum Encoder {
    Json { keys: Vec<usize> },
    Raw(RawColumns),
}

/// The places of the columns that a query names itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawColumns {
    key: Option<usize>,
    value: usize,
    headers: Option<usize>,
    topic: Option<usize>,
}

impl Encoder {
    /// For the rows of a query.
    ///
    /// # Errors
    /// Columns that don't fit the format.
    pub fn new(format: OutFormat, query: &SinkQuery, has_topic: bool) -> Result<Self> {
        let schema = &query.schema;
        if format == OutFormat::Raw {
            return RawColumns::of(schema, has_topic).map(Self::Raw);
        }
        let keys = query.keys.iter().map(|key| Ok(schema.index_of(key)?));
        Ok(Self::Json { keys: keys.collect::<Result<_>>()? })
    }

    /// The messages of rows, one for each.
    ///
    /// # Errors
    /// A value that has no JSON; headers that are none.
    pub fn messages(&self, rows: &RecordBatch) -> Result<Vec<Outgoing>> {
        match self {
            Self::Json { keys } => json_messages(rows, keys),
            Self::Raw(columns) => columns.messages(rows),
        }
    }
}

fn json_messages(rows: &RecordBatch, keys: &[usize]) -> Result<Vec<Outgoing>> {
    let keys = json_keys(rows, keys)?;
    let values = json_lines(rows)?.into_iter().map(Some);
    let message = |(key, value)| Outgoing { key, value, ..Outgoing::default() };
    Ok(keys.into_iter().zip(values).map(message).collect())
}

/// One column of text as it is, others as a JSON object.
fn json_keys(rows: &RecordBatch, keys: &[usize]) -> Result<Vec<Part>> {
    match keys {
        [] => Ok(vec![None; rows.num_rows()]),
        [one] if is_text(rows.column(*one).data_type()) => bytes(rows.column(*one)),
        many => Ok(json_lines(&rows.project(many)?)?.into_iter().map(Some).collect()),
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Each row as a JSON object; NULLs are written too, so that readers see all columns.
fn json_lines(rows: &RecordBatch) -> Result<Vec<Vec<u8>>> {
    let format = WriterBuilder::new().with_explicit_nulls(true);
    let format = format.with_encoder_factory(Arc::new(FloatTexts));
    let mut writer: Writer<_, LineDelimited> = format.build(Vec::new());
    writer.write(rows)?;
    writer.finish()?;
    let text = writer.into_inner();
    // Line ends within texts are escaped.
    let lines = text.split(|byte| *byte == b'\n').take(rows.num_rows());
    let lines: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
    if lines.len() != rows.num_rows() {
        return Err(Error::internal("rows as JSON: not a line for each row"));
    }
    Ok(lines)
}

impl RawColumns {
    fn of(schema: &Schema, has_topic: bool) -> Result<Self> {
        let mut columns = Self::default();
        let mut value = None;
        for (place, field) in schema.fields().iter().enumerate() {
            let text = is_text(field.data_type());
            let bytes = text
                || matches!(
                    field.data_type(),
                    DataType::Binary | DataType::LargeBinary | DataType::BinaryView
                );
            match field.name().as_str() {
                "key" if bytes => columns.key = Some(place),
                "value" if bytes => value = Some(place),
                "headers" if text => columns.headers = Some(place),
                "topic" if text => columns.topic = Some(place),
                name => {
                    return Err(Error::invalid(format!(
                        "format 'raw' has no column {name} of {}: it takes value and key (STRING \
                         or BYTEA), headers (STRING: a JSON object) and topic (STRING)",
                        field.data_type()
                    )));
                }
            }
        }
        let Some(value) = value else {
            return Err(Error::invalid("format 'raw' needs the query to give a column `value`"));
        };
        if !has_topic && columns.topic.is_none() {
            return Err(Error::invalid(
                "INTO KAFKA needs a topic: OPTIONS ('topic' 'views'), or a column `topic`",
            ));
        }
        Ok(Self { value, ..columns })
    }

    fn messages(&self, rows: &RecordBatch) -> Result<Vec<Outgoing>> {
        let part = |place: Option<usize>| -> Result<Vec<Part>> {
            place.map_or_else(|| Ok(vec![None; rows.num_rows()]), |at| bytes(rows.column(at)))
        };
        let (keys, values) = (part(self.key)?, part(Some(self.value))?);
        let (headers, topics) = (part(self.headers)?, part(self.topic)?);
        let parts = keys.into_iter().zip(values).zip(headers.into_iter().zip(topics));
        let message = |((key, value), (headers, topic)): ((Part, Part), (Part, Part))| {
            let headers = headers.map(|text| header_list(&text)).transpose()?;
            let topic = topic.map(|text| String::from_utf8_lossy(&text).into_owned());
            let headers = headers.unwrap_or_default();
            Ok(Outgoing { topic, key, value, headers, ..Outgoing::default() })
        };
        parts.map(message).collect()
    }
}

fn header_list(text: &[u8]) -> Result<Vec<(String, Part)>> {
    let object: Map<String, Value> = serde_json::from_slice(text).map_err(|_| {
        Error::invalid("the column `headers` holds what is no JSON object: {\"name\": \"value\"}")
    })?;
    let header = |(name, value)| match value {
        Value::Null => (name, None),
        Value::String(text) => (name, Some(text.into_bytes())),
        other => (name, Some(other.to_string().into_bytes())),
    };
    Ok(object.into_iter().map(header).collect())
}

/// A column of text or bytes, as bytes.
fn bytes(column: &ArrayRef) -> Result<Vec<Part>> {
    let column = cast(&Arc::clone(column), &DataType::Binary)?;
    Ok(column.as_binary::<i32>().iter().map(|bytes| bytes.map(<[u8]>::to_vec)).collect())
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Int64Array, StringArray};

    use super::*;

    fn rows() -> RecordBatch {
        let page: ArrayRef = Arc::new(StringArray::from(vec![Some("a\n\"b\""), None]));
        let n: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(2)]));
        RecordBatch::try_from_iter([("page", page), ("n", n)]).expect("rows")
    }

    fn text(part: &Part) -> Option<&str> {
        part.as_deref().map(|bytes| std::str::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn a_row_is_an_object_and_a_key_of_one_text_is_that() {
        let messages = json_messages(&rows(), &[0]).expect("messages");
        assert_eq!(text(&messages[0].value), Some(r#"{"page":"a\n\"b\"","n":null}"#));
        assert_eq!(text(&messages[0].key), Some("a\n\"b\""));
        assert_eq!(text(&messages[1].key), None);
        let messages = json_messages(&rows(), &[1, 0]).expect("messages");
        assert_eq!(text(&messages[1].key), Some(r#"{"n":2,"page":null}"#));
    }

    #[test]
    fn headers_are_an_object() {
        let headers = header_list(br#"{"a": "x", "b": null, "c": 1}"#).expect("headers");
        let named: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), text(value))).collect();
        assert_eq!(named, [("a", Some("x")), ("b", None), ("c", Some("1"))]);
        assert!(header_list(b"[]").is_err());
    }

    #[test]
    fn raw_columns_are_named() {
        let error = RawColumns::of(&rows().schema(), true).expect_err("page").to_string();
        assert!(error.contains("no column page"), "{error}");
    }
}
