//! Directories that were found spelled in another way than the records say.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::record::Record;

/// The newest version of each table (by id) in which such a directory was seen by this process. The
/// next commit looks at all directories and says anew how they are spelled.
static SEEN: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

/// Notes that a directory isn't spelled as the newest record says.
pub(super) fn note_otherwise(newest: &Record) {
    if !newest.canonical_paths.is_empty() {
        seen().insert(newest.table.clone(), newest.version);
    }
}

/// Whether a directory was seen that isn't spelled as the newest record says.
pub(super) fn seen_otherwise(newest: &Record) -> bool {
    seen().get(&newest.table) == Some(&newest.version)
}

/// Plain data that no panic leaves half changed.
fn seen() -> MutexGuard<'static, BTreeMap<String, u64>> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}
