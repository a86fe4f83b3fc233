//! The groups in the checkpoint: `state/<n>.delta` holds those that batch n changed,
//! `state/<n>.full` all of them, both as an Arrow IPC stream.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;

use super::State;
use super::compact::joined;
use crate::checkpoint::{numbers, remove, replace_with};
use crate::{Error, Result};

const DELTA: &str = ".delta";
const FULL: &str = ".full";

/// Changed groups beyond which all of them are written: at least so many, and more than there are
/// groups.
const MIN_CHANGED: u64 = 4_096;

/// Batches between two full ones, so that a restart reads few files.
const MAX_DELTAS: u64 = 50;

/// The state files of a checkpoint.
#[derive(Clone, Debug)]
pub(crate) struct StateFiles {
    dir: PathBuf,
    /// Since the last full one: files, and groups in them.
    deltas: u64,
    changed: u64,
}

impl StateFiles {
    pub fn new(dir: PathBuf) -> Self {
        Self { dir, deltas: 0, changed: 0 }
    }

    fn path(&self, batch: u64, ending: &str) -> PathBuf {
        self.dir.join(format!("{batch}{ending}"))
    }

    /// Reads the state that a batch left into an empty one.
    ///
    /// # Errors
    /// Files that are gone or of other columns, named.
    pub fn load(&mut self, state: &mut State, batch: u64) -> Result<()> {
        let full = numbers(&self.dir, FULL)?.into_iter().rfind(|full| *full <= batch);
        if let Some(full) = full {
            state.put(&read(&self.path(full, FULL), state)?)?;
        }
        (self.deltas, self.changed) = (0, 0);
        for delta in full.map_or(0, |full| full + 1)..=batch {
            let states = read(&self.path(delta, DELTA), state)?;
            self.deltas += 1;
            self.changed += rows(&states);
            state.put(&states)?;
        }
        Ok(())
    }

    /// What to write of the state that a batch leaves: the changed groups, or all.
    pub fn file(
        &mut self,
        state: &State,
        batch: u64,
        changed: &[RecordBatch],
    ) -> Result<StateFile> {
        self.deltas += 1;
        self.changed += rows(changed);
        let full = self.changed > MIN_CHANGED.max(state.rows()) || self.deltas > MAX_DELTAS;
        if !full {
            let path = self.path(batch, DELTA);
            let states = joined(state.schema(), changed)?;
            return Ok(StateFile {
                path,
                schema: Arc::clone(state.schema()),
                states,
                needless: None,
            });
        }
        (self.deltas, self.changed) = (0, 0);
        Ok(StateFile {
            path: self.path(batch, FULL),
            schema: Arc::clone(state.schema()),
            states: state.all()?,
            needless: Some(self.path(batch, DELTA)),
        })
    }

    /// Removes what neither this batch nor the one before it needs: the one before it, so that the
    /// last batch can be repeated.
    pub fn tidy(&self, batch: u64) -> Result<()> {
        if self.deltas != 1 {
            return Ok(());
        }
        let full = numbers(&self.dir, FULL)?;
        let Some(keep) = full.iter().rfind(|full| **full < batch) else { return Ok(()) };
        for ending in [DELTA, FULL] {
            for older in numbers(&self.dir, ending)?.into_iter().filter(|n| n < keep) {
                remove(&self.path(older, ending))?;
            }
        }
        Ok(())
    }
}

/// A state file to be written.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
    schema: SchemaRef,
    states: Vec<RecordBatch>,
    /// Of a run of this batch that didn't come to its end.
    needless: Option<PathBuf>,
}

impl StateFile {
    /// Writes it, flushed.
    pub fn write(self) -> Result<()> {
        replace_with(&self.path, |file| self.stream(file).map_err(std::io::Error::other))?;
        self.needless.map_or(Ok(()), |path| remove(&path))
    }

    /// Batch by batch: all of a large state isn't held a second time.
    fn stream(&self, file: impl Write) -> Result<(), ArrowError> {
        let mut writer = StreamWriter::try_new(file, &self.schema)?;
        self.states.iter().try_for_each(|states| writer.write(states))?;
        writer.finish()
    }
}

fn rows(states: &[RecordBatch]) -> u64 {
    states.iter().map(|batch| batch.num_rows() as u64).sum()
}

fn read(path: &Path, state: &State) -> Result<Vec<RecordBatch>> {
    let content = std::fs::read(path).map_err(|cause| {
        Error::corrupt(format!(
            "the state of the query can't be read from {}: {cause}; restore the checkpoint, or use \
             a new one",
            path.display()
        ))
    })?;
    let damaged = |cause: &dyn std::fmt::Display| {
        Error::corrupt(format!(
            "the state in {} can't be read: {cause}; restore the checkpoint, or use a new CHECKPOINT",
            path.display()
        ))
    };
    let reader = StreamReader::try_new(content.as_slice(), None).map_err(|e| damaged(&e))?;
    if reader.schema().fields() != state.schema().fields() {
        return Err(Error::unsupported(format!(
            "the state in {} was written by an engine whose aggregates keep other columns: go on \
             with that version, or start the query anew with a new CHECKPOINT",
            path.display()
        )));
    }
    let batches = reader.collect::<Result<Vec<_>, _>>().map_err(|e| damaged(&e))?;
    let schema = state.schema();
    let same = |batch: RecordBatch| batch.with_schema(Arc::clone(schema));
    Ok(batches.into_iter().map(same).collect::<Result<_, _>>()?)
}
