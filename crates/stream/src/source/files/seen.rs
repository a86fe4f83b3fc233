//! Which files batches have had, and which wait.

use std::collections::{HashSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::list::{FileOffsets, FoundFile};
use crate::{Error, Result};

/// Files by whether a batch has had them.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Paths that batches have had.
    had: HashSet<String>,
    /// Files for the batches to come, in order.
    waiting: VecDeque<FoundFile>,
    /// Nothing that arrives from now on counts.
    closed: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Remembered {
    had: Vec<String>,
}

impl Seen {
    pub fn resume(remembered: Option<Value>, since: Vec<Value>) -> Result<Self> {
        let mut had = HashSet::new();
        if let Some(remembered) = remembered {
            let remembered: Remembered = serde_json::from_value(remembered)
                .map_err(|cause| Error::corrupt(format!("the list of files read: {cause}")))?;
            had.extend(remembered.had);
        }
        for offsets in since {
            had.extend(FileOffsets::of(&offsets)?.files.into_iter().map(|file| file.path));
        }
        Ok(Self { had, ..Self::default() })
    }

    /// Whether the folder has to be listed for the next batch.
    pub fn wants_look(&self) -> bool {
        self.waiting.is_empty() && !self.closed
    }

    /// Takes note of what is in the folder: files that are gone need no remembering.
    pub fn found(&mut self, there: Vec<FoundFile>) {
        let paths: HashSet<&str> = there.iter().map(|file| file.path.as_str()).collect();
        self.had.retain(|path| paths.contains(path.as_str()));
        self.waiting = there.into_iter().filter(|file| !self.had.contains(&file.path)).collect();
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
        self.had.extend(files.iter().map(|file| file.path.clone()));
        let offsets = serde_json::to_value(FileOffsets { files });
        Ok(Some(offsets.map_err(|cause| Error::internal(format!("offsets as JSON: {cause}")))?))
    }

    pub fn remembered(&self) -> Value {
        let mut had: Vec<&String> = self.had.iter().collect();
        had.sort();
        serde_json::json!({ "had": had })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<FoundFile> {
        let file = |name: &&str| FoundFile { path: (*name).to_owned(), size: 1, modified_ns: 0 };
        names.iter().map(file).collect()
    }

    #[test]
    fn each_file_is_read_once_and_forgotten_when_it_is_gone() {
        let mut seen = Seen::default();
        seen.found(files(&["a", "b", "c"]));
        let first = seen.next(Some(2)).expect("offsets").expect("a batch");
        assert_eq!(FileOffsets::of(&first).expect("offsets").files, files(&["a", "b"]));
        seen.found(files(&["b", "c", "d"]));
        assert_eq!(seen.remembered(), serde_json::json!({ "had": ["b"] }));
        let rest = seen.next(None).expect("offsets").expect("a batch");
        assert_eq!(FileOffsets::of(&rest).expect("offsets").files, files(&["c", "d"]));
        assert_eq!(seen.next(None).expect("none"), None);
    }

    #[test]
    fn a_restart_remembers_what_batches_have_had() {
        let mut first = Seen::default();
        first.found(files(&["a", "b"]));
        let offsets = first.next(Some(1)).expect("offsets").expect("a batch");
        let mut second = Seen::resume(None, vec![offsets]).expect("resumed");
        second.found(files(&["a", "b"]));
        let rest = second.next(None).expect("offsets").expect("a batch");
        assert_eq!(FileOffsets::of(&rest).expect("offsets").files, files(&["b"]));
    }
}
