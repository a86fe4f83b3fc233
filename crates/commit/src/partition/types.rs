//! The types a partition column can have, and the text form of their values.

use arrow_array::timezone::Tz;
use arrow_cast::parse::string_to_datetime;
use arrow_schema::{ArrowError, DataType, TimeUnit};
use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use serde::{Deserialize, Serialize};

use super::value::PartitionValue;
use crate::{Error, Result};

/// The type of a partition column: what its directory values are read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionType {
    /// `true` or `false`.
    Boolean,
    /// 8-bit integer.
    Int8,
    /// 16-bit integer.
    Int16,
    /// 32-bit integer.
    Int32,
    /// 64-bit integer.
    Int64,
    /// Exact decimal.
    Decimal128 {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits behind the point.
        scale: i8,
    },
    /// Calendar day.
    Date,
    /// Microseconds.
    Timestamp {
        /// Whether the values are instants in UTC rather than local wall time.
        utc: bool,
    },
    /// String.
    Text,
}

impl PartitionType {
    /// The partition type of an Arrow type: unsigned integers widen, every string type is text,
    /// a timestamp of any unit is microseconds. Types without a text form are refused.
    pub fn from_arrow(data_type: &DataType) -> Result<Self> {
        Ok(match data_type {
            DataType::Boolean => Self::Boolean,
            DataType::Int8 => Self::Int8,
            DataType::Int16 | DataType::UInt8 => Self::Int16,
            DataType::Int32 | DataType::UInt16 => Self::Int32,
            DataType::Int64 | DataType::UInt32 => Self::Int64,
            DataType::UInt64 => Self::Decimal128 { precision: 20, scale: 0 },
            DataType::Decimal32(p, s) | DataType::Decimal64(p, s) | DataType::Decimal128(p, s) => {
                Self::Decimal128 { precision: *p, scale: *s }
            }
            DataType::Date32 | DataType::Date64 => Self::Date,
            DataType::Timestamp(_, zone) => Self::Timestamp { utc: zone.is_some() },
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Dictionary(_, values) => Self::from_arrow(values)?,
            other => {
                return Err(Error::invalid(format!(
                    "a column of type {other} can't be a partition column: use a string, integer, \
                     boolean, date, timestamp or decimal column, or cast it"
                )));
            }
        })
    }

    /// The Arrow type its values have when read.
    pub fn to_arrow(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Int8 => DataType::Int8,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::Decimal128 { precision, scale } => DataType::Decimal128(*precision, *scale),
            Self::Date => DataType::Date32,
            Self::Timestamp { utc } => {
                DataType::Timestamp(TimeUnit::Microsecond, utc.then(|| "UTC".into()))
            }
            Self::Text => DataType::Utf8,
        }
    }

    /// The typed value of a decoded text, never NULL. An error of kind `Invalid` if the text isn't
    /// a value of this type.
    pub fn parse(&self, text: &str) -> Result<PartitionValue> {
        self.try_parse(text)
            .ok_or_else(|| Error::invalid(format!("'{text}' is not a value of type {self}")))
    }

    fn try_parse(&self, text: &str) -> Option<PartitionValue> {
        let int = |low: i64, high: i64| {
            let value = text.parse::<i64>().ok()?;
            (low..=high).contains(&value).then_some(PartitionValue::Int(value))
        };
        match self {
            Self::Boolean => parse_boolean(text),
            Self::Int8 => int(i8::MIN.into(), i8::MAX.into()),
            Self::Int16 => int(i16::MIN.into(), i16::MAX.into()),
            Self::Int32 => int(i32::MIN.into(), i32::MAX.into()),
            Self::Int64 => int(i64::MIN, i64::MAX),
            Self::Decimal128 { precision, scale } => parse_decimal(text, *precision, *scale),
            Self::Date => parse_date(text),
            Self::Timestamp { .. } => parse_timestamp(text),
            Self::Text => Some(PartitionValue::Text(text.to_string())),
        }
    }

    /// The text form of a value as it stands in a directory name before escaping; none for NULL.
    /// [`parse`](Self::parse) of it gives the value back.
    pub fn format(&self, value: &PartitionValue) -> Option<String> {
        Some(match value {
            PartitionValue::Null => return None,
            PartitionValue::Boolean(value) => value.to_string(),
            PartitionValue::Int(value) => value.to_string(),
            PartitionValue::Decimal(value) => self.format_decimal(*value),
            PartitionValue::Date(days) => format_date(*days),
            PartitionValue::Timestamp(micros) => format_timestamp(*micros),
            PartitionValue::Text(value) => value.clone(),
        })
    }

    fn format_decimal(&self, value: i128) -> String {
        let Self::Decimal128 { scale, .. } = self else { return value.to_string() };
        if *scale <= 0 {
            return format!(
                "{value}{}",
                if value == 0 { String::new() } else { "0".repeat(scale.unsigned_abs().into()) }
            );
        }
        let scale = usize::from(scale.unsigned_abs());
        let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        format!("{}{whole}.{fraction}", if value < 0 { "-" } else { "" })
    }
}

impl std::fmt::Display for PartitionType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Boolean => f.write_str("BOOLEAN"),
            Self::Int8 => f.write_str("TINYINT"),
            Self::Int16 => f.write_str("SMALLINT"),
            Self::Int32 => f.write_str("INT"),
            Self::Int64 => f.write_str("BIGINT"),
            Self::Decimal128 { precision, scale } => write!(f, "DECIMAL({precision},{scale})"),
            Self::Date => f.write_str("DATE"),
            Self::Timestamp { utc: false } => f.write_str("TIMESTAMP"),
            Self::Timestamp { utc: true } => f.write_str("TIMESTAMP WITH TIME ZONE"),
            Self::Text => f.write_str("STRING"),
        }
    }
}

fn parse_boolean(text: &str) -> Option<PartitionValue> {
    if text.eq_ignore_ascii_case("true") {
        Some(PartitionValue::Boolean(true))
    } else if text.eq_ignore_ascii_case("false") {
        Some(PartitionValue::Boolean(false))
    } else {
        None
    }
}

/// Exact: a digit that the scale can't hold is an error, unless it is a zero.
fn parse_decimal(text: &str, precision: u8, scale: i8) -> Option<PartitionValue> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let shift = i32::from(scale) - i32::try_from(fraction.len()).ok()?;
    let joined = format!("{whole}{fraction}");
    let mut value: i128 = if joined.is_empty() { 0 } else { joined.parse().ok()? };
    for _ in 0..shift.max(0) {
        value = value.checked_mul(10)?;
    }
    for _ in 0..(-shift).max(0) {
        if value % 10 != 0 {
            return None;
        }
        value /= 10;
    }
    if value.unsigned_abs() >= 10u128.checked_pow(u32::from(precision))? {
        return None;
    }
    Some(PartitionValue::Decimal(if negative { -value } else { value }))
}

fn parse_date(text: &str) -> Option<PartitionValue> {
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    let days = date.signed_duration_since(NaiveDate::default()).num_days();
    i32::try_from(days).ok().map(PartitionValue::Date)
}

fn parse_timestamp(text: &str) -> Option<PartitionValue> {
    let time = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f")
        .map(|time| time.and_utc())
        .or_else(|_| parse_any_timestamp(text))
        .ok()?;
    let exact = time.timestamp_subsec_nanos() % 1_000 == 0;
    exact.then(|| PartitionValue::Timestamp(time.timestamp_micros()))
}

/// What SQL takes for a timestamp: `T` or a space, no seconds, a date alone, a zone behind it.
fn parse_any_timestamp(text: &str) -> Result<DateTime<Utc>, ArrowError> {
    let zone: Tz = "+00:00".parse()?;
    Ok(string_to_datetime(&zone, text)?.to_utc())
}

fn format_date(days: i32) -> String {
    NaiveDate::default()
        .checked_add_signed(chrono::Duration::days(days.into()))
        .map_or_else(|| days.to_string(), |date| date.format("%Y-%m-%d").to_string())
}

/// Spark's form: `2024-02-01 07:00:00`, with a fraction only if there is one.
fn format_timestamp(micros: i64) -> String {
    let Some(time) = DateTime::<Utc>::from_timestamp_micros(micros) else {
        return micros.to_string();
    };
    let time: NaiveDateTime = time.naive_utc();
    let text = time.format("%Y-%m-%d %H:%M:%S%.6f").to_string();
    match text.rsplit_once('.') {
        Some((whole, fraction)) => {
            let fraction = fraction.trim_end_matches('0');
            if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") }
        }
        None => text,
    }
}
