//! Partwise for applications: a directory of Parquet files as a table whose partitions are the
//! unit of replacement, in Apache DataFusion.
//!
//! ```text
//!   application -> partwise (this crate: re-exports, no logic)
//!                     +-> sql      statements, the lake, settings, EXPLAIN
//!                     +-> table    TableProvider, pruned scan, staged write
//!                     +-> commit   names on disk, records, snapshots
//! ```
//!
//! ```no_run
//! # async fn demo() -> Result<(), partwise::Error> {
//! use partwise::{Execution, PartwiseContext};
//!
//! let context = PartwiseContext::open("lake").await?;
//! let done = context
//!     .execute("INSERT OVERWRITE report PARTITION (month) SELECT zone, trips, month FROM 'new/'")
//!     .await?;
//! if let Execution::Wrote(report) = done {
//!     println!("{}", report.line());
//! }
//! # Ok(())
//! # }
//! ```

pub use partwise_commit as commit;
pub use partwise_sql as sql;
pub use partwise_table as table;

pub use partwise_sql::{
    ContextOptions, Error, ErrorKind, Execution, Lake, PartwiseContext, Result,
};
