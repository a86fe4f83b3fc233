//! A checkpoint: a folder on the local disk that holds all a query needs to go on. This module owns
//! every name in it.
//!
//! ```text
//! query.json      id, fingerprint, engine; made once
//! lock            held by the running instance, with its name; the kernel frees it
//! offsets/<n>     the exact input of batch n, before it runs        create-once, flushed
//! commits/<n>     batch n is done                                   create-once, flushed
//! state/<n>.*     the groups after batch n: those that changed, or all
//! sources/<n>     what the source remembers up to batch n, in place of older offsets
//! ```

mod discard;
mod disk;
mod entry;
mod identity;
mod lock;

pub use discard::drop_checkpoint;
pub(crate) use disk::{blocking, numbers, read as read_file, remove, replace, replace_with};
pub(crate) use entry::{CommitEntry, Delivered, OffsetsEntry};
pub(crate) use identity::Fingerprint;
pub(crate) use lock::Runner;

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, Result};
use disk::{create_once, make_folders, sweep};
use identity::Identity;
use lock::Held;

/// Batches whose offsets and commits are kept one by one; a multiple of them is summed up.
const KEPT: u64 = 100;

/// An open checkpoint: this instance is the one that runs.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    dir: PathBuf,
    id: String,
    _held: Held,
}

/// Where a query stands.
#[derive(Debug, Default)]
pub(crate) struct Position {
    /// The last batch that is done.
    pub committed: Option<(u64, CommitEntry)>,
    /// Batches that were planned after it, oldest first: to be run again.
    pub pending: Vec<(u64, OffsetsEntry)>,
    /// What the source remembered last.
    pub remembered: Option<Value>,
    /// The offsets of the batches since.
    pub since: Vec<Value>,
}

impl Checkpoint {
    /// Opens the checkpoint of a query, or makes it.
    ///
    /// # Errors
    /// `Busy` where another instance runs: who. `Refused` where it belongs to another query, or the
    /// query has changed: what, and the ways on.
    pub fn open(dir: &Path, name: &str, fingerprint: &Fingerprint) -> Result<Self> {
        if dir.to_string_lossy().contains("://") {
            return Err(Error::unsupported(format!(
                "CHECKPOINT '{}': a checkpoint lies on a local disk: give a folder",
                dir.display()
            )));
        }
        let folders = ["offsets", "commits", "state", "sources"].map(|name| dir.join(name));
        make_folders(&folders)?;
        let held = Held::take(&dir.join("lock"))?;
        folders.iter().map(PathBuf::as_path).chain([dir]).try_for_each(sweep)?;
        let path = dir.join("query.json");
        let identity = match read::<Identity>(&path)? {
            // Nothing has been read for it yet: a query that failed to start is corrected.
            Some(found) if found.is_known() && is_unused(dir)? => {
                found.with(name, fingerprint.clone())
            }
            Some(found) => {
                found.check(dir, name, fingerprint)?;
                match found.is_current() {
                    true => return Ok(Self::held(dir, found, held)),
                    // From now on it is compared with what this version makes of the query.
                    false => found.with(name, fingerprint.clone()),
                }
            }
            None if numbers(&dir.join("offsets"), "")?.is_empty() => {
                Identity::new(name, fingerprint.clone())
            }
            None => {
                return Err(Error::corrupt(format!(
                    "{} has offsets but no query.json: it is no whole checkpoint; restore the \
                     folder, or use a new CHECKPOINT",
                    dir.display()
                )));
            }
        };
        replace(&path, &json(&identity)?)?;
        Ok(Self::held(dir, identity, held))
    }

    fn held(dir: &Path, identity: Identity, held: Held) -> Self {
        Self { dir: dir.to_path_buf(), id: identity.id, _held: held }
    }

    /// The query's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The folder of the states.
    pub fn state_dir(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// Where the query stands.
    ///
    /// # Errors
    /// Entries that are missing or can't be read, named.
    pub fn position(&self) -> Result<Position> {
        let offsets = numbers(&self.dir.join("offsets"), "")?;
        let commits = numbers(&self.dir.join("commits"), "")?;
        let committed = match commits.last() {
            Some(&batch) => Some((batch, self.entry::<CommitEntry>("commits", batch)?)),
            None => None,
        };
        let sums = numbers(&self.dir.join("sources"), "")?;
        let summed = sums.last().copied();
        let remembered = summed.map(|batch| self.entry::<Value>("sources", batch)).transpose()?;
        let mut position = Position { committed, remembered, ..Position::default() };
        let done = commits.last().copied();
        if summed > done {
            return Err(Error::corrupt(format!(
                "{} has sums of batches that it lacks the commits of: restore the folder, or DROP \
                 CHECKPOINT and start anew",
                self.dir.display()
            )));
        }
        self.check_kept(&offsets, summed, done)?;
        for batch in offsets {
            let kept = summed.is_none_or(|summed| batch > summed);
            let pending = done.is_none_or(|done| batch > done);
            if !kept && !pending {
                continue;
            }
            let entry: OffsetsEntry = self.entry("offsets", batch)?;
            if kept {
                position.since.push(entry.offsets.clone());
            }
            if pending {
                position.pending.push((batch, entry));
            }
        }
        self.check_whole(&position)?;
        Ok(position)
    }

    /// Each batch that is done and not summed up has its offsets: without them the source would
    /// read its input again.
    fn check_kept(&self, offsets: &[u64], summed: Option<u64>, done: Option<u64>) -> Result<()> {
        let Some(done) = done else { return Ok(()) };
        let first = summed.map_or(0, |summed| summed + 1);
        match (first..=done).find(|batch| offsets.binary_search(batch).is_err()) {
            None => Ok(()),
            Some(missing) => Err(self.lacks(missing)),
        }
    }

    fn lacks(&self, batch: u64) -> Error {
        Error::corrupt(format!(
            "{} lacks offsets/{batch}: restore the folder, or use a new CHECKPOINT",
            self.dir.display()
        ))
    }

    /// Batches follow each other without a gap.
    fn check_whole(&self, position: &Position) -> Result<()> {
        let first = position.committed.as_ref().map_or(0, |(batch, _)| batch + 1);
        let gap = (first..).zip(&position.pending).find(|(expected, (batch, _))| batch != expected);
        gap.map_or(Ok(()), |(missing, _)| Err(self.lacks(missing)))
    }

    /// Writes the offsets of a batch that begins.
    ///
    /// # Errors
    /// `Conflict` where another instance was first: who.
    pub fn begin(&self, batch: u64, entry: &OffsetsEntry) -> Result<()> {
        self.once("offsets", batch, entry)
    }

    /// Takes back the offsets of a batch that failed before its sink took it: it is planned anew.
    pub fn withdraw(&self, batch: u64) -> Result<()> {
        remove(&self.dir.join("offsets").join(batch.to_string()))
    }

    /// Writes that a batch is done.
    ///
    /// # Errors
    /// `Conflict` where another instance was first: who.
    pub fn commit(&self, batch: u64, entry: &CommitEntry) -> Result<()> {
        self.once("commits", batch, entry)
    }

    fn once<T: Serialize>(&self, folder: &str, batch: u64, entry: &T) -> Result<()> {
        let path = self.dir.join(folder).join(batch.to_string());
        if create_once(&path, &json(entry)?)? {
            return Ok(());
        }
        let other: Value = read(&path)?.unwrap_or_default();
        let runner: Option<Runner> = serde_json::from_value(other["runner"].clone()).ok();
        let runner = runner.map_or_else(|| "another instance".to_owned(), |r| r.to_string());
        Err(Error::conflict(format!(
            "{folder}/{batch} of {} was written by {runner}, which runs this query: this instance \
             stops; stop the other one first to run the query here",
            self.dir.display()
        )))
    }

    /// Whether it is time to sum up what the source remembers.
    pub fn wants_sum(batch: u64) -> bool {
        batch > 0 && batch.is_multiple_of(KEPT)
    }

    /// Sums up what the source remembers of the batches up to this one, and removes what that makes
    /// needless.
    pub fn sum_up(&self, batch: u64, remembered: &Value) -> Result<()> {
        let sources = self.dir.join("sources");
        replace(&sources.join(batch.to_string()), &json(remembered)?)?;
        for older in numbers(&sources, "")?.into_iter().filter(|older| *older < batch) {
            remove(&sources.join(older.to_string()))?;
        }
        let keep = batch.saturating_sub(KEPT);
        for folder in ["offsets", "commits"].map(|folder| self.dir.join(folder)) {
            for older in numbers(&folder, "")?.into_iter().filter(|older| *older < keep) {
                remove(&folder.join(older.to_string()))?;
            }
        }
        Ok(())
    }

    fn entry<T: DeserializeOwned>(&self, folder: &str, batch: u64) -> Result<T> {
        let path = self.dir.join(folder).join(batch.to_string());
        read(&path)?.ok_or_else(|| Error::corrupt(format!("{} is gone", path.display())))
    }
}

/// Whether no batch has begun.
fn is_unused(dir: &Path) -> Result<bool> {
    let none = |folder: &str| Ok::<_, Error>(numbers(&dir.join(folder), "")?.is_empty());
    Ok(none("offsets")? && none("commits")? && none("sources")?)
}

fn json<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(value)
        .map_err(|cause| Error::internal(format!("an entry as JSON: {cause}")))
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    let Some(bytes) = disk::read(path)? else { return Ok(None) };
    let value = serde_json::from_slice(&bytes);
    let value = value.map_err(|cause| {
        Error::corrupt(format!(
            "{} is damaged ({cause}): restore the folder, or use a new CHECKPOINT",
            path.display()
        ))
    });
    Ok(Some(value?))
}
