//! The partitions of a task: which rows wait, which file is open, what is being written.
//!
//! ```text
//! Piece -> Slot.rows --(due, evicted, finished)--> job: PartitionWriter::write -> manifest rows
//!             ^                                      |
//!             +------- the writer comes back --------+
//! ```
//!
//! A slot has at most one job at a time, so the rows of a partition stay in order; jobs of different
//! partitions run on all cores.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::runtime::JoinSet;
use partwise_commit::{PartitionKey, StagedFile};

use super::buffer::RowBuffer;
use super::demux::Piece;
use super::encode::join_error;
use super::format::FileFormat;
use super::partition_writer::{PartitionWriter, Then};
use super::staging::StagingCell;

/// What bounds the slots of one task.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotLimits {
    /// The most files open at a time.
    pub(super) max_open: usize,
    /// The most jobs at a time.
    pub(super) max_jobs: usize,
}

/// All partitions that a task has seen.
pub(super) struct Slots {
    slots: Vec<Slot>,
    jobs: JoinSet<Result<JobDone>>,
    staging: Arc<StagingCell>,
    format: Arc<FileFormat>,
    limits: SlotLimits,
    waiting_bytes: usize,
    job_bytes: usize,
    encoder_bytes: usize,
    open: usize,
    most_open: usize,
    finished: Vec<StagedFile>,
}

struct Slot {
    rows: RowBuffer,
    /// None while a job has it.
    writer: Option<PartitionWriter>,
}

struct JobDone {
    slot: usize,
    bytes: usize,
    writer: PartitionWriter,
    files: Vec<StagedFile>,
}

impl Slots {
    pub(super) fn new(
        staging: Arc<StagingCell>,
        format: Arc<FileFormat>,
        limits: SlotLimits,
    ) -> Self {
        Self {
            slots: Vec::new(),
            jobs: JoinSet::new(),
            staging,
            format,
            limits,
            waiting_bytes: 0,
            job_bytes: 0,
            encoder_bytes: 0,
            open: 0,
            most_open: 0,
            finished: Vec::new(),
        }
    }

    /// Makes a slot for each key that has none.
    pub(super) fn add_keys(&mut self, keys: &[PartitionKey]) {
        for key in keys.iter().skip(self.slots.len()) {
            let writer = PartitionWriter::new(key.clone(), Arc::clone(&self.format));
            self.slots.push(Slot { rows: RowBuffer::default(), writer: Some(writer) });
        }
    }

    /// How many partitions there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Lets rows wait in their slot; returns the rows and bytes that wait there.
    pub(super) fn push(&mut self, piece: Piece) -> (usize, usize) {
        let rows = &mut self.slots[piece.group].rows;
        let before = rows.bytes();
        rows.push(piece.rows);
        self.waiting_bytes += rows.bytes() - before;
        (rows.rows(), rows.bytes())
    }

    /// Bytes of rows and of row groups in memory.
    pub(super) fn bytes(&self) -> usize {
        self.waiting_bytes + self.job_bytes + self.encoder_bytes
    }

    /// Bytes of rows that are being written.
    pub(super) fn job_bytes(&self) -> usize {
        self.job_bytes
    }

    /// The most files that were open at a time.
    pub(super) fn most_open(&self) -> usize {
        self.most_open
    }

    /// Whether the slot can be written without closing another's file.
    pub(super) fn may_write(&self, slot: usize) -> bool {
        self.is_open(slot) || self.may_open()
    }

    fn may_open(&self) -> bool {
        self.open < self.limits.max_open
    }

    /// Whether the slot has a file open, or a job.
    fn is_open(&self, slot: usize) -> bool {
        self.slots[slot].writer.as_ref().is_none_or(PartitionWriter::has_file)
    }

    /// The slot with the most bytes waiting that has no job, and those bytes.
    pub(super) fn largest_waiting(&self) -> Option<(usize, usize)> {
        self.idle().map(|(slot, _)| (slot, self.slots[slot].rows.bytes())).max_by_key(|s| s.1)
    }

    /// The slot with the largest row group in memory that has no job, and its bytes.
    pub(super) fn largest_encoder(&self) -> Option<(usize, usize)> {
        self.idle().map(|(slot, writer)| (slot, writer.memory_bytes())).max_by_key(|s| s.1)
    }

    fn idle(&self) -> impl Iterator<Item = (usize, &PartitionWriter)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(index, slot)| slot.writer.as_ref().map(|writer| (index, writer)))
    }

    /// The files finished since the last call.
    pub(super) fn take_finished(&mut self) -> Vec<StagedFile> {
        std::mem::take(&mut self.finished)
    }

    /// Writes all rows that wait in a slot, in the background.
    ///
    /// # Errors
    /// The failure of an earlier job.
    pub(super) async fn write(&mut self, slot: usize, then: Then) -> Result<()> {
        while self.slots[slot].writer.is_none() || self.jobs.len() >= self.limits.max_jobs {
            self.wait_for_job().await?;
        }
        if !self.is_open(slot) {
            self.make_room().await?;
        }
        self.spawn(slot, then);
        Ok(())
    }

    fn spawn(&mut self, index: usize, then: Then) {
        let slot = &mut self.slots[index];
        let Some(mut writer) = slot.writer.take() else { return };
        if slot.rows.is_empty() && !writer.has_file() {
            slot.writer = Some(writer);
            return;
        }
        let rows = std::mem::take(&mut slot.rows);
        let bytes = rows.bytes();
        self.open += usize::from(!writer.has_file());
        self.most_open = self.most_open.max(self.open);
        self.encoder_bytes -= writer.memory_bytes();
        self.waiting_bytes -= bytes;
        self.job_bytes += bytes;
        let staging = Arc::clone(&self.staging);
        self.jobs.spawn(async move {
            let staging = staging.open().await?;
            let files = writer.write(rows, then, &staging).await?;
            Ok(JobDone { slot: index, bytes, writer, files })
        });
    }

    /// Waits until fewer files are open than may be: for jobs, or by finishing a file.
    async fn make_room(&mut self) -> Result<()> {
        while !self.may_open() {
            let open = self.idle().filter(|(_, writer)| writer.has_file());
            let open = open.max_by_key(|(_, writer)| writer.memory_bytes());
            match open.map(|(slot, _)| slot) {
                Some(slot) => self.spawn(slot, Then::CloseFile),
                None if self.jobs.is_empty() => return Ok(()),
                None => self.wait_for_job().await?,
            }
        }
        Ok(())
    }

    /// Waits for one job.
    ///
    /// # Errors
    /// Its failure.
    pub(super) async fn wait_for_job(&mut self) -> Result<()> {
        if let Some(done) = self.jobs.join_next().await {
            self.settle(done.map_err(join_error)??);
        }
        Ok(())
    }

    /// Takes in the jobs that are done already.
    ///
    /// # Errors
    /// The failure of one.
    pub(super) fn settle_done(&mut self) -> Result<()> {
        while let Some(done) = self.jobs.try_join_next() {
            self.settle(done.map_err(join_error)??);
        }
        Ok(())
    }

    fn settle(&mut self, done: JobDone) {
        self.job_bytes -= done.bytes;
        self.encoder_bytes += done.writer.memory_bytes();
        self.open -= usize::from(!done.writer.has_file());
        self.finished.extend(done.files);
        self.slots[done.slot].writer = Some(done.writer);
    }

    /// Waits for all jobs.
    ///
    /// # Errors
    /// The failure of one.
    pub(super) async fn wait_for_all(&mut self) -> Result<()> {
        while !self.jobs.is_empty() {
            self.wait_for_job().await?;
        }
        Ok(())
    }
}
