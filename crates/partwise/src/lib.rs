//! Partwise for applications: a directory of Parquet files as a table whose partitions are the
//! unit of replacement, in Apache DataFusion.
//!
//! ```text
//!   application -> partwise (this crate: re-exports, no logic)
//!                     +-> sql      statements, the lake, settings, EXPLAIN, the Rust API
//!                     +-> stream   streaming queries: batches, checkpoints, sinks
//!                     +-> table    TableProvider, pruned scan, staged write
//!                     +-> commit   names on disk, records, snapshots
//! ```
//!
//! A job writes its month, once, however often it runs; a reader asks for one day and reads one
//! directory:
//!
//! ```
//! use partwise::datafusion::prelude::*;
//! use partwise::{Overwrite, SaveMode, Table, WritePartitioned};
//!
//! # #[tokio::main]
//! # async fn main() -> partwise::Result<()> {
//! # let folder = tempfile::tempdir().expect("a folder");
//! # let path = folder.path().join("lake/trips");
//! let session = SessionContext::new();
//! for _ in 0..2 {
//!     let rows = session.sql("SELECT 12.5 AS fare, '2024-02-01' AS day").await?;
//!     let commit = rows
//!         .write_partitioned(&path)
//!         .mode(SaveMode::Overwrite)
//!         .overwrite(Overwrite::Dynamic)
//!         .partition_by(["day"])
//!         .token("nightly", 20240201)
//!         .save()
//!         .await?;
//!     println!("{commit}");
//! }
//! let trips = Table::open(&path).await?;
//! let day = trips.dataframe()?.filter(col("day").eq(lit("2024-02-01")))?;
//! assert_eq!(day.count().await?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! | to | there is |
//! |---|---|
//! | write a frame of any session | [`WritePartitioned`], with [`SaveMode`], [`Overwrite`] and a token |
//! | look at a table, read it, ask whether a job's run is in | [`Table`] |
//! | run SQL over a lake | [`PartwiseContext`] |
//! | have the lake in a session that is there | [`register`], [`register_lake`], [`sql()`] |
//! | keep a table up to date from files or topics that go on | [`stream`], [`PartwiseContext::streams`] |
//! | decide what to do about an error | [`Error::kind`], [`ErrorKind`] |
//!
//! An error says what the caller can do about it:
//!
//! ```
//! use partwise::datafusion::prelude::SessionContext;
//! use partwise::{ErrorKind, SaveMode, WritePartitioned};
//!
//! # #[tokio::main]
//! # async fn main() -> partwise::Result<()> {
//! # let folder = tempfile::tempdir().expect("a folder");
//! # let path = folder.path().join("lake/report");
//! # let session = SessionContext::new();
//! # let many = session.sql("SELECT value AS n, '2024-01' AS month FROM generate_series(1, 100)").await?;
//! # many.write_partitioned(&path).partition_by(["month"]).save().await?;
//! let stragglers = session.sql("SELECT 1 AS n, '2024-01' AS month").await?;
//! let write = stragglers.write_partitioned(&path).mode(SaveMode::Overwrite);
//! let error = write.save().await.expect_err("100 rows would become 1");
//! let exit = match error.kind() {
//!     ErrorKind::Refused => 3,                    // stopped by the guard: nothing changed
//!     ErrorKind::Conflict | ErrorKind::Busy => 4, // others write too: try again
//!     _ => 1,
//! };
//! assert_eq!(exit, 3);
//! # Ok(())
//! # }
//! ```
//!
//! [`datafusion`] is the version this crate is built with: an application that takes it from here
//! can't have another.
#![deny(missing_docs)]

pub use partwise_commit as commit;
pub use partwise_sql as sql;
pub use partwise_sql::datafusion;
pub use partwise_sql::stream;
pub use partwise_table as table;

pub use partwise_commit::{Location, StoreAddress, TableStore};
pub use partwise_sql::{
    ChangedPartition, Commit, CommitOutcome, ContextOptions, Error, ErrorKind, Execution, File,
    Lake, Overwrite, Partition, PartitionValues, PartitionedWrite, PartwiseContext, Result, Rows,
    SaveMode, ScanTotals, Table, WritePartitioned, register, register_lake, sql,
};
pub use partwise_table::config::Distribution;

/// The page's programs are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct EmbeddingPage;
