//! Partitioned Parquet tables for Apache DataFusion: pruned scan, staged write, committing sink.
//!
//! ```text
//!   read:   filters -> predicate (partitions) -> snapshot -> scan -> source -> reader -> rows
//!   write:  rows -> write::plan_write -> staged files -> commit
//!                       \_____ partwise-commit: what is on disk ____/
//! ```
//! [`PartwiseTable`] is the table as DataFusion sees it; [`CountTotals`] makes its scans count what
//! they leave out; [`CountPartitions`] answers what names and statistics can; [`config::PartwiseConfig`] holds the session's settings.
#![deny(missing_docs)]

pub mod config;
mod counts;
pub mod error;
mod predicate;
mod provider;
mod reader;
mod scan;
mod schema;
mod source;
mod value;
pub mod write;

pub use counts::{CountPartitions, PartitionCountsExec};
pub use predicate::{PartitionKeys, partition_scope, scope_schema};
pub use provider::{FileFooter, OpenOptions, PartwiseTable, ReadLog};
pub use reader::FooterRowCounter;
pub use scan::CountTotals;
pub use schema::{widening_adapters, widens};
pub use source::{PartwiseSource, ScanFacts, Seen, Selected, read_version, scan_facts};
pub use value::{partition_value, scalar};
