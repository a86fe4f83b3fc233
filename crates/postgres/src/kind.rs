//! PostgreSQL's column types and what of Arrow fits into them.

use datafusion::arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};
use partwise_stream::{Error, Result};
use tokio_postgres::types::Type;

/// An interval's fields where none is left out.
const ALL_FIELDS: i32 = 0x7fff;

/// A type of a column that rows can be written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int2,
    Int4,
    Int8,
    Float4,
    Float8,
    Numeric,
    Text,
    Varchar,
    Bpchar,
    Json,
    Jsonb,
    Uuid,
    Bytea,
    Date,
    Time,
    Timestamp,
    Timestamptz,
    Interval,
    List(Box<Kind>),
}

/// Those that aren't lists, the type and the type of its arrays.
const SCALARS: [(Kind, Type, Type); 19] = [
    (Kind::Bool, Type::BOOL, Type::BOOL_ARRAY),
    (Kind::Int2, Type::INT2, Type::INT2_ARRAY),
    (Kind::Int4, Type::INT4, Type::INT4_ARRAY),
    (Kind::Int8, Type::INT8, Type::INT8_ARRAY),
    (Kind::Float4, Type::FLOAT4, Type::FLOAT4_ARRAY),
    (Kind::Float8, Type::FLOAT8, Type::FLOAT8_ARRAY),
    (Kind::Numeric, Type::NUMERIC, Type::NUMERIC_ARRAY),
    (Kind::Text, Type::TEXT, Type::TEXT_ARRAY),
    (Kind::Varchar, Type::VARCHAR, Type::VARCHAR_ARRAY),
    (Kind::Bpchar, Type::BPCHAR, Type::BPCHAR_ARRAY),
    (Kind::Json, Type::JSON, Type::JSON_ARRAY),
    (Kind::Jsonb, Type::JSONB, Type::JSONB_ARRAY),
    (Kind::Uuid, Type::UUID, Type::UUID_ARRAY),
    (Kind::Bytea, Type::BYTEA, Type::BYTEA_ARRAY),
    (Kind::Date, Type::DATE, Type::DATE_ARRAY),
    (Kind::Time, Type::TIME, Type::TIME_ARRAY),
    (Kind::Timestamp, Type::TIMESTAMP, Type::TIMESTAMP_ARRAY),
    (Kind::Timestamptz, Type::TIMESTAMPTZ, Type::TIMESTAMPTZ_ARRAY),
    (Kind::Interval, Type::INTERVAL, Type::INTERVAL_ARRAY),
];

impl Kind {
    /// The kind of a type by its oid; none for those that aren't written to.
    pub fn of_oid(oid: u32) -> Option<Self> {
        SCALARS.iter().find_map(|(kind, scalar, list)| match oid {
            oid if oid == scalar.oid() => Some(kind.clone()),
            oid if oid == list.oid() => Some(Self::List(Box::new(kind.clone()))),
            _ => None,
        })
    }

    /// The kind that a column of these values gets.
    ///
    /// # Errors
    /// Types that PostgreSQL has no column for.
    pub fn of_arrow(field: &Field) -> Result<Self> {
        natural(field.data_type()).ok_or_else(|| {
            Error::unsupported(format!(
                "the column {} is {}, which no column type of PostgreSQL takes: select its parts, \
                 or CAST it",
                field.name(),
                field.data_type()
            ))
        })
    }

    /// PostgreSQL's type; of a list, that of its values.
    pub fn element(&self) -> Type {
        self.types().0
    }

    /// The type of arrays of it; of a list, the list's own.
    pub fn array(&self) -> Type {
        self.types().1
    }

    fn types(&self) -> (Type, Type) {
        if let Self::List(values) = self {
            return values.types();
        }
        let found = SCALARS.iter().find(|(kind, ..)| kind == self);
        // Every scalar is in the list.
        found.map_or((Type::TEXT, Type::TEXT_ARRAY), |(_, a, b)| (a.clone(), b.clone()))
    }

    /// Its name in SQL, without lengths.
    pub fn sql(&self) -> String {
        match self {
            Self::Bool => "boolean".to_owned(),
            Self::Int2 => "smallint".to_owned(),
            Self::Int4 => "integer".to_owned(),
            Self::Int8 => "bigint".to_owned(),
            Self::Float4 => "real".to_owned(),
            Self::Float8 => "double precision".to_owned(),
            Self::List(values) => format!("{}[]", values.sql()),
            other => other.element().name().to_owned(),
        }
    }

    /// Whether all values of an Arrow type are values of this, or are checked one by one; `typmod` is
    /// the column's, which limits the digits of numbers and of seconds. That of a list is its values'.
    pub fn takes(&self, values: &DataType, typmod: i32) -> bool {
        use Kind::{Bpchar, Float4, Float8, Int2, Int4, Int8, Json, Jsonb, Numeric, Text, Varchar};
        if let (Self::List(kind), Some(item)) = (self, item(values)) {
            return kind.takes(item, typmod);
        }
        let Some(own) = natural(values) else { return false };
        match (own, self) {
            (Int2, Int4 | Int8) | (Int4, Int8) | (Float4, Float8) => true,
            (Text, Varchar | Bpchar | Json | Jsonb | Self::Uuid) => true,
            (Int2 | Int4 | Int8 | Numeric, Numeric) => scale(values) <= allowed_scale(typmod),
            // Values above the highest bigint fail.
            (Numeric, Int8) => matches!(plain(values), DataType::UInt64),
            (Self::Bytea, Self::Uuid) => matches!(plain(values), DataType::FixedSizeBinary(16)),
            (own, kind) => own == *kind && second_digits(values) <= kind.kept_second_digits(typmod),
        }
    }

    /// Whether values of an Arrow type that differ also differ for the server, so that they can be
    /// keys.
    pub fn tells_apart(&self, values: &DataType) -> bool {
        match (self, plain(values)) {
            // One document may be written in several ways.
            (Self::Json | Self::Jsonb, _) => false,
            // A month is 30 days, a day 24 hours.
            (Self::Interval, DataType::Interval(unit)) => *unit == IntervalUnit::YearMonth,
            // 0 and -0 are one for the server, and two in a list of DataFusion's.
            (Self::List(kind), _) => {
                !matches!(**kind, Self::Float4 | Self::Float8)
                    && item(values).is_some_and(|item| kind.tells_apart(item))
            }
            _ => true,
        }
    }

    /// Digits of a second that a column keeps; more would be rounded off.
    fn kept_second_digits(&self, typmod: i32) -> i32 {
        match self {
            Self::Time | Self::Timestamp | Self::Timestamptz if typmod >= 0 => typmod,
            // Sixteen bits say which fields it has, sixteen how many digits.
            Self::Interval if typmod >= 0 && typmod >> 16 != ALL_FIELDS => -1,
            Self::Interval if typmod >= 0 => typmod & 0xffff,
            _ => i32::MAX,
        }
    }
}

/// How a column of these values is declared.
///
/// # Errors
/// Types that PostgreSQL has no column for.
pub(crate) fn declared(field: &Field) -> Result<String> {
    let kind = Kind::of_arrow(field)?;
    Ok(match (plain(field.data_type()), &kind) {
        (DataType::UInt64, _) => "numeric(20, 0)".to_owned(),
        (values, Kind::Numeric) => {
            let (digits, scale) = digits(values);
            let wider = u32::from(scale.min(0).unsigned_abs());
            format!("numeric({}, {})", (u32::from(digits) + wider).max(1), scale.max(0))
        }
        _ => kind.sql(),
    })
}

/// The type below dictionaries.
pub(crate) fn plain(values: &DataType) -> &DataType {
    match values {
        DataType::Dictionary(_, values) => plain(values),
        values => values,
    }
}

fn natural(values: &DataType) -> Option<Kind> {
    use DataType::*;
    Some(match plain(values) {
        Boolean => Kind::Bool,
        Int8 | Int16 | UInt8 => Kind::Int2,
        Int32 | UInt16 => Kind::Int4,
        Int64 | UInt32 => Kind::Int8,
        Float16 | Float32 => Kind::Float4,
        Float64 => Kind::Float8,
        UInt64 | Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => Kind::Numeric,
        Utf8 | LargeUtf8 | Utf8View => Kind::Text,
        Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => Kind::Bytea,
        Date32 | Date64 => Kind::Date,
        Time32(_) | Time64(_) => Kind::Time,
        Timestamp(_, None) => Kind::Timestamp,
        Timestamp(_, Some(_)) => Kind::Timestamptz,
        Interval(_) | Duration(_) => Kind::Interval,
        list => match natural(item(list)?)? {
            Kind::List(_) => return None,
            scalar => Kind::List(Box::new(scalar)),
        },
    })
}

/// The type of a list's values.
fn item(values: &DataType) -> Option<&DataType> {
    match plain(values) {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            Some(item.data_type())
        }
        _ => None,
    }
}

/// Digits of a second that values may have; those of nanoseconds are checked one by one.
fn second_digits(values: &DataType) -> i32 {
    use DataType::{Duration, Interval, Time32, Time64, Timestamp};
    match plain(values) {
        Time32(unit) | Time64(unit) | Timestamp(unit, _) | Duration(unit) => match unit {
            TimeUnit::Second => 0,
            TimeUnit::Millisecond => 3,
            TimeUnit::Microsecond | TimeUnit::Nanosecond => 6,
        },
        Interval(IntervalUnit::YearMonth) => 0,
        Interval(IntervalUnit::DayTime) => 3,
        Interval(IntervalUnit::MonthDayNano) => 6,
        _ => 0,
    }
}

fn digits(values: &DataType) -> (u8, i8) {
    match values {
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale)
        | DataType::Decimal256(digits, scale) => (*digits, *scale),
        _ => (20, 0),
    }
}

fn scale(values: &DataType) -> i32 {
    i32::from(digits(plain(values)).1)
}

/// Digits after the point that a numeric column keeps; more would be rounded off.
fn allowed_scale(typmod: i32) -> i32 {
    match typmod {
        ..4 => i32::MAX,
        // Eleven bits with a sign.
        typmod => (((typmod - 4) & 0x7ff) ^ 1024) - 1024,
    }
}

/// Whether a unit is finer than PostgreSQL's microseconds.
pub(crate) fn finer(unit: TimeUnit) -> bool {
    unit == TimeUnit::Nanosecond
}
