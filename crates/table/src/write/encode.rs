//! Encodes a row group, its columns in parallel where that pays.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::{DataType, FieldRef, SchemaRef};
use datafusion::common::Result;
use datafusion::common::runtime::SpawnedTask;
use datafusion::error::DataFusionError;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};

/// Below this many values a task per column costs more than it gains.
const PARALLEL_VALUES: usize = 100_000;

/// A row group being encoded in memory.
pub(super) struct RowGroup {
    columns: Vec<ColumnEncoder>,
    rows: usize,
}

/// One column of the schema with all its leaves.
struct ColumnEncoder {
    field: FieldRef,
    leaves: Vec<ArrowColumnWriter>,
}

impl RowGroup {
    /// The row group of a file that has `index` before it.
    pub(super) fn new(
        factory: &ArrowRowGroupWriterFactory,
        schema: &SchemaRef,
        index: usize,
    ) -> Result<Self> {
        let mut leaves = factory.create_column_writers(index)?.into_iter();
        let columns = schema.fields().iter().map(|field| ColumnEncoder {
            field: Arc::clone(field),
            leaves: leaves.by_ref().take(leaf_count(field.data_type())).collect(),
        });
        Ok(Self { columns: columns.collect(), rows: 0 })
    }

    /// Rows encoded so far.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Memory in use.
    pub(super) fn memory_bytes(&self) -> usize {
        let leaves = self.columns.iter().flat_map(|column| &column.leaves);
        leaves.map(ArrowColumnWriter::memory_size).sum()
    }

    /// Estimated size once written.
    pub(super) fn encoded_bytes(&self) -> usize {
        let leaves = self.columns.iter().flat_map(|column| &column.leaves);
        leaves.map(ArrowColumnWriter::get_estimated_total_bytes).sum()
    }

    /// Adds rows.
    pub(super) async fn encode(&mut self, batches: Vec<RecordBatch>) -> Result<()> {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        self.rows += rows;
        if self.columns.len() > 1 && rows * self.columns.len() >= PARALLEL_VALUES {
            return self.encode_in_parallel(batches).await;
        }
        for (index, column) in self.columns.iter_mut().enumerate() {
            for batch in &batches {
                column.write(batch.column(index))?;
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn encode_in_parallel(&mut self, batches: Vec<RecordBatch>) -> Result<()> {
        let batches = Arc::new(batches);
        let columns = std::mem::take(&mut self.columns).into_iter().enumerate();
        let tasks: Vec<_> = columns
            .map(|(index, column)| {
                SpawnedTask::spawn(column.write_all(index, Arc::clone(&batches)))
            })
            .collect();
        for task in tasks {
            let column = task.join_unwind().await.map_err(join_error)??;
            self.columns.push(column);
        }
        Ok(())
    }

    /// The encoded columns, leaf by leaf.
    pub(super) fn close(self) -> Result<Vec<ArrowColumnChunk>> {
        let leaves = self.columns.into_iter().flat_map(|column| column.leaves);
        Ok(leaves.map(ArrowColumnWriter::close).collect::<Result<_, _>>()?)
    }
}

impl ColumnEncoder {
    async fn write_all(mut self, index: usize, batches: Arc<Vec<RecordBatch>>) -> Result<Self> {
        for batch in batches.iter() {
            self.write(batch.column(index))?;
            tokio::task::yield_now().await;
        }
        Ok(self)
    }

    fn write(&mut self, array: &ArrayRef) -> Result<()> {
        let levels = compute_leaves(&self.field, array)?;
        for (writer, leaf) in self.leaves.iter_mut().zip(&levels) {
            writer.write(leaf)?;
        }
        Ok(())
    }
}

/// A task that was cancelled, as an error.
pub(super) fn join_error(error: tokio::task::JoinError) -> DataFusionError {
    DataFusionError::ExecutionJoin(Box::new(error))
}

/// How many Parquet columns an Arrow column becomes.
fn leaf_count(data_type: &DataType) -> usize {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => leaf_count(item.data_type()),
        DataType::Struct(fields) => fields.iter().map(|field| leaf_count(field.data_type())).sum(),
        _ => 1,
    }
}
