//! What the fuzz targets call that is no part of the API.

use crate::backend::{Formatted, Meta, Published, from_json, to_json};
use crate::record::Record;

/// Reads `text` as each kind of file of a log folder: whatever it holds is refused or read, and what
/// is read is written and read again as the same.
pub fn read_log_file(text: &[u8]) {
    read_as::<Record>(text);
    read_as::<Meta>(text);
    read_as::<Published>(text);
}

fn read_as<T: Formatted + serde::Serialize>(text: &[u8]) {
    let Ok(found) = from_json::<T>(text, "a fuzzed file") else { return };
    let written = to_json(&found).ok();
    let again = written.as_ref().and_then(|written| from_json::<T>(written, "itself").ok());
    assert!(again.is_some(), "what was written can't be read");
    let rewritten = again.and_then(|again| to_json(&again).ok());
    assert_eq!(written, rewritten);
}
