//! The bytes of one value.

use bytes::{BufMut, BytesMut};
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type,
    Int32Type, Int64Type, IntervalMonthDayNanoType, Time64MicrosecondType,
    TimestampMicrosecondType,
};
use partwise_stream::{Error, Result};
use uuid::Uuid;

use super::numeric::put_numeric;
use super::{Encoder, Put, put_array_header};
use crate::kind::Kind;

/// Days and microseconds from 1970, Arrow's first day, to 2000, PostgreSQL's.
const FIRST_DAY: i64 = 10_957;
const FIRST_MICROSECOND: i64 = FIRST_DAY * 86_400_000_000;
/// What PostgreSQL has: from 4713 BC to the years 5874897 and 294276.
const DAYS: std::ops::Range<i64> = -2_451_545..2_145_031_949;
const MICROSECONDS: std::ops::Range<i64> = -211_813_488_000_000_000..9_223_371_331_200_000_000;

/// How values of a kind, in its normal type, are put into a column with a typmod; rows with NULL are
/// never asked for.
pub(super) fn put(values: &ArrayRef, kind: &Kind, typmod: i32) -> Result<Put> {
    macro_rules! number {
        ($ty:ty, $put:ident) => {{
            let values = values.as_primitive::<$ty>().clone();
            Box::new(move |row: usize, out: &mut BytesMut| {
                out.$put(values.value(row));
                Ok(())
            })
        }};
    }
    Ok(match kind {
        Kind::Bool => {
            let values = values.as_boolean().clone();
            Box::new(move |row, out| {
                out.put_u8(u8::from(values.value(row)));
                Ok(())
            })
        }
        Kind::Int2 => number!(Int16Type, put_i16),
        Kind::Int4 => number!(Int32Type, put_i32),
        Kind::Int8 => number!(Int64Type, put_i64),
        Kind::Float4 => number!(Float32Type, put_f32),
        Kind::Float8 => number!(Float64Type, put_f64),
        Kind::Time => number!(Time64MicrosecondType, put_i64),
        Kind::Numeric => decimals(values)?,
        Kind::Text | Kind::Json => texts(values, Form::Plain),
        Kind::Jsonb => texts(values, Form::Jsonb),
        Kind::Varchar | Kind::Bpchar => texts(values, Form::of_length(kind, typmod)),
        Kind::Uuid => uuids(values),
        Kind::Bytea => {
            let values = values.as_binary::<i64>().clone();
            Box::new(move |row, out| {
                out.put_slice(values.value(row));
                Ok(())
            })
        }
        Kind::Date => dates(values),
        Kind::Timestamp | Kind::Timestamptz => timestamps(values),
        Kind::Interval => intervals(values),
        Kind::List(of) => lists(values, of, typmod)?,
    })
}

fn decimals(values: &ArrayRef) -> Result<Put> {
    match values.data_type() {
        DataType::Decimal128(_, scale) => {
            let (values, scale) = (values.as_primitive::<Decimal128Type>().clone(), *scale);
            Ok(Box::new(move |row, out| put_numeric(&values.value(row).to_string(), scale, out)))
        }
        DataType::Decimal256(_, scale) => {
            let (values, scale) = (values.as_primitive::<Decimal256Type>().clone(), *scale);
            Ok(Box::new(move |row, out| put_numeric(&values.value(row).to_string(), scale, out)))
        }
        other => Err(Error::internal(format!("{other} as a numeric"))),
    }
}

/// What a text has to be.
#[derive(Clone, Copy, Debug)]
enum Form {
    Plain,
    /// It goes behind a version.
    Jsonb,
    /// So many characters, where the server would cut blanks off.
    AtMost(usize),
    /// As many, where the server would add blanks.
    Exactly(usize),
}

impl Form {
    /// That of a `varchar(n)` or `char(n)`; the server counts four bytes with n.
    fn of_length(kind: &Kind, typmod: i32) -> Self {
        match (usize::try_from(typmod - 4), kind) {
            (Ok(length), Kind::Bpchar) => Self::Exactly(length),
            (Ok(length), _) => Self::AtMost(length),
            (Err(_), _) => Self::Plain,
        }
    }

    fn check(self, text: &str) -> Result<()> {
        let (fits, column) = match self {
            Self::Plain | Self::Jsonb => return Ok(()),
            Self::AtMost(most) => (text.chars().count() <= most, format!("varchar({most})")),
            Self::Exactly(all) => (text.chars().count() == all, format!("char({all})")),
        };
        match fits {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "the text {text:?} has {} characters, and the column is {column}: ALTER TABLE the \
                 column to text, or make it fit in the query",
                text.chars().count()
            ))),
        }
    }
}

fn texts(values: &ArrayRef, form: Form) -> Put {
    let values = values.as_string::<i64>().clone();
    Box::new(move |row, out| {
        let text = values.value(row);
        if text.as_bytes().contains(&0) {
            return Err(Error::invalid(format!(
                "the text {text:?} has a NUL character, which text of PostgreSQL can't hold: \
                 replace() it"
            )));
        }
        form.check(text)?;
        if let Form::Jsonb = form {
            out.put_u8(1);
        }
        out.put_slice(text.as_bytes());
        Ok(())
    })
}

fn uuids(values: &ArrayRef) -> Put {
    if let Some(values) = values.as_fixed_size_binary_opt() {
        let values = values.clone();
        return Box::new(move |row, out| {
            out.put_slice(values.value(row));
            Ok(())
        });
    }
    let values = values.as_string::<i64>().clone();
    Box::new(move |row, out| {
        let text = values.value(row);
        let uuid = Uuid::parse_str(text)
            .map_err(|_| Error::invalid(format!("the text {text:?} is no uuid")))?;
        // Two spellings of a key would be one row.
        let spelled = uuid.to_string();
        if spelled != text {
            return Err(Error::invalid(format!(
                "the text {text:?} is a uuid that PostgreSQL gives back as {spelled}: spell it so in \
                 the query, with lower() or replace()"
            )));
        }
        out.put_slice(uuid.as_bytes());
        Ok(())
    })
}

fn dates(values: &ArrayRef) -> Put {
    let values = values.as_primitive::<Date32Type>().clone();
    Box::new(move |row, out| {
        let days = i64::from(values.value(row)) - FIRST_DAY;
        let days = Some(days).filter(|days| DAYS.contains(days));
        let days = days.and_then(|days| i32::try_from(days).ok());
        out.put_i32(days.ok_or_else(|| out_of_range(&values, row))?);
        Ok(())
    })
}

fn timestamps(values: &ArrayRef) -> Put {
    let values = values.as_primitive::<TimestampMicrosecondType>().clone();
    Box::new(move |row, out| {
        let at = values.value(row).checked_sub(FIRST_MICROSECOND);
        let at = at.filter(|at| MICROSECONDS.contains(at));
        out.put_i64(at.ok_or_else(|| out_of_range(&values, row))?);
        Ok(())
    })
}

fn out_of_range(values: &dyn Array, row: usize) -> Error {
    let number = match values.data_type() {
        DataType::Date32 => {
            format!("{} days", values.as_primitive::<Date32Type>().value(row))
        }
        _ => {
            let values = values.as_primitive::<TimestampMicrosecondType>();
            format!("{} microseconds", values.value(row))
        }
    };
    Error::invalid(format!("a time {number} from 1970, which PostgreSQL doesn't reach"))
}

fn intervals(values: &ArrayRef) -> Put {
    let values = values.as_primitive::<IntervalMonthDayNanoType>().clone();
    Box::new(move |row, out| {
        let value = values.value(row);
        out.put_i64(value.nanoseconds / 1_000);
        out.put_i32(value.days);
        out.put_i32(value.months);
        Ok(())
    })
}

fn lists(values: &ArrayRef, of: &Kind, typmod: i32) -> Result<Put> {
    let lists = values.as_list::<i64>().clone();
    let (of, encoder) = (of.clone(), Encoder::new("its values", lists.values(), of, typmod)?);
    Ok(Box::new(move |row, out| {
        let range = lists.value_offsets()[row]..lists.value_offsets()[row + 1];
        put_array_header(&of, (range.end - range.start) as usize, out)?;
        // Offsets of an array in memory.
        range.into_iter().try_for_each(|at| encoder.put(at as usize, out))
    }))
}
