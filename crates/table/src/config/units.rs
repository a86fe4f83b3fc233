//! Sizes and durations as people write them: `128 MB`, `60 s`, `7 days`.

use std::time::Duration;

use datafusion::common::Result;

use super::settings::wrong_value;

const BYTE_UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
];

const TIME_UNITS: &[(&str, u64)] = &[
    ("ms", 1),
    ("millisecond", 1),
    ("s", 1_000),
    ("sec", 1_000),
    ("second", 1_000),
    ("m", 60_000),
    ("min", 60_000),
    ("minute", 60_000),
    ("h", 3_600_000),
    ("hour", 3_600_000),
    ("d", 86_400_000),
    ("day", 86_400_000),
    ("week", 604_800_000),
];

/// Reads a size in bytes: a number alone, or with `kB MB GB` (powers of 1,000) or
/// `KiB MiB GiB k m g` (powers of 1,024).
///
/// # Errors
/// Anything else and zero; `name` is what the message calls the setting.
pub fn parse_bytes(name: &str, text: &str) -> Result<u64> {
    let (number, unit) = split_unit(text);
    let factor = BYTE_UNITS.iter().find(|(known, _)| *known == unit).map(|(_, bytes)| *bytes);
    match scale(number, factor) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(wrong_value(
            name,
            text,
            "bytes as a number, or a number with kB, MB, GB, KiB, MiB or GiB, such as '128 MB'",
        )),
    }
}

/// Reads a duration: a number with a unit from milliseconds to weeks, or 0. A number alone counts
/// in `bare_unit` where there is one.
///
/// # Errors
/// Anything else; `name` is what the message calls the setting.
pub fn parse_duration(name: &str, text: &str, bare_unit: Option<Duration>) -> Result<Duration> {
    let (number, unit) = split_unit(text);
    let factor = match (unit.as_str(), bare_unit) {
        ("", Some(bare)) => u64::try_from(bare.as_millis()).ok(),
        ("", None) => (number.parse() == Ok(0.0)).then_some(1),
        (unit, _) => time_unit(unit),
    };
    scale(number, factor).map(Duration::from_millis).ok_or_else(|| {
        let accepted = match bare_unit {
            Some(_) => "seconds as a number, or a number with ms, s, min, hours or days",
            None => "0, or a number with a unit (ms, s, min, hours, days, weeks), such as '7 days'",
        };
        wrong_value(name, text, accepted)
    })
}

fn time_unit(unit: &str) -> Option<u64> {
    let find = |name: &str| TIME_UNITS.iter().find(|(known, _)| *known == name);
    find(unit).or_else(|| find(unit.strip_suffix('s')?)).map(|(_, millis)| *millis)
}

/// The number and the unit in lower case.
fn split_unit(text: &str) -> (&str, String) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim().to_ascii_lowercase())
}

fn scale(number: &str, factor: Option<u64>) -> Option<u64> {
    let factor = factor?;
    match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor),
        Err(_) => {
            let scaled = (number.parse::<f64>().ok()? * factor as f64).round();
            (scaled < u64::MAX as f64).then_some(scaled as u64)
        }
    }
}

/// A size as text that [`parse_bytes`] reads back.
pub fn show_bytes(bytes: u64) -> String {
    for (unit, factor) in [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)] {
        if bytes >= factor && bytes.is_multiple_of(factor) {
            return format!("{} {unit}", bytes / factor);
        }
    }
    bytes.to_string()
}

/// A duration as text that [`parse_duration`] reads back.
pub fn show_duration(duration: Duration) -> String {
    let millis = duration.as_millis() as u64;
    for (unit, factor) in [("days", 86_400_000), ("s", 1_000)] {
        if millis >= factor && millis.is_multiple_of(factor) {
            return format!("{} {unit}", millis / factor);
        }
    }
    if millis == 0 { "0".to_owned() } else { format!("{millis} ms") }
}
