//! Reading data files: bytes through the snapshot, footers through the session's cache.
//!
//! ```text
//!   ParquetSource --create_reader--> PartwiseReader
//!        get_metadata --> footer cache (path + identity) --miss--> footer from the file
//!        get_byte_ranges --> merged --> OpenFile (at its place, or retained; identity checked)
//! ```
//! Guarantees: a footer comes from the cache only for the very file of the snapshot (size, time of
//! change, entity tag); a file is opened when its first byte is needed and stays open until the
//! reader is dropped, so that a replacement in between does no harm.

mod count;
mod footer;
mod open;

pub use count::FooterRowCounter;
pub(crate) use count::to_commit;
pub(crate) use footer::{Footers, modified};
pub(crate) use open::{FileBytes, ScanFile, ScanPartition};

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::datasource::physical_plan::{ParquetFileMetrics, ParquetFileReaderFactory};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_datasource::PartitionedFile;
use futures::FutureExt;
use futures::future::BoxFuture;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};

use crate::source::ScanCounters;

/// Makes a reader per file or range of a file.
#[derive(Debug)]
pub(crate) struct PartwiseReaderFactory {
    footers: Footers,
    counters: Arc<ScanCounters>,
}

impl PartwiseReaderFactory {
    pub(crate) fn new(footers: Footers, counters: Arc<ScanCounters>) -> Self {
        Self { footers, counters }
    }
}

impl ParquetFileReaderFactory for PartwiseReaderFactory {
    fn create_reader(
        &self,
        partition_index: usize,
        partitioned_file: PartitionedFile,
        _metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let name = partitioned_file.object_meta.location.as_ref();
        let Some(file) = partitioned_file.extension::<ScanFile>() else {
            return Err(DataFusionError::Internal(format!(
                "{name} carries no snapshot file: the scan was planned for another source"
            )));
        };
        Ok(Box::new(PartwiseReader {
            metrics: ParquetFileMetrics::new(partition_index, name, metrics),
            bytes: FileBytes::new(file.clone()),
            footers: self.footers.clone(),
            counters: Arc::clone(&self.counters),
        }))
    }
}

/// One file as the Parquet decoder reads it.
struct PartwiseReader {
    metrics: ParquetFileMetrics,
    bytes: FileBytes,
    footers: Footers,
    counters: Arc<ScanCounters>,
}

impl AsyncFileReader for PartwiseReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        self.count_bytes(std::slice::from_ref(&range));
        self.bytes.read(range).boxed()
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, parquet::errors::Result<Vec<Bytes>>> {
        self.count_bytes(&ranges);
        async move { self.bytes.read_ranges(&ranges).await }.boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, parquet::errors::Result<Arc<ParquetMetaData>>> {
        let policy = options.map_or(PageIndexPolicy::Skip, ArrowReaderOptions::column_index_policy);
        self.counters.file_read(self.bytes.file());
        async move { self.footers.get(&mut self.bytes, policy).await }.boxed()
    }
}

impl PartwiseReader {
    fn count_bytes(&self, ranges: &[Range<u64>]) {
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        self.metrics.bytes_scanned.add(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
}

impl Drop for PartwiseReader {
    fn drop(&mut self) {
        let ratio = &self.metrics.scan_efficiency_ratio;
        ratio.add_part(self.metrics.bytes_scanned.value());
        ratio.set_total(usize::try_from(self.bytes.file().size()).unwrap_or(usize::MAX));
    }
}

/// A commit error as the Parquet decoder passes it on.
pub(crate) fn to_parquet(error: partwise_commit::Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}
