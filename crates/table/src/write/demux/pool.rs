//! Rows of many partitions, gathered until taking them apart pays.

use datafusion::arrow::array::{RecordBatch, UInt32Array};
use datafusion::arrow::compute::{concat_batches, take_record_batch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;

use super::Piece;

/// Fewer rows than this are not worth memory of their own: they share one copy.
const OWN_COPY_ROWS: usize = 1024;

/// Rows and the group of each.
pub(super) struct Pool {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    ids: Vec<u32>,
    bytes: usize,
    capacity_bytes: usize,
}

impl Pool {
    pub(super) fn new(schema: SchemaRef, capacity_bytes: usize) -> Self {
        Self { schema, batches: Vec::new(), ids: Vec::new(), bytes: 0, capacity_bytes }
    }

    /// Bytes held, the ids included.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it is time to drain.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= self.capacity_bytes
    }

    pub(super) fn push(&mut self, rows: RecordBatch, ids: &[usize]) {
        self.bytes += super::super::buffer::batch_bytes(&rows) + size_of_val(ids) / 2;
        self.ids.extend(ids.iter().map(|&id| id as u32));
        self.batches.push(rows);
    }

    /// The gathered rows by group, in the order they came. `groups` is above every id.
    pub(super) fn drain(&mut self, groups: usize) -> Result<Vec<Piece>> {
        if self.batches.is_empty() {
            return Ok(Vec::new());
        }
        let all = concat_batches(&self.schema, &std::mem::take(&mut self.batches))?;
        let ids = std::mem::take(&mut self.ids);
        self.bytes = 0;
        pieces(&all, &ids, groups)
    }
}

/// Large groups get memory of their own, so that writing one frees it; small ones are slices of one
/// copy.
fn pieces(all: &RecordBatch, ids: &[u32], groups: usize) -> Result<Vec<Piece>> {
    let (order, starts) = counting_sort(ids, groups);
    let range = |group: usize| starts[group] as usize..starts[group + 1] as usize;
    let mut pieces = Vec::new();
    let mut small = Vec::new();
    for group in (0..groups).filter(|&group| !range(group).is_empty()) {
        let rows = &order[range(group)];
        if rows.len() >= OWN_COPY_ROWS {
            let rows = take_record_batch(all, &UInt32Array::from(rows.to_vec()))?;
            pieces.push(Piece { group, rows });
        } else {
            small.push(group);
        }
    }
    let shared: Vec<u32> = small.iter().flat_map(|&group| &order[range(group)]).copied().collect();
    let shared = take_record_batch(all, &UInt32Array::from(shared))?;
    let mut start = 0;
    for group in small {
        let len = range(group).len();
        pieces.push(Piece { group, rows: shared.slice(start, len) });
        start += len;
    }
    Ok(pieces)
}

/// The rows in the order of their groups, and where each group starts.
fn counting_sort(ids: &[u32], groups: usize) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; groups + 1];
    for &id in ids {
        starts[id as usize + 1] += 1;
    }
    for group in 0..groups {
        starts[group + 1] += starts[group];
    }
    let mut next = starts.clone();
    let mut order = vec![0u32; ids.len()];
    for (row, &id) in ids.iter().enumerate() {
        order[next[id as usize] as usize] = row as u32;
        next[id as usize] += 1;
    }
    (order, starts)
}
