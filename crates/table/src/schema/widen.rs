//! Which types can stand in for each other without losing anything.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};

use super::same_name;

/// Whether every value of `from` is a value of `to`, unchanged.
pub fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    if from == to || *from == Null {
        return true;
    }
    match (from, to) {
        (Dictionary(_, values), to) => widens(values, to),
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => true,
        (
            Binary | LargeBinary | BinaryView | FixedSizeBinary(_),
            Binary | LargeBinary | BinaryView,
        ) => true,
        // Old writers leave the text annotation away; bytes that aren't text are an error.
        (Binary | LargeBinary | BinaryView, Utf8 | LargeUtf8 | Utf8View) => true,
        (Float16, Float32 | Float64) | (Float32, Float64) => true,
        (Timestamp(from, zone), Timestamp(to, other)) => {
            zone.is_some() == other.is_some() && finer(to, from)
        }
        (Time32(from) | Time64(from), Time32(to) | Time64(to)) => finer(to, from),
        (List(from) | LargeList(from), List(to) | LargeList(to)) => {
            widens(from.data_type(), to.data_type())
        }
        (FixedSizeList(from, n), FixedSizeList(to, m)) => {
            n == m && widens(from.data_type(), to.data_type())
        }
        (FixedSizeList(from, _), List(to) | LargeList(to)) => {
            widens(from.data_type(), to.data_type())
        }
        (Map(from, _), Map(to, _)) => widens(from.data_type(), to.data_type()),
        (Struct(from), Struct(to)) => struct_widens(from, to),
        (from, to) => number_widens(from, to),
    }
}

/// A field that one side lacks is NULL or left out; those in common must widen. Inside a struct a
/// name that differs in case only would be read as one that is lacking.
fn struct_widens(from: &Fields, to: &Fields) -> bool {
    from.iter().all(|field| match to.iter().find(|target| same_name(target.name(), field.name())) {
        None => true,
        Some(target) => {
            target.name() == field.name() && widens(field.data_type(), target.data_type())
        }
    })
}

fn number_widens(from: &DataType, to: &DataType) -> bool {
    let Some(digits) = Digits::of(from) else { return false };
    if let Some(target) = Digits::of(to) {
        return digits.fits(&target);
    }
    let exact_bits = match to {
        DataType::Float32 => 24,
        DataType::Float64 => 53,
        _ => return false,
    };
    matches!(digits, Digits::Int { bits, .. } if bits <= exact_bits)
}

/// The values of an exact numeric type.
enum Digits {
    /// Two's complement of `bits` bits without the sign.
    Int { bits: u32, signed: bool },
    /// Digits before and behind the point.
    Decimal { whole: i16, fraction: i16 },
}

impl Digits {
    fn of(data_type: &DataType) -> Option<Self> {
        use DataType::*;
        Some(match data_type {
            Int8 => Self::Int { bits: 7, signed: true },
            Int16 => Self::Int { bits: 15, signed: true },
            Int32 => Self::Int { bits: 31, signed: true },
            Int64 => Self::Int { bits: 63, signed: true },
            UInt8 => Self::Int { bits: 8, signed: false },
            UInt16 => Self::Int { bits: 16, signed: false },
            UInt32 => Self::Int { bits: 32, signed: false },
            UInt64 => Self::Int { bits: 64, signed: false },
            Decimal32(p, s) | Decimal64(p, s) | Decimal128(p, s) | Decimal256(p, s) => {
                Self::Decimal { whole: i16::from(*p) - i16::from(*s), fraction: i16::from(*s) }
            }
            _ => return None,
        })
    }

    fn fits(&self, target: &Self) -> bool {
        match (self, target) {
            (Self::Int { bits, signed }, Self::Int { bits: room, signed: sign }) => {
                bits <= room && (*sign || !signed)
            }
            (Self::Int { bits, .. }, Self::Decimal { whole, .. }) => {
                decimal_digits(*bits) <= *whole
            }
            (Self::Decimal { whole, fraction }, Self::Decimal { whole: room, fraction: fine }) => {
                whole <= room && fraction <= fine
            }
            (Self::Decimal { .. }, Self::Int { .. }) => false,
        }
    }
}

/// Decimal digits that hold every integer of so many bits.
fn decimal_digits(bits: u32) -> i16 {
    match bits {
        0..=8 => 3,
        9..=16 => 5,
        17..=32 => 10,
        33..=63 => 19,
        _ => 20,
    }
}

fn finer(unit: &TimeUnit, than: &TimeUnit) -> bool {
    let rank = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    };
    rank(unit) >= rank(than)
}

/// The type that both widen to; none where every choice would lose something.
pub(crate) fn common_type(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::*;
    match (a, b) {
        (Struct(a), Struct(b)) => return common_struct(a, b).map(Struct),
        (List(a), List(b)) => return common_element(a, b).map(List),
        _ => {}
    }
    if widens(a, b) {
        return Some(b.clone());
    }
    if widens(b, a) {
        return Some(a.clone());
    }
    let candidates = [Int16, Int32, Int64, Float64].into_iter().chain(common_decimal(a, b));
    candidates.into_iter().find(|candidate| widens(a, candidate) && widens(b, candidate))
}

fn common_decimal(a: &DataType, b: &DataType) -> Option<DataType> {
    let (Digits::Decimal { whole, fraction }, Digits::Decimal { whole: other, fraction: fine }) =
        (Digits::of(a)?, Digits::of(b)?)
    else {
        return None;
    };
    let scale = fraction.max(fine);
    let precision = whole.max(other) + scale;
    (precision <= 38).then_some(())?;
    Some(DataType::Decimal128(u8::try_from(precision).ok()?, i8::try_from(scale).ok()?))
}

fn common_element(a: &FieldRef, b: &FieldRef) -> Option<FieldRef> {
    let data_type = common_type(a.data_type(), b.data_type())?;
    Some(Arc::new(a.as_ref().clone().with_data_type(data_type).with_nullable(true)))
}

/// The fields of both, those of `a` first.
fn common_struct(a: &Fields, b: &Fields) -> Option<Fields> {
    let mut fields: Vec<Field> = a.iter().map(|field| field.as_ref().clone()).collect();
    for field in b {
        match fields.iter_mut().find(|known| same_name(known.name(), field.name())) {
            None => fields.push(field.as_ref().clone()),
            Some(known) if known.name() != field.name() => return None,
            Some(known) => {
                let data_type = common_type(known.data_type(), field.data_type())?;
                *known = known.clone().with_data_type(data_type);
            }
        }
    }
    Some(fields.into_iter().map(|field| field.with_nullable(true)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_widen_only_where_every_value_survives() {
        use DataType::*;
        for (from, to) in [
            (Int32, Int64),
            (UInt32, Int64),
            (Int32, Float64),
            (Float32, Float64),
            (Int64, Decimal128(19, 0)),
            (Decimal128(10, 2), Decimal128(12, 4)),
        ] {
            assert!(widens(&from, &to), "{from} to {to}");
        }
        for (from, to) in [
            (Int64, Int32),
            (UInt64, Int64),
            (Int32, UInt32),
            (Int64, Float64),
            (Float64, Float32),
            (Decimal128(10, 2), Decimal128(10, 4)),
            (Utf8, Int32),
            (Timestamp(TimeUnit::Nanosecond, None), Timestamp(TimeUnit::Microsecond, None)),
        ] {
            assert!(!widens(&from, &to), "{from} to {to}");
        }
    }

    #[test]
    fn two_types_meet_in_the_narrowest_that_holds_both() {
        use DataType::*;
        assert_eq!(common_type(&Int32, &Int64), Some(Int64));
        assert_eq!(common_type(&UInt32, &Int32), Some(Int64));
        assert_eq!(common_type(&Decimal128(10, 2), &Decimal128(9, 4)), Some(Decimal128(12, 4)));
        assert_eq!(common_type(&Int64, &Utf8), None);
        assert_eq!(common_type(&Int64, &Float64), None);
    }

    #[test]
    fn structs_meet_in_the_fields_of_both_unless_names_differ_in_case() {
        use DataType::*;
        let of = |fields: &[(&str, DataType)]| {
            let field = |(name, ty): &(&str, DataType)| Field::new(*name, ty.clone(), true);
            Struct(fields.iter().map(field).collect())
        };
        let one = of(&[("b", Utf8), ("a", Int32)]);
        let more = of(&[("a", Int64), ("c", Int32)]);
        let both = of(&[("b", Utf8), ("a", Int64), ("c", Int32)]);
        assert_eq!(common_type(&one, &more), Some(both.clone()));
        assert!(widens(&one, &both) && widens(&more, &both));
        let shouted = of(&[("B", Utf8)]);
        assert_eq!(common_type(&one, &shouted), None);
        assert!(!widens(&shouted, &one));
    }
}
