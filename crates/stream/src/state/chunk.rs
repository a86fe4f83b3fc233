//! States of one batch: rows, of which some are dead.

use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::arrow::compute::{filter_record_batch, min};

use super::compact::compacted;
use crate::Result;
use crate::window::{WindowKey, numbers};

/// Where a group's state is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub chunk: usize,
    pub row: u32,
}

/// Rows of states.
#[derive(Debug)]
pub(super) struct Chunk {
    states: RecordBatch,
    alive: Vec<bool>,
    count: usize,
}

impl Chunk {
    pub fn new(states: RecordBatch) -> Self {
        let count = states.num_rows();
        Self { states, alive: vec![true; count], count }
    }

    pub fn states(&self) -> &RecordBatch {
        &self.states
    }

    /// Rows alive.
    pub fn alive(&self) -> usize {
        self.count
    }

    pub fn bytes(&self) -> usize {
        self.states.get_array_memory_size() + self.alive.len()
    }

    pub fn kill(&mut self, row: u32) {
        if let Some(alive) = self.alive.get_mut(row as usize)
            && std::mem::replace(alive, false)
        {
            self.count -= 1;
            // Nothing of it is asked for again; a slice would keep its memory.
            if self.count == 0 {
                self.states = RecordBatch::new_empty(self.states.schema());
                self.alive.clear();
            }
        }
    }

    pub fn alive_states(&self) -> Result<RecordBatch> {
        match self.count == self.states.num_rows() {
            true => Ok(self.states.clone()),
            false => compacted(&filter_record_batch(&self.states, &self.alive.clone().into())?),
        }
    }

    /// The rows alive whose window the watermark has passed; none where there are none.
    pub fn passed(&self, window: &WindowKey, watermark: i64) -> Result<Option<BooleanArray>> {
        let starts = self.states.column(window.column);
        let first = min(&numbers(starts)?);
        if first.is_none_or(|first| first.saturating_add(window.width) > watermark) {
            return Ok(None);
        }
        let closed = window.closed(starts, watermark)?;
        let passed: BooleanArray = closed
            .iter()
            .zip(&self.alive)
            .map(|(closed, alive)| closed.map(|c| c && *alive))
            .collect();
        Ok((passed.true_count() > 0).then_some(passed))
    }
}
