//! One file being written: row groups are encoded in memory and go to staging as they are full.
//!
//! ```text
//! rows -> RowGroup (encoding) -> bytes -> StagedWriter (made with the first bytes)
//! ```

use std::sync::Arc;

use bytes::Bytes;
use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use parquet::arrow::arrow_writer::ArrowRowGroupWriterFactory;
use parquet::file::writer::SerializedFileWriter;
use partwise_commit::{PartitionKey, StagedFile, StagedWriter, StagingHandle};

use super::encode::RowGroup;
use super::format::FileFormat;
use super::stats::file_stats;
use crate::error::external;

/// The size at which a row group is closed, encoded.
const MAX_ROW_GROUP_BYTES: u64 = 128 << 20;

/// Rows that are encoded before the size of a row is known.
const FIRST_ROWS: u64 = 16 * 1024;

/// A file of one partition that has not been finished.
pub(super) struct PartitionFile {
    format: Arc<FileFormat>,
    writer: SerializedFileWriter<Vec<u8>>,
    factory: ArrowRowGroupWriterFactory,
    row_group: Option<RowGroup>,
    staged: Option<StagedWriter>,
    /// Rows of the closed row groups.
    rows: u64,
}

impl PartitionFile {
    pub(super) fn new(format: &Arc<FileFormat>) -> Result<Self> {
        let (writer, factory) = format.start()?;
        Ok(Self {
            format: Arc::clone(format),
            writer,
            factory,
            row_group: None,
            staged: None,
            rows: 0,
        })
    }

    /// How many rows to encode next: what the row group, the file's rows and its target size leave.
    pub(super) fn room(&self) -> usize {
        let in_row_group = self.format.row_group_rows.saturating_sub(self.open_rows());
        let in_file = self.format.max_rows_per_file.saturating_sub(self.total_rows());
        in_row_group.min(rows(in_file)).min(rows(self.rows_to_target()))
    }

    /// By the size of the rows so far; few at first, to learn it.
    fn rows_to_target(&self) -> u64 {
        let left = self.format.target_file_bytes.saturating_sub(self.bytes());
        match self.total_rows() {
            0 => FIRST_ROWS,
            known => (left.saturating_mul(known) / self.bytes().max(1)).max(FIRST_ROWS / 16),
        }
    }

    /// Whether the row group in hand takes no more.
    pub(super) fn row_group_is_full(&self) -> bool {
        self.open_rows() >= self.format.row_group_rows
            || self.open_bytes() >= MAX_ROW_GROUP_BYTES
            || self.is_full()
    }

    /// Whether the next rows belong to another file.
    pub(super) fn is_full(&self) -> bool {
        self.total_rows() >= self.format.max_rows_per_file
            || self.bytes() >= self.format.target_file_bytes
    }

    /// Bytes of the file so far, the row group in hand estimated.
    fn bytes(&self) -> u64 {
        self.writer.bytes_written() as u64 + self.open_bytes()
    }

    fn open_bytes(&self) -> u64 {
        self.row_group.as_ref().map_or(0, |group| group.encoded_bytes() as u64)
    }

    /// Memory of the row group in hand.
    pub(super) fn memory_bytes(&self) -> usize {
        self.row_group.as_ref().map_or(0, RowGroup::memory_bytes)
    }

    fn open_rows(&self) -> usize {
        self.row_group.as_ref().map_or(0, RowGroup::rows)
    }

    fn total_rows(&self) -> u64 {
        self.rows + self.open_rows() as u64
    }

    /// Adds rows to the row group in hand: no more than [`room`](Self::room).
    pub(super) async fn encode(&mut self, batches: Vec<RecordBatch>) -> Result<()> {
        let row_group = match &mut self.row_group {
            Some(row_group) => row_group,
            none => {
                let index = self.writer.flushed_row_groups().len();
                none.insert(RowGroup::new(&self.factory, self.format.schema(), index)?)
            }
        };
        row_group.encode(batches).await
    }

    /// Ends the row group in hand and hands its bytes to staging.
    pub(super) async fn close_row_group(
        &mut self,
        staging: &StagingHandle,
        key: &PartitionKey,
    ) -> Result<()> {
        let Some(row_group) = self.row_group.take() else { return Ok(()) };
        self.rows += row_group.rows() as u64;
        let mut out = self.writer.next_row_group()?;
        for chunk in row_group.close()? {
            chunk.append_to_row_group(&mut out)?;
        }
        out.close()?;
        self.stage(staging, key).await
    }

    /// Ends the file.
    pub(super) async fn finish(
        mut self,
        staging: &StagingHandle,
        key: &PartitionKey,
    ) -> Result<StagedFile> {
        self.close_row_group(staging, key).await?;
        let metadata = self.writer.finish()?;
        self.stage(staging, key).await?;
        let stats = file_stats(&metadata, self.format.schema())?;
        let staged = match self.staged.take() {
            Some(staged) => staged,
            None => self.create(staging, key).await?,
        };
        staged.finish(self.rows, stats).await.map_err(external)
    }

    async fn stage(&mut self, staging: &StagingHandle, key: &PartitionKey) -> Result<()> {
        self.writer.flush()?;
        let bytes = Bytes::from(std::mem::take(self.writer.inner_mut()));
        let mut staged = match self.staged.take() {
            Some(staged) => staged,
            None => self.create(staging, key).await?,
        };
        staged.write(bytes).await.map_err(external)?;
        self.staged = Some(staged);
        Ok(())
    }

    async fn create(
        &mut self,
        staging: &StagingHandle,
        key: &PartitionKey,
    ) -> Result<StagedWriter> {
        staging.create(key, self.format.suffix()).await.map_err(external)
    }
}

fn rows(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
