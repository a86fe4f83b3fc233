//! Takes batches of mixed partitions apart.
//!
//! ```text
//!            +- long runs of one key --> slices of the batch --------------------+
//! batch ---> |                                                                   +-> Piece(group, rows)
//!  (ids)     +- anything else ---> Pool ---> permuted as one, per group ---------+
//! ```
//!
//! Rows that come roughly in the order of their partitions cost a comparison of neighbours and no
//! copy. Rows in any other order are gathered first, so that thousands of partitions give pieces of
//! a useful size instead of a few rows each.

mod key;
mod pool;

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::compute::take_record_batch;
use datafusion::arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use partwise_commit::{PartitionKey, TableSchema};

use pool::Pool;

/// Rows of one partition, without the partition columns.
#[derive(Debug)]
pub struct Piece {
    /// The partition: an index into [`Demux::keys`].
    pub group: usize,
    /// Its rows, in the order they came.
    pub rows: RecordBatch,
}

/// The shortest mean run of one key that is worth slicing.
const MIN_RUN_ROWS: usize = 512;

/// Splits batches by partition key. Groups are numbered in the order their keys appear.
pub struct Demux {
    /// None for a table without partition columns: everything is group 0.
    groups: Option<Box<dyn GroupValues>>,
    keys: Vec<PartitionKey>,
    schema: TableSchema,
    file_columns: Vec<usize>,
    ids: Vec<usize>,
    pool: Pool,
    gather: bool,
}

impl Demux {
    /// A demux for rows of `schema` that gathers at most about `pool_bytes` of them.
    ///
    /// # Errors
    /// A partition column whose type can't be grouped.
    pub fn new(schema: &TableSchema, pool_bytes: usize) -> Result<Self> {
        let indices = schema.partition_indices();
        let file_columns =
            (0..schema.arrow().fields().len()).filter(|index| !indices.contains(index)).collect();
        let (groups, keys) = if indices.is_empty() {
            (None, vec![PartitionKey::default()])
        } else {
            (Some(group_values(schema)?), Vec::new())
        };
        Ok(Self {
            groups,
            keys,
            schema: schema.clone(),
            file_columns,
            ids: Vec::new(),
            pool: Pool::new(Arc::clone(schema.file_schema()), pool_bytes),
            gather: true,
        })
    }

    /// The keys of the groups so far.
    pub fn keys(&self) -> &[PartitionKey] {
        &self.keys
    }

    /// The bytes of gathered rows.
    pub fn pooled_bytes(&self) -> usize {
        self.pool.bytes()
    }

    /// From here on rows come in the order of their partitions: nothing is gathered any more.
    pub fn expect_sorted(&mut self) {
        self.gather = false;
    }

    /// Takes a batch of the table's columns apart. What is gathered comes out of a later call.
    ///
    /// # Errors
    /// A key that can't be a partition.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<Vec<Piece>> {
        if batch.num_rows() == 0 {
            return Ok(Vec::new());
        }
        let rows = batch.project(&self.file_columns)?;
        let Some(groups) = &mut self.groups else {
            return Ok(vec![Piece { group: 0, rows }]);
        };
        let indices = self.schema.partition_indices();
        let columns: Vec<ArrayRef> =
            indices.iter().map(|&index| Arc::clone(batch.column(index))).collect();
        groups.intern(&columns, &mut self.ids)?;
        self.add_new_keys(&columns)?;
        self.split(rows)
    }

    /// What is gathered so far.
    ///
    /// # Errors
    /// Rows that can't be copied.
    pub fn drain(&mut self) -> Result<Vec<Piece>> {
        self.pool.drain(self.keys.len())
    }

    /// New ids are the next numbers, in the order of the rows that bring them.
    fn add_new_keys(&mut self, columns: &[ArrayRef]) -> Result<()> {
        for (row, &id) in self.ids.iter().enumerate() {
            if id == self.keys.len() {
                self.keys.push(key::partition_key(self.schema.partition_columns(), columns, row)?);
            }
        }
        Ok(())
    }

    fn split(&mut self, rows: RecordBatch) -> Result<Vec<Piece>> {
        let long_runs = run_count(&self.ids) * MIN_RUN_ROWS <= rows.num_rows();
        if long_runs || !self.gather {
            return runs(&self.ids).map(|(group, range)| piece(group, &rows, range)).collect();
        }
        self.pool.push(rows, &self.ids);
        if self.pool.is_full() { self.drain() } else { Ok(Vec::new()) }
    }
}

fn group_values(schema: &TableSchema) -> Result<Box<dyn GroupValues>> {
    let fields = schema.partition_indices().iter();
    let fields: Vec<_> = fields.map(|&index| schema.arrow().field(index).clone()).collect();
    new_group_values(Arc::new(Schema::new(fields)), &GroupOrdering::None)
}

fn run_count(ids: &[usize]) -> usize {
    1 + ids.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Neighbouring rows of one group.
fn runs(ids: &[usize]) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut start = 0;
    ids.chunk_by(|a, b| a == b).map(move |run| {
        let range = start..start + run.len();
        start = range.end;
        (run[0], range)
    })
}

/// A slice keeps the whole batch in memory: small parts are copied.
fn piece(group: usize, rows: &RecordBatch, range: Range<usize>) -> Result<Piece> {
    let rows = if range.len() * 4 >= rows.num_rows() {
        rows.slice(range.start, range.len())
    } else {
        let indices = UInt32Array::from_iter_values(range.start as u32..range.end as u32);
        take_record_batch(rows, &indices)?
    };
    Ok(Piece { group, rows })
}

#[cfg(test)]
mod tests;
