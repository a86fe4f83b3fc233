//! The write side: rows of a query become staged files, then one commit.
//!
//! ```text
//!  query plan
//!     |  cast          onto the table's types (types), without loss
//!     |  (repartition) by partition key, added by the optimizer for the tidy layout
//!     |  (sort)        by key, sort_by and the query's ORDER BY, where there is one of them
//!  StagedWriteExec     N tasks: task -> demux -> slots -> partition_writer -> file -> encode
//!     |  manifest      one plain Arrow row per file, a trailer per task
//!  DataSinkExec
//!     PartitionSink    begin ... commit; the count is the statement's result
//! ```
//!
//! - Nothing is visible before the commit, and planning has no side effects.
//! - Rows wait in memory, at most `write_buffer_size` of them, until a row group is worth encoding;
//!   files are encoded on all cores however the rows are spread.
//! - At most `max_open_writers` files are open. Where partitions are too many for that, the rest of
//!   the input is sorted by key, spilling, and one partition is completed after the other.

mod buffer;
pub mod cast;
pub mod codec;
mod demux;
mod encode;
mod file;
mod format;
pub mod manifest;
mod metrics;
pub mod options;
mod order;
mod partition_writer;
mod plan;
pub mod sink;
mod slots;
mod sort_rest;
pub mod spec;
pub mod staged_write;
mod staging;
pub mod stats;
mod task;
pub mod types;

pub use cast::RowCast;
pub use options::WriteOptions;
pub use order::RowOrder;
pub use plan::plan_write;
pub use sink::PartitionSink;
pub use spec::{Outcome, Told, WriteSpec};
pub use staged_write::StagedWriteExec;
pub(crate) use stats::stat_value;
pub use types::{table_type, table_types};
