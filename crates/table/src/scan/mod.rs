//! One scan: filters to partitions, partitions to files, files to a plan.
//!
//! ```text
//!   filters -> partition filters | data filters        classify
//!      |  PartitionPredicate
//!      v
//!   snapshot (only directories that can match)         one per scan
//!      |  FileBounds: files that their records rule out go
//!      v
//!   files, grouped for the tasks
//!      |
//!      v
//!   DataSourceExec <- FileScanConfig <- PartwiseSource <- ParquetSource
//! ```

mod bounds;
mod classify;
mod counts;
mod files;
mod plan;

pub(crate) use classify::{FilterUse, classify};
pub(crate) use counts::plan_counts;
pub(crate) use plan::{ScanRequest, plan_scan};

/// Session extension: count the table's partitions and files for each scan, so that EXPLAIN shows
/// `partitions=1/91` instead of `1/?`. It costs one more listing per scan; the statement layer sets
/// it on the session that it plans an EXPLAIN with:
/// `config.set_extension(Arc::new(CountTotals))`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountTotals;
