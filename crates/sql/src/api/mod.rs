//! The Rust API: what a program says in place of SQL.
//!
//! ```text
//!  DataFrame (any session) --write_partitioned(path)--> PartitionedWrite --save()--> Commit
//!                                                         mode, overwrite, layout, token
//!
//!  Table::open(path) --> partitions(), files(), history(), version_of(job, run)
//!               |
//!               +--> provider(), dataframe() --> rows
//!
//!  register(&session) --> its SQL sees the lake; sql(&session, "..") runs statements of ours
//! ```
//!
//! A write says here what it says in SQL, with the same defaults, guard and errors.

mod commit;
mod mode;
mod register;
mod save;
mod table;
mod values;
mod write;

pub use commit::{ChangedPartition, Commit, CommitOutcome};
pub use mode::{Overwrite, SaveMode};
pub use register::{register, register_lake, sql};
pub(crate) use table::partitions_of;
pub use table::{File, Partition, Table};
pub use values::PartitionValues;
pub use write::{PartitionedWrite, WritePartitioned};
