//! Lengths of time: `'5 seconds'`, `INTERVAL '10 minutes'`, `INTERVAL '10' MINUTE`.

use std::time::Duration;

use datafusion_common::arrow::compute::kernels::cast_utils::parse_interval_month_day_nano;
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

use super::is_word;

/// What may stand behind the number.
const UNITS: [&str; 12] = [
    "MILLISECOND",
    "MILLISECONDS",
    "SECOND",
    "SECONDS",
    "MINUTE",
    "MINUTES",
    "HOUR",
    "HOURS",
    "DAY",
    "DAYS",
    "WEEK",
    "WEEKS",
];

const SECONDS_PER_DAY: u64 = 86_400;

/// Parses a length of time, with or without INTERVAL in front.
pub fn parse(p: &mut Parser<'_>) -> Result<Duration, ParserError> {
    let _ = p.parse_keyword(Keyword::INTERVAL);
    let token = p.next_token();
    let mut text = match token.token {
        Token::SingleQuotedString(text) => text,
        Token::Number(number, _) => number,
        _ => return p.expected("a length of time, INTERVAL '5 seconds'", token),
    };
    if UNITS.iter().any(|unit| is_word(p, unit)) {
        text = format!("{text} {}", p.next_token().token);
    }
    of(&text)
}

fn of(text: &str) -> Result<Duration, ParserError> {
    let wrong = |why: &str| {
        ParserError::ParserError(format!("'{text}' {why}: write '5 seconds' or '10 minutes'"))
    };
    if text.trim().parse::<f64>().is_ok() {
        return Err(wrong("has no unit"));
    }
    let interval = parse_interval_month_day_nano(text)
        .map_err(|_| wrong("is no length of time"))
        .and_then(|interval| match interval.months {
        0 => Ok(interval),
        _ => Err(wrong("has months, which differ in length")),
    })?;
    let days = u64::try_from(interval.days).map_err(|_| wrong("is negative"))?;
    let nanos = u64::try_from(interval.nanoseconds).map_err(|_| wrong("is negative"))?;
    Ok(Duration::from_secs(days * SECONDS_PER_DAY) + Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_is_read_as_other_systems_write_it() {
        let minutes = Ok(Duration::from_secs(600));
        assert_eq!(of("10 minutes"), minutes);
        assert_eq!(of("10 MINUTE"), minutes);
        assert_eq!(of("1 day 500 milliseconds"), Ok(Duration::from_millis(86_400_500)));
        for (text, why) in [
            ("soon", "is no length"),
            ("5", "has no unit"),
            ("1 month", "has months"),
            ("-1 days", "is negative"),
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
