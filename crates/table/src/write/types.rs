//! The types a table can have: those that every reader of the files, Spark included, understands.
//!
//! | the query gives | the table has |
//! |---|---|
//! | `tinyint smallint int bigint`, `boolean`, `float`, `double`, `date` | the same |
//! | unsigned 8, 16, 32, 64 bits | `smallint`, `int`, `bigint`, `decimal(20,0)` |
//! | 16-bit float | `float` |
//! | strings of any layout | `string` |
//! | bytes of any layout | `binary` |
//! | decimals of up to 38 digits | `decimal(p,s)` |
//! | timestamps of any unit | microseconds; with a time zone: UTC |
//! | dictionaries, run-end encodings | the type of their values |
//! | lists, structs, maps | the same of these |
//! | times, intervals, durations, unions, NULL without a type | refused, with the cast to use |

use std::sync::Arc;

use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Field, FieldRef, Fields, Schema, TimeUnit,
};
use partwise_commit::{Error, Result};

/// The schema of a table made from a query with this schema: every column takes the type the table
/// stores, and may be NULL.
///
/// # Errors
/// A type without a counterpart; the message names the column and the cast to use.
pub fn table_types(schema: &Schema) -> Result<Schema> {
    let fields = schema.fields().iter().map(|field| {
        let data_type = table_type(field.name(), field.data_type())?;
        Ok(Field::new(field.name(), data_type, true))
    });
    Ok(Schema::new(fields.collect::<Result<Vec<_>>>()?))
}

/// The type a table stores for a column of this type.
///
/// # Errors
/// A type without a counterpart; the message names the column and the cast to use.
pub fn table_type(column: &str, data_type: &DataType) -> Result<DataType> {
    use DataType::*;
    Ok(match data_type {
        Boolean | Int8 | Int16 | Int32 | Int64 | Float32 | Float64 | Utf8 | Binary | Date32 => {
            data_type.clone()
        }
        UInt8 => Int16,
        UInt16 => Int32,
        UInt32 => Int64,
        UInt64 => Decimal128(20, 0),
        Float16 => Float32,
        LargeUtf8 | Utf8View => Utf8,
        LargeBinary | BinaryView | FixedSizeBinary(_) => Binary,
        Date64 => Date32,
        Timestamp(_, zone) => Timestamp(TimeUnit::Microsecond, zone.as_ref().map(|_| "UTC".into())),
        Decimal32(precision, scale) | Decimal64(precision, scale) => {
            decimal(column, *precision, *scale)?
        }
        Decimal128(precision, scale) | Decimal256(precision, scale) => {
            decimal(column, *precision, *scale)?
        }
        Dictionary(_, values) => table_type(column, values)?,
        RunEndEncoded(_, values) => table_type(column, values.data_type())?,
        List(item)
        | LargeList(item)
        | ListView(item)
        | LargeListView(item)
        | FixedSizeList(item, _) => List(nested(column, item)?),
        Struct(fields) => {
            let fields = fields.iter().map(|field| nested(column, field));
            Struct(fields.collect::<Result<Fields>>()?)
        }
        Map(entries, _) => Map(map_entries(column, entries)?, false),
        other => return Err(refused(column, other)),
    })
}

fn nested(column: &str, field: &FieldRef) -> Result<FieldRef> {
    let data_type = table_type(&format!("{column}.{}", field.name()), field.data_type())?;
    Ok(Arc::new(Field::new(field.name(), data_type, field.is_nullable())))
}

fn map_entries(column: &str, entries: &FieldRef) -> Result<FieldRef> {
    Ok(Arc::new(nested(column, entries)?.as_ref().clone().with_nullable(false)))
}

fn decimal(column: &str, precision: u8, scale: i8) -> Result<DataType> {
    let fits = precision <= DECIMAL128_MAX_PRECISION && (0..=38).contains(&scale);
    if fits && scale.unsigned_abs() <= precision {
        return Ok(DataType::Decimal128(precision, scale));
    }
    Err(Error::invalid(format!(
        "column {column} is DECIMAL({precision},{scale}), which other readers of the files can't \
         read: use CAST({column} AS DECIMAL(38,{}))",
        scale.clamp(0, 38)
    )))
}

fn refused(column: &str, data_type: &DataType) -> Error {
    let (what, cast) = match data_type {
        DataType::Null => ("has only NULL and no type", format!("CAST({column} AS STRING)")),
        DataType::Duration(_) => ("is a duration", format!("CAST({column} AS BIGINT)")),
        DataType::Time32(_) | DataType::Time64(_) => {
            ("is a time of day", format!("CAST({column} AS STRING)"))
        }
        DataType::Interval(_) => ("is an interval", format!("CAST({column} AS STRING)")),
        DataType::Union(..) => ("is a union", format!("union_extract({column}, '<field>')")),
        _ => ("has a type of its own", format!("CAST({column} AS STRING)")),
    };
    Error::invalid(format!(
        "column {column} {what} ({data_type}), which other readers of the files can't read: use \
         {cast}, or another type you mean"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(data_type: DataType) -> DataType {
        table_type("c", &data_type).expect("accepted")
    }

    #[test]
    fn unsigned_integers_widen() {
        assert_eq!(of(DataType::UInt8), DataType::Int16);
        assert_eq!(of(DataType::UInt32), DataType::Int64);
        assert_eq!(of(DataType::UInt64), DataType::Decimal128(20, 0));
    }

    #[test]
    fn timestamps_are_microseconds_and_zones_are_utc() {
        let micros = |zone| DataType::Timestamp(TimeUnit::Microsecond, zone);
        assert_eq!(of(DataType::Timestamp(TimeUnit::Nanosecond, None)), micros(None));
        let berlin = DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into()));
        assert_eq!(of(berlin), micros(Some("UTC".into())));
    }

    #[test]
    fn layouts_become_the_plain_type_also_inside_lists() {
        let item = Arc::new(Field::new("item", DataType::Utf8View, true));
        let plain = Arc::new(Field::new("item", DataType::Utf8, true));
        assert_eq!(of(DataType::LargeList(item)), DataType::List(plain));
        let dictionary =
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
        assert_eq!(of(dictionary), DataType::Utf8);
        assert_eq!(of(DataType::FixedSizeBinary(16)), DataType::Binary);
    }

    #[test]
    fn a_type_that_spark_cannot_read_is_refused_with_the_cast_to_use() {
        let refused = [
            (DataType::Null, "CAST(c AS STRING)"),
            (DataType::Time64(TimeUnit::Nanosecond), "CAST(c AS STRING)"),
            (DataType::Duration(TimeUnit::Second), "CAST(c AS BIGINT)"),
            (DataType::Decimal256(60, 2), "CAST(c AS DECIMAL(38,2))"),
            (DataType::Decimal128(5, -2), "CAST(c AS DECIMAL(38,0))"),
        ];
        for (data_type, cast) in refused {
            let error = table_type("c", &data_type).expect_err("refused").to_string();
            assert!(error.contains("column c") && error.contains(cast), "{error}");
        }
    }

    #[test]
    fn columns_of_a_new_table_may_be_null() {
        let schema = Schema::new(vec![Field::new("n", DataType::Int64, false)]);
        assert!(table_types(&schema).expect("accepted").field(0).is_nullable());
    }
}
