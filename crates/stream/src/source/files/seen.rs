//! Which files batches have had, and which wait.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use serde::Deserialize;
use serde_json::Value;

use super::list::{FileOffsets, FoundFile};
use crate::{Error, Result};

/// How long a file that was read is remembered once it is missing from the folder: a week, in
/// milliseconds. A part of the folder may be away for a while, such as one that is mounted.
const REMEMBERED_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// Files by whether a batch has had them.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Paths that batches have had; since when one is missing, milliseconds since 1970.
    had: HashMap<String, Option<i64>>,
    /// Files for the batches to come, in order.
    waiting: VecDeque<FoundFile>,
    /// Nothing that arrives from now on counts.
    closed: bool,
}

#[derive(Debug, Default, Deserialize)]
struct Remembered {
    had: Vec<String>,
    /// Those of them that are missing, since when.
    #[serde(default)]
    missing: BTreeMap<String, i64>,
}

impl Seen {
    pub fn resume(remembered: Option<Value>, since: Vec<Value>) -> Result<Self> {
        let mut had = HashMap::new();
        if let Some(remembered) = remembered {
            let remembered: Remembered = serde_json::from_value(remembered)
                .map_err(|cause| Error::corrupt(format!("the list of files read: {cause}")))?;
            let since = |path: &String| remembered.missing.get(path).copied();
            had.extend(remembered.had.iter().map(|path| (path.clone(), since(path))));
        }
        for offsets in since {
            let files = FileOffsets::of(&offsets)?.files.into_iter();
            had.extend(files.map(|file| (file.path, None)));
        }
        Ok(Self { had, ..Self::default() })
    }

    /// Whether no batch has had any file.
    pub fn is_new(&self) -> bool {
        self.had.is_empty()
    }

    /// Whether the folder has to be listed for the next batch.
    pub fn wants_look(&self) -> bool {
        self.waiting.is_empty() && !self.closed
    }

    /// Takes note of what is in the folder at a time, milliseconds since 1970.
    pub fn found(&mut self, there: Vec<FoundFile>, now_ms: i64) {
        // Nothing at all is rather a folder whose disk is away than one whose files are gone.
        if !there.is_empty() {
            self.forget(&there, now_ms);
        }
        let new = |file: &FoundFile| !self.had.contains_key(&file.path);
        self.waiting = there.into_iter().filter(new).collect();
    }

    /// Files that have been gone for long need no remembering.
    fn forget(&mut self, there: &[FoundFile], now_ms: i64) {
        let there: HashSet<&str> = there.iter().map(|file| file.path.as_str()).collect();
        self.had.retain(|path, missing| {
            if there.contains(path.as_str()) {
                *missing = None;
                return true;
            }
            now_ms.saturating_sub(*missing.get_or_insert(now_ms)) < REMEMBERED_MS
        });
    }

    pub fn close(&mut self) {
        self.closed = true;
    }

    /// The offsets of the next batch.
    pub fn next(&mut self, limit: Option<usize>) -> Result<Option<Value>> {
        let count = limit.unwrap_or(usize::MAX).min(self.waiting.len());
        if count == 0 {
            return Ok(None);
        }
        let files: Vec<FoundFile> = self.waiting.drain(..count).collect();
        self.had.extend(files.iter().map(|file| (file.path.clone(), None)));
        let offsets = serde_json::to_value(FileOffsets { files });
        Ok(Some(offsets.map_err(|cause| Error::internal(format!("offsets as JSON: {cause}")))?))
    }

    pub fn remembered(&self) -> Value {
        let mut had: Vec<&String> = self.had.keys().collect();
        had.sort();
        let missing = self.had.iter().filter_map(|(path, since)| Some((path, (*since)?)));
        serde_json::json!({ "had": had, "missing": missing.collect::<BTreeMap<_, _>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<FoundFile> {
        let file = |name: &&str| FoundFile { path: (*name).to_owned(), size: 1, modified_ns: 0 };
        names.iter().map(file).collect()
    }

    fn next(seen: &mut Seen) -> Vec<FoundFile> {
        let offsets = seen.next(None).expect("offsets");
        offsets.map_or(vec![], |offsets| FileOffsets::of(&offsets).expect("offsets").files)
    }

    /// After a restart.
    fn resumed(seen: &Seen) -> Seen {
        Seen::resume(Some(seen.remembered()), vec![]).expect("resumed")
    }

    #[test]
    fn each_file_is_read_once() {
        let mut seen = Seen::default();
        seen.found(files(&["a", "b", "c"]), 0);
        let first = seen.next(Some(2)).expect("offsets").expect("a batch");
        assert_eq!(FileOffsets::of(&first).expect("offsets").files, files(&["a", "b"]));
        seen.found(files(&["b", "c", "d"]), 0);
        assert_eq!(next(&mut seen), files(&["c", "d"]));
        assert_eq!(seen.next(None).expect("none"), None);
    }

    #[test]
    fn a_file_that_is_away_and_back_is_not_read_again() {
        let mut seen = Seen::default();
        seen.found(files(&["a", "b"]), 0);
        assert_eq!(next(&mut seen), files(&["a", "b"]));
        for (there, at) in [(&["b", "c"][..], 10), (&[], 20), (&[], REMEMBERED_MS * 2)] {
            seen.found(files(there), at);
            next(&mut seen);
            seen = resumed(&seen);
        }
        seen.found(files(&["a", "b", "c"]), REMEMBERED_MS * 2);
        assert_eq!(next(&mut seen), []);
    }

    #[test]
    fn a_file_that_is_gone_for_long_is_forgotten() {
        let mut seen = Seen::default();
        seen.found(files(&["a", "b"]), 0);
        next(&mut seen);
        seen.found(files(&["b"]), 10);
        assert_eq!(seen.remembered(), serde_json::json!({"had": ["a", "b"], "missing": {"a": 10}}));
        let mut seen = resumed(&seen);
        seen.found(files(&["b"]), REMEMBERED_MS + 9);
        assert!(seen.had.contains_key("a"));
        seen.found(files(&["b"]), REMEMBERED_MS + 10);
        assert_eq!(seen.remembered(), serde_json::json!({"had": ["b"], "missing": {}}));
    }

    #[test]
    fn a_restart_remembers_what_batches_have_had() {
        let mut first = Seen::default();
        first.found(files(&["a", "b"]), 0);
        let offsets = first.next(Some(1)).expect("offsets").expect("a batch");
        let mut second = Seen::resume(None, vec![offsets]).expect("resumed");
        second.found(files(&["a", "b"]), 0);
        assert_eq!(next(&mut second), files(&["b"]));
    }
}
