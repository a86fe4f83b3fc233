//! Brings rows onto the table's types. What would lose something is an error that names the column
//! and the value.
//!
//! ```text
//! query columns (by position) -> Step per column: Keep | Convert | ConvertExactly -> table columns
//! ```

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, FieldRef, Schema, SchemaRef, TimeUnit, TimestampNanosecondType,
};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use partwise_commit::{Error, Result};

/// How the rows of a query become rows of a table.
#[derive(Clone, Debug)]
pub struct RowCast {
    target: SchemaRef,
    steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The type is the table's already.
    Keep,
    /// The conversion fails by itself where a value doesn't fit.
    Convert,
    /// The conversion could drop something: it is turned back and compared.
    ConvertExactly,
}

const STRICT: CastOptions<'static> =
    CastOptions { safe: false, format_options: FormatOptions::new() };

impl RowCast {
    /// Columns go by position.
    ///
    /// # Errors
    /// Another number of columns; a type that can't become the table's without losing something.
    pub fn new(input: &Schema, target: SchemaRef) -> Result<Self> {
        if input.fields().len() != target.fields().len() {
            return Err(count_mismatch(input, &target));
        }
        let pairs = input.fields().iter().zip(target.fields());
        let steps = pairs.map(|(from, to)| plan_step(from, to)).collect::<Result<_>>()?;
        Ok(Self { target, steps })
    }

    /// The table's columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.target
    }

    /// Converts a batch.
    ///
    /// # Errors
    /// A value that the table's type can't hold as it is; NULL in a column declared NOT NULL.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.target.fields().iter().zip(batch.columns()).zip(&self.steps);
        let columns = columns.map(|((field, array), step)| convert(field, array, *step));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.target), columns, &options)
            .map_err(|error| Error::internal("rows converted to the table").with_source(error))
    }
}

fn count_mismatch(input: &Schema, target: &Schema) -> Error {
    let names = |schema: &Schema| {
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        names.join(", ")
    };
    Error::invalid(format!(
        "the query gives {} columns ({}), the table takes {} ({})",
        input.fields().len(),
        names(input),
        target.fields().len(),
        names(target)
    ))
}

fn plan_step(from: &FieldRef, to: &FieldRef) -> Result<Step> {
    step(from.data_type(), to.data_type()).ok_or_else(|| {
        Error::invalid(format!(
            "column {} takes {} and the query gives {} ({}): add the cast you mean to the query",
            to.name(),
            to.data_type(),
            from.data_type(),
            from.name()
        ))
    })
}

/// None where the conversion isn't one of storing the same value.
fn step(from: &DataType, to: &DataType) -> Option<Step> {
    use DataType::*;
    if from == to {
        return Some(Step::Keep);
    }
    match (from, to) {
        (Dictionary(_, values), _) => step(values, to).map(at_least_convert),
        (RunEndEncoded(_, values), _) => step(values.data_type(), to).map(at_least_convert),
        (Null, _) => Some(Step::Convert),
        (Utf8 | LargeUtf8 | Utf8View, Utf8) => Some(Step::Convert),
        (Binary | LargeBinary | BinaryView | FixedSizeBinary(_), Binary) => Some(Step::Convert),
        (from, to) if from.is_integer() && to.is_integer() => Some(Step::Convert),
        (from, Decimal128(_, scale)) if from.is_integer() && *scale >= 0 => Some(Step::Convert),
        (from, Float32) if from.is_integer() => Some(Step::ConvertExactly),
        (from, Float64) if from.is_integer() => Some(Step::Convert),
        (Float16, Float32 | Float64) | (Float32, Float64) => Some(Step::Convert),
        (from, Float64) if from.is_decimal() => Some(Step::Convert),
        (from, to) if from.is_decimal() && to.is_decimal() => decimal_step(from, to),
        (Date32, Timestamp(TimeUnit::Microsecond, None)) => Some(Step::Convert),
        (Date64, Date32) => Some(Step::ConvertExactly),
        (Timestamp(unit, from_zone), Timestamp(TimeUnit::Microsecond, to_zone)) => {
            (from_zone.is_some() == to_zone.is_some()).then_some(timestamp_step(unit))
        }
        _ => nested_step(from, to),
    }
}

fn at_least_convert(step: Step) -> Step {
    if step == Step::Keep { Step::Convert } else { step }
}

fn timestamp_step(unit: &TimeUnit) -> Step {
    match unit {
        TimeUnit::Nanosecond => Step::ConvertExactly,
        _ => Step::Convert,
    }
}

/// More digits behind the point than the table holds are compared value by value.
fn decimal_step(from: &DataType, to: &DataType) -> Option<Step> {
    let (from_scale, to_scale) = (decimal_scale(from)?, decimal_scale(to)?);
    Some(if from_scale > to_scale { Step::ConvertExactly } else { Step::Convert })
}

fn decimal_scale(data_type: &DataType) -> Option<i8> {
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => Some(*scale),
        _ => None,
    }
}

fn nested_step(from: &DataType, to: &DataType) -> Option<Step> {
    use DataType::*;
    match (from, to) {
        (
            List(a) | LargeList(a) | ListView(a) | LargeListView(a) | FixedSizeList(a, _),
            List(b),
        ) => step(a.data_type(), b.data_type()).map(at_least_convert),
        (Struct(a), Struct(b)) if a.len() == b.len() => {
            let same_names = a.iter().zip(b).all(|(a, b)| a.name() == b.name());
            let steps = a.iter().zip(b).map(|(a, b)| step(a.data_type(), b.data_type()));
            same_names.then(|| strictest(steps))?
        }
        (Map(a, _), Map(b, _)) => step(a.data_type(), b.data_type()).map(at_least_convert),
        _ => None,
    }
}

fn strictest(steps: impl Iterator<Item = Option<Step>>) -> Option<Step> {
    steps.collect::<Option<Vec<_>>>().map(|steps| {
        if steps.contains(&Step::ConvertExactly) { Step::ConvertExactly } else { Step::Convert }
    })
}

fn convert(field: &FieldRef, array: &ArrayRef, step: Step) -> Result<ArrayRef> {
    let converted = match step {
        Step::Keep => Arc::clone(array),
        Step::Convert => cast(field, array)?,
        Step::ConvertExactly => {
            refuse_loss(field, array)?;
            cast(field, array)?
        }
    };
    if !field.is_nullable() && converted.logical_null_count() > 0 {
        return Err(Error::invalid(format!(
            "column {} is declared NOT NULL and the query gives NULL: filter such rows out, or use \
             coalesce({}, <value>)",
            field.name(),
            field.name()
        )));
    }
    Ok(converted)
}

fn cast(field: &FieldRef, array: &ArrayRef) -> Result<ArrayRef> {
    cast_with_options(array, field.data_type(), &STRICT).map_err(|error| {
        Error::invalid(format!(
            "column {} takes {} and the query gives a value that does not fit",
            field.name(),
            field.data_type()
        ))
        .with_source(error)
    })
}

/// Nanoseconds are looked at directly, everything else is converted there and back.
fn refuse_loss(field: &FieldRef, array: &ArrayRef) -> Result<()> {
    let lossy = match array.as_primitive_opt::<TimestampNanosecondType>() {
        Some(nanos) => (0..nanos.len()).find(|&i| nanos.is_valid(i) && nanos.value(i) % 1_000 != 0),
        None => lossy_round_trip(field, array)?,
    };
    match lossy {
        Some(row) => Err(loss(field, array, row)),
        None => Ok(()),
    }
}

fn lossy_round_trip(field: &FieldRef, array: &ArrayRef) -> Result<Option<usize>> {
    let there = cast(field, array)?;
    let back = cast_with_options(&there, array.data_type(), &STRICT)
        .map_err(|error| Error::internal("a conversion turned back").with_source(error))?;
    if back.as_ref() == array.as_ref() {
        return Ok(None);
    }
    Ok((0..array.len()).find(|&row| back.slice(row, 1).as_ref() != array.slice(row, 1).as_ref()))
}

fn loss(field: &FieldRef, array: &ArrayRef, row: usize) -> Error {
    let name = field.name();
    let options = FormatOptions::default().with_null("NULL");
    let value = match ArrayFormatter::try_new(array.as_ref(), &options) {
        Ok(formatter) => formatter.value(row).try_to_string().unwrap_or_default(),
        Err(_) => String::new(),
    };
    let way_on = match field.data_type() {
        DataType::Timestamp(..) => {
            format!("date_trunc('microsecond', {name}) drops what is finer")
        }
        DataType::Date32 => format!("CAST({name} AS DATE) drops the time of day"),
        DataType::Decimal128(_, scale) => format!("round({name}, {scale}) rounds it"),
        other => format!("arrow_cast({name}, '{other}') rounds it"),
    };
    Error::invalid(format!(
        "column {name} takes {} and can't hold {value} of the query without loss: {way_on}",
        field.data_type()
    ))
}

#[cfg(test)]
mod tests;
