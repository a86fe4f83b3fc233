//! The SQL surface of Partwise: the lake, statements, settings, EXPLAIN; and the Rust API.
//!
//! ```text
//!  text -> statement::parse -+-> ours -> plan (spec, assign, project) -> Dml -> run -> commit line
//!                            +-> DataFusion's -> names (without case) ---------> run -> rows
//!                                                   |
//!           lake (directories, found anew) <- tables|
//!           path_table (directory, glob, file) <----+
//!
//!  api: DataFrame.write_partitioned --(the same plan)--> Dml -> run -> Commit
//! ```
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> partwise_sql::Result<()> {
//! # let folder = tempfile::tempdir().expect("a folder");
//! # let lake = folder.path().join("lake");
//! let context = partwise_sql::PartwiseContext::open(lake).await?;
//! context.execute("CREATE TABLE t (a INT, p STRING) USING parquet PARTITIONED BY (p)").await?;
//! context.execute("INSERT INTO t VALUES (1, 'x')").await?;
//! # Ok(())
//! # }
//! ```

mod api;
mod connectors;
mod context;
mod definition;
mod distinct;

mod execution;
mod explain;
mod files_table;
mod functions;
mod lake;
mod listing;
mod lookup;
mod missing;
mod names;
mod path_table;
mod place;
mod plan;
mod progress;
mod report;
mod run;
mod scans;
mod script;
mod secrets;
mod session;
mod show;
mod streams;
mod token;

use partwise_statement as statement;

pub use api::{
    ChangedPartition, Commit, CommitOutcome, File, Overwrite, Partition, PartitionValues,
    PartitionedWrite, SaveMode, Table, WritePartitioned, register, register_lake, sql,
};
pub use context::{ContextOptions, PartwiseContext};
pub use datafusion;
pub use execution::{Execution, Rows, ScanSummary};
pub use lake::Lake;
pub use partwise_commit::is_address;
pub use partwise_stream as stream;
pub use partwise_table::error::{Error, ErrorKind, Result};
pub use progress::Progress;
pub use report::{RestoredTo, RowChanges, WriteReport, bytes, counted, thousands};
pub use scans::ScanTotals;
pub use script::{ScriptStatement, split_statements, substitute, substitute_set};
pub use secrets::{hidden, is_given_away};
pub use streams::BatchListener;
