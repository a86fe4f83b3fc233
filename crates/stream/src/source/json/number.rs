//! [`Digits`]: whether the text of a number fits a type as it is.

use std::borrow::Cow;

use datafusion::arrow::datatypes::DataType;

/// The most digits that a type of whole or decimal numbers holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digits {
    before_point: i64,
    behind_point: i64,
}

impl Digits {
    /// Of a type; none where its numbers aren't exact.
    pub fn of(data_type: &DataType) -> Option<Self> {
        use DataType::*;
        match data_type {
            // All digits of the widest; the conversion knows the limits of each.
            whole if whole.is_integer() => Some(Self { before_point: 20, behind_point: 0 }),
            Decimal32(precision, scale)
            | Decimal64(precision, scale)
            | Decimal128(precision, scale)
            | Decimal256(precision, scale)
                if *scale >= 0 =>
            {
                let behind_point = i64::from(*scale);
                Some(Self { before_point: i64::from(*precision) - behind_point, behind_point })
            }
            _ => None,
        }
    }

    /// A number without an exponent or needless zeros; none for what is no number, or has more
    /// digits than there is room for.
    pub fn fit(self, text: &str) -> Option<Cow<'_, str>> {
        let text = text.trim();
        if self.is_plain(text) {
            return Some(Cow::Borrowed(text));
        }
        let (sign, number) = match text.strip_prefix('-') {
            Some(number) => ("-", number),
            None => ("", text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match number.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (number, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let zeros = digits.len() - digits.trim_start_matches('0').len();
        let point = whole.len() as i64 + i64::from(exponent) - zeros as i64;
        self.place(digits.trim_matches('0'), point)
            .map(|placed| Cow::Owned(format!("{sign}{placed}")))
    }

    /// The usual: digits alone, few enough.
    fn is_plain(self, text: &str) -> bool {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let few = (1..=self.before_point).contains(&(digits.len() as i64));
        few && digits.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Digits without zeros around them, with the point at a place among, before or behind them.
    fn place(self, digits: &str, point: i64) -> Option<String> {
        let count = digits.len() as i64;
        if digits.is_empty() {
            return Some("0".to_owned());
        }
        if point > self.before_point || count - point > self.behind_point {
            return None;
        }
        let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
        Some(match usize::try_from(point) {
            Ok(at) if at > 0 && point < count => format!("{}.{}", &digits[..at], &digits[at..]),
            _ if point >= count => format!("{digits}{}", zeros(point - count)),
            _ => format!("0.{}{digits}", zeros(-point)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_fits_with_all_its_digits_or_not_at_all() {
        let whole = Digits::of(&DataType::Int64).expect("digits");
        let cents = Digits::of(&DataType::Decimal128(10, 2)).expect("digits");
        for (digits, text, fits) in [
            (whole, "-9223372036854775808", Some("-9223372036854775808")),
            (whole, "9007199254740993.0", Some("9007199254740993")),
            (whole, "2.0", Some("2")),
            (whole, "1.25e2", Some("125")),
            (whole, "12e3", Some("12000")),
            (whole, "120e-1", Some("12")),
            (whole, "-0.0", Some("-0")),
            (whole, "0e99", Some("0")),
            (whole, "1.9", None),
            (whole, "1e-1", None),
            (whole, "1e30", None),
            (whole, "1e99999999999", None),
            (cents, "12345678.90", Some("12345678.9")),
            (cents, "123456789", None),
            (cents, "1.999", None),
            (cents, "1.990", Some("1.99")),
            (cents, "5E-2", Some("0.05")),
            (cents, "-.5", Some("-0.5")),
            (cents, "7.", Some("7")),
        ] {
            assert_eq!(digits.fit(text).as_deref(), fits, "{text}");
        }
        for none in ["", "-", ".", "e1", "true", "NaN", "1 2", "1.2.3", "--1", "0x1"] {
            assert_eq!(whole.fit(none), None, "{none}");
        }
        assert_eq!(Digits::of(&DataType::Float64), None);
    }
}
