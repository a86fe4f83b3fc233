//! What the checker explores: the world, the processes, and what is true of each version.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::script::Answer;
use super::world::{HOME, World};
use crate::backend::Published;
use crate::names;
use crate::record::{Identity, Outcome, Record};

/// Partition directories, and which files are in them: each data file holds one byte.
pub(super) type Content = BTreeMap<String, BTreeSet<u8>>;

/// How a version ended, in a form that can be hashed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum End {
    Done,
    Void,
    Skipped(Vec<String>),
}

impl From<Outcome> for End {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::Done,
            Outcome::Void => Self::Void,
            Outcome::Skipped { partitions } => Self::Skipped(partitions),
        }
    }
}

impl From<End> for Outcome {
    fn from(end: End) -> Self {
        match end {
            End::Done => Self::Done,
            End::Void => Self::Void,
            End::Skipped(partitions) => Self::Skipped { partitions },
        }
    }
}

/// Where a process is; within a phase its answers say how far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// Nothing done, but for what was staged.
    Ready,
    /// A writer brings this version in, and publishes it.
    Complete(Known),
    /// It is published: what is left to do after that.
    Clean(Known, End),
    /// A reader opens the files of its snapshot; so many are read.
    Fetch(Taken, Content),
    /// A sweeper aborts these uploads.
    Abort(Vec<String>),
    /// It ended.
    Ended(Said),
    /// Stopped in the middle: the machine went down.
    Crashed,
}

/// What a process told whoever asked it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Said {
    /// A writer: this version was made.
    Committed(u64),
    /// A writer: nothing was done.
    Refused(String),
    /// A reader: this version holds that.
    Read(u64, Content),
    /// A helper or a sweeper.
    Finished,
    /// What never may be.
    Broken(String),
}

/// A snapshot whose files wait to be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Taken {
    pub(super) version: u64,
    /// Path, identity, and the version that retained it.
    pub(super) files: Vec<(String, Identity, Option<u64>)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) phase: Phase,
    pub(super) answers: Arc<Vec<Answer>>,
}

/// One logged version as it was meant: who wrote it, and how it ended once that is published.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Version {
    pub(super) writer: usize,
    pub(super) end: Option<End>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) world: World,
    pub(super) processes: Vec<Process>,
    pub(super) crashes: usize,
    /// The versions above the first.
    pub(super) versions: Vec<Version>,
    /// A put was lost.
    pub(super) lost: bool,
    /// The writers that weren't logged when a sweeper looked: their uploads may go.
    pub(super) unlogged: BTreeSet<usize>,
    /// The other tool has been at the table.
    pub(super) foreign: bool,
    /// The log or what is published was changed after the fact.
    pub(super) rewritten: Option<String>,
}

impl State {
    /// Takes note of what a step logged and published.
    pub(super) fn observe(&mut self, writer_of: impl Fn(&Record) -> usize) {
        while let Some(record) = self.record(self.versions.len() as u64 + 2) {
            self.versions.push(Version { writer: writer_of(&record), end: None });
            if let Some(previous) = &record.previous {
                self.settle(record.version - 1, previous);
            }
        }
        if let Some(published) = self.published() {
            self.settle(published.version, &published.outcome);
        }
    }

    fn settle(&mut self, version: u64, outcome: &Outcome) {
        let Some(found) = version.checked_sub(2).and_then(|n| self.versions.get_mut(n as usize))
        else {
            return;
        };
        let end = End::from(outcome.clone());
        match &found.end {
            Some(known) if *known != end => {
                self.rewritten = Some(format!("version {version}: {known:?}, then {end:?}"));
            }
            _ => found.end = Some(end),
        }
    }

    pub(super) fn record(&self, version: u64) -> Option<Record> {
        let file = self.world.file(&format!("{HOME}/{}/{}", names::LOG, names::record(version)))?;
        serde_json::from_slice(&file.bytes).ok()
    }

    pub(super) fn published(&self) -> Option<Published> {
        let file = self.world.file(&format!("{HOME}/{}", names::PUBLISHED))?;
        serde_json::from_slice(&file.bytes).ok()
    }

    /// Nobody is at work.
    pub(super) fn is_quiet(&self) -> bool {
        let ended = |process: &Process| matches!(process.phase, Phase::Ended(_) | Phase::Crashed);
        self.world.on_its_way.is_none() && self.processes.iter().all(ended)
    }
}

/// A record in a process's memory.
#[derive(Clone, Debug)]
pub(super) struct Known(Arc<Record>);

impl From<Record> for Known {
    fn from(record: Record) -> Self {
        Self(Arc::new(record))
    }
}

impl std::ops::Deref for Known {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.0
    }
}

impl PartialEq for Known {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Known {}

impl Hash for Known {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.version, &self.transaction).hash(state);
    }
}
