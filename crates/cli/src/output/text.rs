//! Cells as text that a terminal shows as it is.

use arrow::array::{Array, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use console::measure_text_width;

use crate::status::Result;

/// What stands for a value that isn't there.
const NULL: &str = "NULL";

/// The same where a text of these letters looks different.
const DIM_NULL: &str = "\x1b[2mNULL\x1b[0m";

/// The rows of a batch as text, at most `count`; NULL is dim where `colours` are on.
///
/// # Errors
/// A value that has no text form.
pub fn rows_of(batch: &RecordBatch, count: usize, colours: bool) -> Result<Vec<Vec<String>>> {
    let options = FormatOptions::new().with_null(NULL).with_display_error(true);
    let null = if colours { DIM_NULL } else { NULL };
    let columns = batch.columns().iter();
    let columns: Vec<_> = columns
        .map(|column| Ok((column.logical_nulls(), ArrayFormatter::try_new(column, &options)?)))
        .collect::<Result<_>>()?;
    let cell = |row: usize, (nulls, text): &(Option<NullBuffer>, ArrayFormatter<'_>)| match nulls
        .as_ref()
        .is_some_and(|nulls| nulls.is_null(row))
    {
        true => null.to_owned(),
        false => visible(&text.value(row).to_string()),
    };
    let row = |row| columns.iter().map(|column| cell(row, column)).collect();
    Ok((0..batch.num_rows().min(count)).map(row).collect())
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
    use std::sync::Arc;

    use arrow::array::{ArrayRef, NullArray, StringArray};

    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out() {
        assert_eq!(visible("a\u{1b}[31mb\tc\nd"), "a\\u{1b}[31mb    c\nd");
    }

    #[test]
    fn a_missing_value_differs_from_its_name_where_there_are_colours() {
        let text: ArrayRef = Arc::new(StringArray::from(vec![None, Some("NULL")]));
        let batch = RecordBatch::try_from_iter([("text", text)]).unwrap();
        assert_eq!(rows_of(&batch, 9, false).unwrap(), [[NULL], [NULL]]);
        assert_eq!(rows_of(&batch, 9, true).unwrap(), [[DIM_NULL], [NULL]]);
        let none: ArrayRef = Arc::new(NullArray::new(1));
        let batch = RecordBatch::try_from_iter([("none", none)]).unwrap();
        assert_eq!(rows_of(&batch, 9, true).unwrap(), [[DIM_NULL]]);
        assert_eq!(exactly(DIM_NULL, 6), format!("{DIM_NULL}  "));
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(width("ab\n東京"), 4);
        assert_eq!(exactly("東京都", 5), "東京…");
        assert_eq!(exactly("ab", 4), "ab  ");
        assert_eq!(exactly("abcde", 4), "abc…");
    }
}
