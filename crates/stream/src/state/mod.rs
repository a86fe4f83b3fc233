//! The groups that live on between batches: one partial state each.
//!
//! ```text
//! index   group columns as bytes -> (chunk, row)
//! chunks  rows of states, mostly one chunk per batch; rows that a later batch replaced are dead
//! ```
//! A batch touches the groups of its rows alone: their states are looked up, merged with the new
//! ones, and put back as a chunk. Chunks are put together now and then, so that what is in memory
//! follows the number of groups alive.

mod chunk;
mod compact;
mod files;

pub(crate) use files::StateFiles;

use std::collections::HashMap;

use datafusion::arrow::array::{BooleanArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{filter_record_batch, take_record_batch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::row::{RowConverter, Rows, SortField};

use crate::window::WindowKey;
use crate::{Error, ErrorKind, Result};
use chunk::{Chunk, Place};
use compact::joined;

/// The chunks since they were put together beyond which they are put together again.
const MAX_CHUNKS: usize = 64;

/// The states of all groups.
#[derive(Debug)]
pub(crate) struct State {
    schema: SchemaRef,
    group_columns: usize,
    keys: RowConverter,
    index: HashMap<Box<[u8]>, Place>,
    chunks: Vec<Chunk>,
    /// The first of them, which were put together last.
    whole: usize,
    key_bytes: usize,
}

impl State {
    /// No groups yet; the first `group_columns` of a state are its group.
    ///
    /// # Errors
    /// Group columns of a type that can't be compared.
    pub fn new(schema: SchemaRef, group_columns: usize) -> Result<Self> {
        let fields = schema.fields().iter().take(group_columns);
        let keys =
            RowConverter::new(fields.map(|f| SortField::new(f.data_type().clone())).collect())?;
        let (index, chunks) = (HashMap::new(), Vec::new());
        Ok(Self { schema, group_columns, keys, index, chunks, whole: 0, key_bytes: 0 })
    }

    /// Its columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Groups alive.
    pub fn rows(&self) -> u64 {
        self.index.len() as u64
    }

    /// The memory they take, in bytes.
    pub fn bytes(&self) -> u64 {
        let chunks: usize = self.chunks.iter().map(Chunk::bytes).sum();
        (chunks + self.key_bytes + self.index.len() * size_of::<(Box<[u8]>, Place)>()) as u64
    }

    fn keys_of(&self, states: &RecordBatch) -> Result<Rows> {
        Ok(self.keys.convert_columns(&states.columns()[..self.group_columns])?)
    }

    /// The stored states of the groups in `new`, each once.
    pub fn touched(&self, new: &[RecordBatch]) -> Result<Vec<RecordBatch>> {
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); self.chunks.len()];
        for states in new {
            let keys = self.keys_of(states)?;
            for key in keys.iter() {
                if let Some(place) = self.index.get(key.as_ref()) {
                    rows[place.chunk].push(place.row);
                }
            }
        }
        let mut found = Vec::new();
        for (chunk, mut rows) in self.chunks.iter().zip(rows) {
            rows.sort_unstable();
            rows.dedup();
            if !rows.is_empty() {
                found.push(take_record_batch(chunk.states(), &UInt32Array::from(rows))?);
            }
        }
        Ok(found)
    }

    /// Puts states in the place of those of the same groups; each group comes once.
    ///
    /// # Errors
    /// A group that comes twice: memory was too short to merge them.
    pub fn put(&mut self, states: &[RecordBatch]) -> Result<()> {
        let first = self.chunks.len();
        for states in joined(&self.schema, states)? {
            self.push(states, first)?;
        }
        self.put_together()
    }

    /// Puts states as a chunk; those from `first` on have other groups.
    fn push(&mut self, states: RecordBatch, first: usize) -> Result<()> {
        let chunk = self.chunks.len();
        let keys = self.keys_of(&states)?;
        for (row, key) in keys.iter().enumerate() {
            let place = Place { chunk, row: u32::try_from(row).unwrap_or(u32::MAX) };
            match self.index.get_mut(key.as_ref()) {
                Some(before) if before.chunk >= first => return Err(twice()),
                Some(before) => {
                    let before = std::mem::replace(before, place);
                    self.chunks[before.chunk].kill(before.row);
                }
                None => {
                    self.key_bytes += key.as_ref().len();
                    self.index.insert(key.as_ref().into(), place);
                }
            }
        }
        self.chunks.push(Chunk::new(states));
        Ok(())
    }

    /// Takes out the groups whose window the watermark has passed.
    pub fn close(&mut self, window: &WindowKey, watermark: i64) -> Result<Vec<RecordBatch>> {
        let mut closed = Vec::new();
        for at in 0..self.chunks.len() {
            let chunk = &self.chunks[at];
            let Some(passed) = chunk.passed(window, watermark)? else { continue };
            let states = filter_record_batch(chunk.states(), &passed)?;
            let keys = self.keys_of(&states)?;
            for key in keys.iter() {
                self.index.remove(key.as_ref());
                self.key_bytes -= key.as_ref().len();
            }
            for (row, passed) in passed.iter().enumerate() {
                if passed == Some(true) {
                    self.chunks[at].kill(u32::try_from(row).unwrap_or(u32::MAX));
                }
            }
            closed.push(states);
        }
        self.put_together()?;
        Ok(closed)
    }

    /// The states of all groups.
    pub fn all(&self) -> Result<Vec<RecordBatch>> {
        let alive = self.chunks.iter().filter(|chunk| chunk.alive() > 0);
        alive.map(Chunk::alive_states).collect()
    }

    /// Leaves out what is dead, where it is much or in many pieces.
    fn put_together(&mut self) -> Result<()> {
        let rows: usize = self.chunks.iter().map(|chunk| chunk.states().num_rows()).sum();
        let mostly_dead = rows > 1_024 && rows > 2 * self.index.len();
        if self.chunks.len() <= self.whole + MAX_CHUNKS && !mostly_dead {
            return Ok(());
        }
        let states = joined(&self.schema, &self.all()?)?;
        (self.index, self.chunks, self.key_bytes) = (HashMap::new(), Vec::new(), 0);
        states.into_iter().try_for_each(|states| self.push(states, 0))?;
        self.whole = self.chunks.len();
        Ok(())
    }
}

fn twice() -> Error {
    Error::new(
        ErrorKind::Invalid,
        "the memory limit is too small to merge the states of a batch's groups: raise it, or have \
         the source give less per batch",
    )
}

/// Those of `states` whose window the watermark has not passed.
pub(crate) fn open_ones(
    states: &[RecordBatch],
    window: &WindowKey,
    watermark: i64,
) -> Result<Vec<RecordBatch>> {
    let open = |states: &RecordBatch| -> Result<RecordBatch> {
        let closed = window.closed(states.column(window.column), watermark)?;
        let open: BooleanArray = closed.iter().map(|closed| closed.map(|closed| !closed)).collect();
        Ok(filter_record_batch(states, &open)?)
    };
    states.iter().map(open).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, Int64Array, StringViewArray};
    use datafusion::arrow::compute::concat_batches;

    use super::*;

    fn states(rows: &[(i64, i64)]) -> RecordBatch {
        let key: ArrayRef = Arc::new(rows.iter().map(|(key, _)| *key).collect::<Int64Array>());
        let sum: ArrayRef = Arc::new(rows.iter().map(|(_, sum)| *sum).collect::<Int64Array>());
        RecordBatch::try_from_iter([("key", key), ("sum", sum)]).expect("a batch")
    }

    fn sums(state: &State) -> Vec<(i64, i64)> {
        use datafusion::arrow::array::AsArray;
        use datafusion::arrow::datatypes::Int64Type;
        let all = concat_batches(state.schema(), &state.all().expect("all")).expect("one");
        let column = |at: usize| all.column(at).as_primitive::<Int64Type>().values().to_vec();
        let mut rows: Vec<(i64, i64)> = column(0).into_iter().zip(column(1)).collect();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn a_put_replaces_the_groups_it_has_and_leaves_the_others() {
        let first = states(&[(1, 10), (2, 20)]);
        let mut state = State::new(first.schema(), 1).expect("a state");
        state.put(&[first]).expect("put");
        let touched = state.touched(&[states(&[(2, 0), (3, 0), (2, 0)])]).expect("touched");
        assert_eq!(touched, [states(&[(2, 20)])]);
        state.put(&[states(&[(2, 21), (3, 30)])]).expect("put");
        assert_eq!(sums(&state), [(1, 10), (2, 21), (3, 30)]);
    }

    #[test]
    fn what_is_in_memory_follows_the_groups_alive() {
        let mut state = State::new(states(&[]).schema(), 1).expect("a state");
        for batch in 0..1_000 {
            let rows: Vec<(i64, i64)> = (0..50).map(|key| (key, batch)).collect();
            state.put(&[states(&rows)]).expect("put");
        }
        assert_eq!(state.rows(), 50);
        assert!(state.bytes() < 200_000, "{} bytes", state.bytes());
        assert_eq!(sums(&state)[49], (49, 999));
    }

    #[test]
    fn a_group_that_lives_on_keeps_its_own_string_alone() {
        let keyed = |keys: std::ops::Range<i64>| {
            let sum: ArrayRef = Arc::new(keys.clone().collect::<Int64Array>());
            let key: ArrayRef =
                Arc::new(keys.map(|key| Some(format!("{key:0400}"))).collect::<StringViewArray>());
            RecordBatch::try_from_iter([("key", key), ("sum", sum)]).expect("a batch")
        };
        let mut state = State::new(keyed(0..0).schema(), 1).expect("a state");
        state.put(&[keyed(0..50)]).expect("put");
        for _ in 0..1_000 {
            state.put(&[keyed(1..50)]).expect("put");
        }
        assert_eq!(state.rows(), 50);
        assert!(state.bytes() < 200_000, "{} bytes", state.bytes());
    }
}
