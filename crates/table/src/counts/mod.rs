//! Answers from names and statistics: `count(*)`, `min`/`max` and DISTINCT over partition columns.
//!
//! ```text
//!   Aggregate [count(*), max(dt)]            Aggregate [sum(#rows), max(dt)]
//!     TableScan t [dt]               ->        TableScan t [dt, #rows]     a row per partition
//!                                                = PartitionCountsExec
//! ```
//! A partition's rows are what the records say of its files, by name, size and time of change; of a
//! file that no record tells about, what its footer says. A partition without rows is none.
//! `partwise.prune = false` leaves the plan as it is.

pub(crate) mod exec;
mod rule;

pub use exec::PartitionCountsExec;
pub use rule::CountPartitions;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use partwise_commit::PartitionColumn;

use crate::value::partition_fields;

/// The column of a partition's rows, behind the partition columns.
pub(crate) const ROWS: &str = "#rows";

/// The columns of a table that is read by its partitions.
pub(crate) fn counts_schema(columns: &[PartitionColumn]) -> SchemaRef {
    let mut fields = partition_fields(columns);
    fields.push(Arc::new(Field::new(ROWS, DataType::Int64, false)));
    Arc::new(Schema::new(fields))
}
