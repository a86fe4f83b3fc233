//! Decimals as PostgreSQL's numeric: digits to the base of 10,000.

use bytes::{BufMut, BytesMut};
use partwise_stream::{Error, Result};

/// Decimal digits of one digit to the base of 10,000.
const GROUP: usize = 4;
/// The sign of negative values.
const NEGATIVE: u16 = 0x4000;

/// Puts a decimal whose digits, without the point, are in `text`, with a sign where it is negative.
pub(super) fn put_numeric(text: &str, scale: i8, out: &mut BytesMut) -> Result<()> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (groups, weight) = groups(digits, scale);
    let zeros = groups.iter().take_while(|group| **group == 0).count();
    let end = groups.iter().rposition(|group| *group != 0).map_or(zeros, |last| last + 1);
    let groups = &groups[zeros..end];
    let short = |number: usize| {
        i16::try_from(number).map_err(|_| Error::invalid(format!("{text} has too many digits")))
    };
    let weight = if groups.is_empty() { 0 } else { weight - short(zeros)? };
    out.put_i16(short(groups.len())?);
    out.put_i16(weight);
    out.put_u16(if negative && !groups.is_empty() { NEGATIVE } else { 0 });
    out.put_i16(i16::from(scale.max(0)));
    groups.iter().for_each(|group| out.put_u16(*group));
    Ok(())
}

/// The digits in groups on both sides of the point, and the power of the first group.
fn groups(digits: &str, scale: i8) -> (Vec<u16>, i16) {
    let after = usize::from(scale.max(0).unsigned_abs());
    let zeros = usize::from(scale.min(0).unsigned_abs());
    let before = (digits.len() + zeros).saturating_sub(after);
    let missing = after.saturating_sub(digits.len() + zeros);
    let lead = (GROUP - before % GROUP) % GROUP + missing;
    let tail = (GROUP - after % GROUP) % GROUP + zeros;
    let mut all = vec![b'0'; lead];
    all.extend_from_slice(digits.as_bytes());
    all.resize(all.len() + tail, b'0');
    let number = |group: &[u8]| group.iter().fold(0, |n, digit| n * 10 + u16::from(digit - b'0'));
    let groups: Vec<u16> = all.chunks(GROUP).map(number).collect();
    // At most 76 digits and a scale of a byte: far from the limits.
    let weight = before.div_ceil(GROUP) as i16 - 1;
    (groups, weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str, scale: i8) -> Vec<i16> {
        let mut out = BytesMut::new();
        put_numeric(text, scale, &mut out).unwrap();
        out.chunks(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]])).collect()
    }

    #[test]
    fn digits_are_grouped_from_the_point() {
        // Number of groups, power of the first, sign, digits after the point, groups.
        assert_eq!(parts("12345", 2), [2, 0, 0, 2, 123, 4500]);
        assert_eq!(parts("-1234567890", 4), [3, 1, 0x4000, 4, 12, 3456, 7890]);
        assert_eq!(parts("5", 6), [1, -2, 0, 6, 500]);
        assert_eq!(parts("10000", 0), [1, 1, 0, 0, 1]);
        assert_eq!(parts("7", -3), [1, 0, 0, 0, 7000]);
        assert_eq!(parts("0", 3), [0, 0, 0, 3]);
    }
}
