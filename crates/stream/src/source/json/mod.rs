//! Numbers of JSON as columns that hold exactly what they say.
//!
//! A reader of JSON that is asked for whole numbers takes 1.9 as 1, and asked for a decimal with two
//! digits it takes 1.999 as 1.99. So such columns are read as the texts of their numbers.
//!
//! ```text
//! columns -> as_text: whole and decimal numbers are texts -> rows -> exactly -> columns
//! ```
//! A number fits where nothing of it is lost: 2.0 is a BIGINT. Columns of text take the text of a
//! number or of a truth value.

mod number;

use std::sync::Arc;

use arrow::json::ReaderBuilder;
use arrow::json::reader::Decoder;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait,
    RecordBatch, RecordBatchOptions, StringArray, StructArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;

use number::Digits;

/// Columns, and how they are read so that no number is cut.
#[derive(Clone, Debug)]
pub struct ExactColumns {
    columns: SchemaRef,
    as_text: SchemaRef,
}

impl ExactColumns {
    /// Of declared columns.
    #[must_use]
    pub fn new(columns: SchemaRef) -> Self {
        let fields: Vec<FieldRef> = columns.fields().iter().map(text_field).collect();
        let as_text = Schema::new_with_metadata(fields, columns.metadata().clone());
        Self { columns, as_text: Arc::new(as_text) }
    }

    /// The same, read by the names that an object has for the columns: case doesn't count where it
    /// has no name that is the same to the letter.
    #[must_use]
    pub fn spelled_as(self, object: &[u8]) -> Self {
        let mut objects = serde_json::Deserializer::from_slice(object).into_iter();
        let Some(Ok(serde_json::Value::Object(first))) = objects.next() else { return self };
        let spelled = |field: &FieldRef| {
            let same = |key: &&String| key.eq_ignore_ascii_case(field.name());
            match first.keys().find(same).filter(|_| !first.contains_key(field.name())) {
                Some(key) => Arc::new(Field::clone(field).with_name(key)),
                None => Arc::clone(field),
            }
        };
        let fields: Vec<FieldRef> = self.as_text.fields().iter().map(spelled).collect();
        let as_text = Schema::new_with_metadata(fields, self.as_text.metadata().clone());
        Self { as_text: Arc::new(as_text), ..self }
    }

    /// The columns to read, by a reader that gives numbers as texts where a column is text
    /// (`with_coerce_primitive`).
    #[must_use]
    pub fn as_text(&self) -> &SchemaRef {
        &self.as_text
    }

    /// A decoder of these, which gives at most `rows` at once.
    ///
    /// # Errors
    /// A type that JSON can't give.
    pub fn decoder(&self, rows: usize) -> Result<Decoder, ArrowError> {
        let reader = ReaderBuilder::new(Arc::clone(&self.as_text));
        reader.with_batch_size(rows).with_coerce_primitive(true).build_decoder()
    }

    /// The rows under the declared columns.
    ///
    /// # Errors
    /// A text that is no number, or one that its column can't hold as it is: both are named.
    pub fn exactly(&self, rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let fields = self.columns.fields().iter().zip(rows.columns());
        let columns = fields.map(|(field, column)| exact(column, field, field.name()));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.columns), columns, &options)
    }
}

fn text_field(field: &FieldRef) -> FieldRef {
    let as_text = text_type(field.data_type());
    Arc::new(Field::clone(field).with_data_type(as_text))
}

/// A type with texts in place of exact numbers, within lists and structs too.
fn text_type(data_type: &DataType) -> DataType {
    match data_type {
        exact if Digits::of(exact).is_some() => DataType::Utf8,
        DataType::List(item) => DataType::List(text_field(item)),
        DataType::LargeList(item) => DataType::LargeList(text_field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(text_field(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(text_field).collect()),
        DataType::Map(entries, sorted) => DataType::Map(text_field(entries), *sorted),
        other => other.clone(),
    }
}

/// Turns [`text_type`] back; `path` names the column, and the field within it.
fn exact(column: &ArrayRef, to: &Field, path: &str) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == to.data_type() {
        return Ok(Arc::clone(column));
    }
    Ok(match to.data_type() {
        DataType::List(item) => Arc::new(list(column.as_list::<i32>(), item, path)?),
        DataType::LargeList(item) => Arc::new(list(column.as_list::<i64>(), item, path)?),
        DataType::FixedSizeList(item, size) => {
            let list = column.as_fixed_size_list();
            let values = exact(list.values(), item, path)?;
            let (item, nulls) = (Arc::clone(item), list.nulls().cloned());
            Arc::new(FixedSizeListArray::try_new(item, *size, values, nulls)?)
        }
        DataType::Struct(fields) => Arc::new(structs(column.as_struct(), fields, path)?),
        DataType::Map(entries, sorted) => Arc::new(map(column.as_map(), entries, *sorted, path)?),
        _ => numbers(column, to.data_type(), path)?,
    })
}

fn list<O: OffsetSizeTrait>(
    list: &GenericListArray<O>,
    item: &FieldRef,
    path: &str,
) -> Result<GenericListArray<O>, ArrowError> {
    let values = exact(list.values(), item, path)?;
    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
    GenericListArray::try_new(Arc::clone(item), offsets, values, nulls)
}

fn structs(rows: &StructArray, fields: &Fields, path: &str) -> Result<StructArray, ArrowError> {
    let columns = fields.iter().zip(rows.columns());
    let columns = columns
        .map(|(field, column)| exact(column, field, &format!("{path}.{}", field.name())))
        .collect::<Result<_, _>>()?;
    StructArray::try_new(fields.clone(), columns, rows.nulls().cloned())
}

fn map(
    map: &MapArray,
    entries: &FieldRef,
    sorted: bool,
    path: &str,
) -> Result<MapArray, ArrowError> {
    let pairs: ArrayRef = Arc::new(map.entries().clone());
    let pairs = exact(&pairs, entries, path)?.as_struct().clone();
    let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
    MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, sorted)
}

fn numbers(column: &ArrayRef, to: &DataType, path: &str) -> Result<ArrayRef, ArrowError> {
    let (Some(texts), Some(digits)) = (column.as_string_opt::<i32>(), Digits::of(to)) else {
        let from = column.data_type();
        return Err(ArrowError::CastError(format!("column {path}: {from} read for {to}")));
    };
    let fits: StringArray = texts.iter().map(|text| text.and_then(|t| digits.fit(t))).collect();
    let numbers = cast(&fits, to)?;
    // What doesn't fit is NULL then.
    if numbers.null_count() == texts.null_count() {
        return Ok(numbers);
    }
    let lost = (0..texts.len()).find(|row| texts.is_valid(*row) && numbers.is_null(*row));
    let text: String =
        lost.map(|row| texts.value(row).chars().take(80).collect()).unwrap_or_default();
    Err(ArrowError::JsonError(format!("column {path} is {to}, which can't hold '{text}' as it is")))
}
