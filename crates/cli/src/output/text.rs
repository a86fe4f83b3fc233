//! Cells as text that a terminal shows as it is.

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use console::measure_text_width;

use crate::status::Result;

/// The rows of a batch as text, from row `from`, at most `count`.
///
/// # Errors
/// A value that has no text form.
pub fn rows_of(batch: &RecordBatch, from: usize, count: usize) -> Result<Vec<Vec<String>>> {
    let options = FormatOptions::new().with_null("NULL").with_display_error(true);
    let columns = batch.columns().iter();
    let columns: Vec<_> =
        columns.map(|c| ArrayFormatter::try_new(c, &options)).collect::<Result<_, _>>()?;
    let end = from.saturating_add(count).min(batch.num_rows());
    let row = |row| columns.iter().map(|column| visible(&column.value(row).to_string())).collect();
    Ok((from..end).map(row).collect())
}

/// The text with what a terminal would obey, or not show, spelled out; line ends stay.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push(c),
            '\t' => shown.push_str("    "),
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

/// The columns that a text takes: those of its widest line.
pub fn width(text: &str) -> usize {
    text.lines().map(measure_text_width).max().unwrap_or(0)
}

/// A line brought to exactly `width` columns: cut with `…`, or filled up.
pub fn exactly(line: &str, width: usize) -> String {
    let cut = console::truncate_str(line, width, super::fit::GAP);
    console::pad_str(&cut, width, console::Alignment::Left, None).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out() {
        assert_eq!(visible("a\u{1b}[31mb\tc\nd"), "a\\u{1b}[31mb    c\nd");
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(width("ab\n東京"), 4);
        assert_eq!(exactly("東京都", 5), "東京…");
        assert_eq!(exactly("ab", 4), "ab  ");
        assert_eq!(exactly("abcde", 4), "abc…");
    }
}
