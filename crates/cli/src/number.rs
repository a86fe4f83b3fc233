//! Numbers as people read them.

use std::time::Duration;

use partwise_sql::thousands;

/// Cents as `256,692,373.14`, a minus in front of negative amounts.
pub fn amount(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let (whole, rest) = (cents.unsigned_abs() / 100, cents.unsigned_abs() % 100);
    format!("{sign}{}.{rest:02}", thousands(whole))
}

/// Seconds with as many digits as say something: `0.004 s`, `1.27 s`, `83.1 s`.
pub fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let digits = if seconds < 1.0 { 3 } else { 2 };
    format!("{seconds:.digits$} s")
}

/// Takes the commas out of grouped numbers, and only there: `77,530 to 10, not 5` keeps its second comma.
pub fn without_grouping(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let is_digit = |i: usize| chars.get(i).is_some_and(char::is_ascii_digit);
    let separates = |i: usize| {
        i > 0 && is_digit(i - 1) && (1..=3).all(|ahead| is_digit(i + ahead)) && !is_digit(i + 4)
    };
    let kept = (0..chars.len()).filter(|&i| chars[i] != ',' || !separates(i));
    kept.map(|i| chars[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_two_decimals() {
        assert_eq!(amount(25_669_237_314), "256,692,373.14");
        assert_eq!(amount(-5), "-0.05");
    }

    #[test]
    fn only_commas_inside_numbers_go() {
        let text = "from 77,530 to 10, 1,234,567 rows, 12,34";
        assert_eq!(without_grouping(text), "from 77530 to 10, 1234567 rows, 12,34");
    }

    #[test]
    fn short_times_show_milliseconds() {
        assert_eq!(seconds(Duration::from_micros(4_200)), "0.004 s");
        assert_eq!(seconds(Duration::from_millis(1_270)), "1.27 s");
    }
}
