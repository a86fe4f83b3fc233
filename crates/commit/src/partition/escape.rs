//! Hive's escaping of one directory-name part.

use std::fmt::Write;

/// The directory value that stands for NULL.
pub(crate) const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// `%XX` for control characters, DEL and the characters Hive escapes; everything else as it is.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if needs_escape(c) {
            // Writing to a String can't fail.
            let _ = write!(escaped, "%{:02X}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn needs_escape(c: char) -> bool {
    c.is_ascii_control() || "\"#%'*/:=?\\{[]^".contains(c)
}

/// Decodes every `%XX` once; a `%` without two hex digits stands for itself. None when the decoded
/// bytes are not UTF-8.
pub(crate) fn unescape(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_string());
    }
    percent_encoding::percent_decode_str(text).decode_utf8().ok().map(|text| text.into_owned())
}
