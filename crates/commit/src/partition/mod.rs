//! Partitions: typed values, their directories, and what is inferred from a foreign tree.
//!
//! ```text
//!   value   --format-->  text  --escape-->  "name=value"  --join-->  "a=1/b=x%2Fy"
//!   value   <--parse---  text  <--unescape- "name=value"  <--split-  "a=1/b=x%2Fy"
//! ```
//! A partition *is* its typed values: every spelling of a directory that reads as the same values
//! is the same partition.

mod escape;
mod infer;
mod path;
mod types;
mod value;

pub(crate) use infer::Inference;
pub(crate) use path::{Component, component, parse_component};
pub use path::{parse_partition_path, partition_path};
pub use types::PartitionType;
pub use value::{PartitionColumn, PartitionKey, PartitionValue};
