//! Rows of one partition that wait to be encoded.

use std::collections::VecDeque;

use datafusion::arrow::array::{Array, RecordBatch};

/// A queue of batches with its size.
#[derive(Debug, Default)]
pub struct RowBuffer {
    batches: VecDeque<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl RowBuffer {
    /// Adds rows behind the others.
    pub fn push(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        self.bytes += batch_bytes(&batch);
        self.batches.push_back(batch);
    }

    /// Rows held.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Takes the first `rows` rows off, or all there are.
    pub fn take_rows(&mut self, rows: usize) -> Vec<RecordBatch> {
        let mut taken = Vec::new();
        let mut missing = rows.min(self.rows);
        while missing > 0 {
            let Some(batch) = self.batches.pop_front() else { break };
            let part = batch.slice(0, batch.num_rows().min(missing));
            if part.num_rows() < batch.num_rows() {
                let rest = batch.num_rows() - part.num_rows();
                self.batches.push_front(batch.slice(part.num_rows(), rest));
            }
            missing -= part.num_rows();
            self.rows -= part.num_rows();
            self.bytes = self.bytes.saturating_sub(batch_bytes(&part));
            taken.push(part);
        }
        taken
    }
}

/// The bytes that the rows of a batch take up, not those of the buffers they are slices of.
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    let columns = batch.columns().iter();
    columns
        .map(|column| {
            let data = column.to_data();
            data.get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::Int64Array;
    use datafusion::arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    fn batch(rows: i64) -> RecordBatch {
        let schema = Schema::new(vec![Field::new("v", DataType::Int64, false)]);
        let values = Int64Array::from_iter_values(0..rows);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(values)]).expect("batch")
    }

    #[test]
    fn rows_come_off_in_order_and_are_counted() {
        let mut buffer = RowBuffer::default();
        buffer.push(batch(10));
        buffer.push(batch(10).slice(2, 5));
        assert_eq!((buffer.rows(), buffer.bytes()), (15, 120));
        let sizes = |taken: Vec<RecordBatch>| -> Vec<usize> {
            taken.iter().map(RecordBatch::num_rows).collect()
        };
        assert_eq!(sizes(buffer.take_rows(12)), [10, 2]);
        assert_eq!((buffer.rows(), buffer.bytes()), (3, 24));
        assert_eq!(sizes(buffer.take_rows(100)), [3]);
        assert!(buffer.is_empty() && buffer.take_rows(1).is_empty());
    }
}
