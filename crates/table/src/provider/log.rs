//! What the scans of a table have read.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::source::Seen;

/// The versions that scans took their snapshots at, and what they passed over. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ReadLog {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    versions: BTreeSet<Option<u64>>,
    warnings: BTreeSet<String>,
    seen: Vec<Arc<Seen>>,
}

impl ReadLog {
    pub(crate) fn note(&self, version: Option<u64>, warnings: &[String]) {
        let mut state = self.locked();
        state.versions.insert(version);
        state.warnings.extend(warnings.iter().cloned());
    }

    pub(crate) fn note_seen(&self, seen: Option<Arc<Seen>>) {
        self.locked().seen.extend(seen);
    }

    /// What each scan saw of the newest version of its table.
    pub fn seen(&self) -> Vec<Arc<Seen>> {
        self.locked().seen.clone()
    }

    /// The oldest version that a scan read; none if no scan was planned, or the tree has no log.
    pub fn version(&self) -> Option<u64> {
        self.locked().versions.first().copied().flatten()
    }

    /// Whether scans of one statement saw different versions: it has to be planned again.
    pub fn is_torn(&self) -> bool {
        self.locked().versions.len() > 1
    }

    /// What was passed over (strays, empty files), each once; they are handed out once.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.locked().warnings).into_iter().collect()
    }

    /// Plain data that no panic leaves half changed.
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
