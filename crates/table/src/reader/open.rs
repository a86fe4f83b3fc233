//! A file of a snapshot and its bytes.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use object_store::coalesce_ranges;
use partwise_commit::{DataFile, Location, OpenFile, Table};

use super::to_parquet;

/// Gaps up to this many bytes are read along with their neighbours: on a local disk, and on an
/// object store, where a request costs more.
const LOCAL_GAP_BYTES: u64 = 64 * 1024;
const STORE_GAP_BYTES: u64 = 1024 * 1024;

/// A file of a scan: what a `PartitionedFile` of ours carries. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ScanFile {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    table: Table,
    file: DataFile,
    partition: Arc<ScanPartition>,
    read: AtomicBool,
}

/// What became of a partition while the scan ran.
#[derive(Debug, Default)]
pub(crate) struct ScanPartition {
    read: AtomicBool,
    skipped: AtomicBool,
}

impl ScanPartition {
    /// Marks a file of it as read; whether it counted as skipped until then.
    pub(crate) fn mark_read(&self) -> bool {
        !self.read.swap(true, Ordering::Relaxed) && self.skipped.load(Ordering::Relaxed)
    }

    /// Marks a file of it as skipped; whether the partition is skipped by that.
    pub(crate) fn mark_skipped(&self) -> bool {
        !self.skipped.swap(true, Ordering::Relaxed) && !self.read.load(Ordering::Relaxed)
    }
}

impl ScanFile {
    pub(crate) fn new(table: Table, file: DataFile, partition: Arc<ScanPartition>) -> Self {
        Self { inner: Arc::new(Inner { table, file, partition, read: AtomicBool::new(false) }) }
    }

    pub(crate) fn table(&self) -> &Table {
        &self.inner.table
    }

    pub(crate) fn data_file(&self) -> &DataFile {
        &self.inner.file
    }

    pub(crate) fn partition(&self) -> &ScanPartition {
        &self.inner.partition
    }

    /// Marks the file as read; true the first time.
    pub(crate) fn mark_read(&self) -> bool {
        !self.inner.read.swap(true, Ordering::Relaxed)
    }

    /// Size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.inner.file.identity.size
    }

    /// The file's name in messages: the table's location and the path in it.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.inner.table.location().display(), self.inner.file.path)
    }
}

/// The bytes of one file, opened when the first is read.
pub(crate) struct FileBytes {
    file: ScanFile,
    open: Option<Arc<OpenFile>>,
}

impl FileBytes {
    pub(crate) fn new(file: ScanFile) -> Self {
        Self { file, open: None }
    }

    pub(crate) fn file(&self) -> &ScanFile {
        &self.file
    }

    /// The bytes of a range.
    pub(crate) async fn read(&mut self, range: Range<u64>) -> parquet::errors::Result<Bytes> {
        self.opened().await?.read(range).await.map_err(to_parquet)
    }

    /// The bytes of several ranges; those that lie close together in one read.
    pub(crate) async fn read_ranges(
        &mut self,
        ranges: &[Range<u64>],
    ) -> parquet::errors::Result<Vec<Bytes>> {
        let open = self.opened().await?;
        let gap = match self.file.table().location() {
            Location::Local { .. } => LOCAL_GAP_BYTES,
            Location::Store { .. } => STORE_GAP_BYTES,
        };
        let fetch = |range: Range<u64>| {
            let open = Arc::clone(&open);
            async move { open.read(range).await }
        };
        coalesce_ranges(ranges, fetch, gap).await.map_err(to_parquet)
    }

    async fn opened(&mut self) -> parquet::errors::Result<Arc<OpenFile>> {
        if let Some(open) = &self.open {
            return Ok(Arc::clone(open));
        }
        let opened = self.file.table().open(self.file.data_file()).await.map_err(to_parquet)?;
        let open = Arc::new(opened);
        self.open = Some(Arc::clone(&open));
        Ok(open)
    }
}
