//! `write_partitioned`: what a frame's rows are to become.

use std::collections::BTreeMap;
use std::fmt::Display;

use datafusion::dataframe::DataFrame;
use partwise_commit::Location;
use partwise_table::config::Distribution;

use super::{Overwrite, SaveMode};

/// Writes a DataFrame into a table of Partwise. For frames of any session, whether Partwise is
/// registered with it or not.
///
/// ```
/// use partwise::datafusion::prelude::*;
/// use partwise::{Overwrite, SaveMode, WritePartitioned};
///
/// # #[tokio::main]
/// # async fn main() -> partwise::Result<()> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("lake/report");
/// let session = SessionContext::new();
/// let rows = session.sql("SELECT 7 AS zone, 12.5 AS revenue, '2024-01' AS month").await?;
/// let commit = rows
///     .write_partitioned(path)
///     .mode(SaveMode::Overwrite)
///     .overwrite(Overwrite::Dynamic)
///     .partition_by(["month"])
///     .compression("zstd(3)")
///     .token("nightly", 20240201)
///     .save()
///     .await?;
/// assert_eq!((commit.version, commit.rows_added), (1, 1));
/// assert_eq!(commit.partitions[0].values.to_string(), "month=2024-01");
/// # Ok(())
/// # }
/// ```
pub trait WritePartitioned {
    /// Starts a write of this frame's rows to the table in a directory. Nothing happens before
    /// [`save`](PartitionedWrite::save).
    fn write_partitioned(self, table: impl Into<Location>) -> PartitionedWrite;
}

impl WritePartitioned for DataFrame {
    fn write_partitioned(self, table: impl Into<Location>) -> PartitionedWrite {
        PartitionedWrite::new(self, table.into())
    }
}

/// A write to be done. What isn't said is as in SQL: the session's setting, or the default.
#[derive(Debug, Clone)]
#[must_use = "nothing is written before save()"]
pub struct PartitionedWrite {
    pub(super) frame: DataFrame,
    pub(super) location: Location,
    pub(super) mode: SaveMode,
    pub(super) overwrite: Option<Overwrite>,
    pub(super) partition_by: Option<Vec<String>>,
    pub(super) options: BTreeMap<String, String>,
    pub(super) run: Option<JobRun>,
    pub(super) step: Option<u32>,
    pub(super) max_shrink: Option<f64>,
}

/// Which run of which job a write belongs to.
#[derive(Debug, Clone)]
pub(super) struct JobRun {
    pub job: String,
    pub run: u64,
}

impl PartitionedWrite {
    fn new(frame: DataFrame, location: Location) -> Self {
        Self {
            frame,
            location,
            mode: SaveMode::default(),
            overwrite: None,
            partition_by: None,
            options: BTreeMap::new(),
            run: None,
            step: None,
            max_shrink: None,
        }
    }

    /// What to do where there is data already; an error if nothing is said.
    pub fn mode(mut self, mode: SaveMode) -> Self {
        self.mode = mode;
        self
    }

    /// What [`SaveMode::Overwrite`] replaces; if nothing is said, what the session's setting
    /// `partwise.partition_overwrite_mode` says, [`Overwrite::Dynamic`] by default.
    pub fn overwrite(mut self, overwrite: Overwrite) -> Self {
        self.overwrite = Some(overwrite);
        self
    }

    /// The partition columns, in the order of the directory levels. A table that is there has its
    /// own, and these must be the same; a new one without any is one directory of files.
    pub fn partition_by<N: Into<String>>(mut self, columns: impl IntoIterator<Item = N>) -> Self {
        self.partition_by = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// The codec of the files: `snappy`, `zstd(3)`, `gzip(6)`, `lz4`, `brotli(4)` or `none`.
    pub fn compression(self, codec: impl Into<String>) -> Self {
        self.option("compression", codec)
    }

    /// How rows are spread over the tasks that write: one file per partition, or each task its own.
    pub fn distribution(self, distribution: Distribution) -> Self {
        self.option("distribution", distribution.name())
    }

    /// The order of the rows inside each file: `["zone", "pickup_hour DESC"]`.
    pub fn sort_by<N: Display>(self, columns: impl IntoIterator<Item = N>) -> Self {
        let columns: Vec<String> = columns.into_iter().map(|column| column.to_string()).collect();
        self.option("sort_by", columns.join(", "))
    }

    /// The size in bytes at which a file is closed and the next one begun.
    pub fn target_file_bytes(self, bytes: u64) -> Self {
        self.option("target_file_size", bytes.to_string())
    }

    /// The most rows of a file.
    pub fn max_rows_per_file(self, rows: usize) -> Self {
        self.option("max_rows_per_file", rows.to_string())
    }

    /// An option of this write by its name in SQL's `OPTIONS`, such as `bloom_filter` or
    /// `compression::zone`. Before the session's settings and the table's own options.
    pub fn option(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.insert(name.into(), value.into());
        self
    }

    /// Names the run of a job that this write belongs to: it is applied once, however often it is
    /// repeated, and [`Commit::is_replayed`](crate::Commit::is_replayed) tells. Runs have growing
    /// numbers, such as a date. If nothing is said, the session's `partwise.job` and
    /// `partwise.run`.
    pub fn token(mut self, job: impl Into<String>, run: u64) -> Self {
        self.run = Some(JobRun { job: job.into(), run });
        self
    }

    /// Which of the run's writes to this table it is, counted from 0; the first if nothing is said.
    pub fn step(mut self, step: u32) -> Self {
        self.step = Some(step);
        self
    }

    /// The share of its rows, 0 to 1, that a partition may lose in an overwrite that doesn't name
    /// it; 1 turns the guard off. If nothing is said, the session's `partwise.max_shrink`, 0.9 by
    /// default.
    pub fn max_shrink(mut self, share: f64) -> Self {
        self.max_shrink = Some(share);
        self
    }
}
