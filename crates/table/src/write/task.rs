//! What one task does: all rows of one input partition into files.
//!
//! ```text
//! batch -> cast -> demux -> slots -> (jobs) -> manifest rows, then the trailer
//!                            |
//!             too many bytes waiting:
//!               large partitions are encoded early;
//!               too many small ones: the rest of the input is sorted by key first
//! ```

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use futures::StreamExt;
use partwise_commit::StagedFile;
use tokio::sync::mpsc::Sender;

use super::cast::RowCast;
use super::demux::{Demux, Piece};
use super::manifest::{ManifestRow, Origin};
use super::metrics::WriteMetrics;
use super::partition_writer::Then;
use super::slots::Slots;
use super::sort_rest::sort_by_key;
use crate::error::external;

/// Rows that are encoded at once: enough for a good run, few enough not to leave all the work to
/// the end.
const STEP_ROWS: usize = 256 * 1024;

/// Bytes of rows that are encoded at once.
const STEP_BYTES: usize = 32 << 20;

/// Where the rows go out: the manifest's stream.
pub(super) type ManifestSender = Sender<Result<datafusion::arrow::array::RecordBatch>>;

/// A task and its state.
pub(super) struct WriteTask {
    pub(super) origin: Origin,
    pub(super) context: Arc<TaskContext>,
    pub(super) cast: RowCast,
    pub(super) demux: Demux,
    pub(super) slots: Slots,
    pub(super) metrics: WriteMetrics,
    pub(super) manifest: ManifestSender,
    /// The most bytes of rows and row groups in memory.
    pub(super) buffer_bytes: usize,
    /// Rows come in the order of their partitions.
    pub(super) sorted: bool,
    /// The partition of the last row, in a sorted input.
    pub(super) last_group: Option<usize>,
    /// The input's columns that are the partition's.
    pub(super) key_columns: Vec<usize>,
    pub(super) totals: Totals,
}

/// What a task has written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    files: u64,
    rows: u64,
    bytes: u64,
}

impl WriteTask {
    /// Writes all of `input` and reports it.
    ///
    /// # Errors
    /// The input's failure, or that of writing.
    pub(super) async fn run(mut self, mut input: SendableRecordBatchStream) -> Result<()> {
        let consumer = MemoryConsumer::new(format!("StagedWrite[{}]", self.origin.input_partition))
            .with_can_spill(true);
        let memory = consumer.register(self.context.memory_pool());
        if self.sorted {
            self.demux.expect_sorted();
        }
        while let Some(batch) = input.next().await {
            let batch = self.cast.apply(&batch?).map_err(external)?;
            let pieces = self.demux.push(&batch)?;
            self.accept(pieces).await?;
            if !self.relieve(&memory).await? {
                input = self.sort_rest(input).await?;
            }
            self.report().await?;
        }
        self.finish().await
    }

    async fn accept(&mut self, pieces: Vec<Piece>) -> Result<()> {
        self.slots.add_keys(self.demux.keys());
        for piece in pieces {
            let group = piece.group;
            self.leave_group(group).await?;
            let (rows, bytes) = self.slots.push(piece);
            if rows >= STEP_ROWS || bytes >= STEP_BYTES.min(self.buffer_bytes / 4) {
                self.slots.write(group, Then::Keep).await?;
            }
        }
        self.slots.settle_done()
    }

    /// In a sorted input a partition is complete when the next one begins.
    async fn leave_group(&mut self, group: usize) -> Result<()> {
        if !self.sorted {
            return Ok(());
        }
        match self.last_group.replace(group) {
            Some(last) if last != group => self.slots.write(last, Then::CloseFile).await,
            _ => Ok(()),
        }
    }

    /// Makes room in memory; false if that takes the rest of the input sorted.
    async fn relieve(&mut self, memory: &MemoryReservation) -> Result<bool> {
        loop {
            let bytes = self.slots.bytes() + self.demux.pooled_bytes();
            let granted = memory.try_resize(bytes);
            if granted.is_ok() && bytes <= self.buffer_bytes {
                return Ok(true);
            }
            if self.slots.job_bytes() >= self.buffer_bytes / 2 {
                self.slots.wait_for_job().await?;
                continue;
            }
            match self.next_relief() {
                Relief::Write(slot, then) => self.slots.write(slot, then).await?,
                Relief::Drain => {
                    let pieces = self.demux.drain()?;
                    self.accept(pieces).await?;
                }
                Relief::Wait => self.slots.wait_for_job().await?,
                Relief::Sort => return Ok(false),
                Relief::None => return granted.map(|()| true),
            }
        }
    }

    fn next_relief(&self) -> Relief {
        let (slot, waiting) = self.slots.largest_waiting().unwrap_or_default();
        let (encoder, encoded) = self.slots.largest_encoder().unwrap_or_default();
        let small = waiting < self.buffer_bytes / 64;
        if encoded > 0 && encoded >= waiting * 4 {
            Relief::Write(encoder, Then::CloseRowGroup)
        } else if small && self.slots.job_bytes() > 0 {
            Relief::Wait
        } else if waiting == 0 {
            if self.demux.pooled_bytes() > 0 { Relief::Drain } else { Relief::None }
        } else if self.sorted {
            // The partition that rows still come for keeps its file.
            let current = self.last_group == Some(slot);
            Relief::Write(slot, if current { Then::CloseRowGroup } else { Then::CloseFile })
        } else if self.slots.len() > 1 && (small || !self.slots.may_write(slot)) {
            Relief::Sort
        } else {
            Relief::Write(slot, Then::Keep)
        }
    }

    /// What waits is small and belongs to many partitions: with the rest of the rows in order, one
    /// partition after the other is completed. What waits stays where it is until its turn.
    async fn sort_rest(
        &mut self,
        input: SendableRecordBatchStream,
    ) -> Result<SendableRecordBatchStream> {
        let memory_bytes = self.buffer_bytes;
        let gathered = self.demux.drain()?;
        self.accept(gathered).await?;
        self.sorted = true;
        self.demux.expect_sorted();
        self.buffer_bytes = self.slots.bytes().max(self.buffer_bytes) / 4 * 5;
        self.metrics.sorted_tasks.add(1);
        sort_by_key(input, &self.key_columns, memory_bytes, &self.context)
    }

    async fn report(&mut self) -> Result<()> {
        for file in self.slots.take_finished() {
            self.report_file(file).await?;
        }
        Ok(())
    }

    async fn report_file(&mut self, file: StagedFile) -> Result<()> {
        self.totals.files += 1;
        self.totals.rows += file.rows;
        self.totals.bytes += file.bytes();
        self.metrics.file_written(&file);
        self.send(ManifestRow::File(file)).await
    }

    async fn send(&mut self, row: ManifestRow) -> Result<()> {
        let batch = row.to_batch(self.origin)?;
        // Nobody listens any more: the statement has failed elsewhere.
        let _ = self.manifest.send(Ok(batch)).await;
        Ok(())
    }

    async fn finish(mut self) -> Result<()> {
        let pieces = self.demux.drain()?;
        self.accept(pieces).await?;
        for slot in 0..self.slots.len() {
            self.slots.write(slot, Then::CloseFile).await?;
            self.report().await?;
        }
        self.slots.wait_for_all().await?;
        self.report().await?;
        self.metrics.most_open_files.set_max(self.slots.most_open());
        let Totals { files, rows, bytes } = self.totals;
        self.send(ManifestRow::Covered { files, rows, bytes }).await
    }
}

/// What would free memory.
enum Relief {
    Write(usize, Then),
    Drain,
    Wait,
    Sort,
    None,
}
