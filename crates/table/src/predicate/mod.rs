//! Predicates over partition columns: what is known of a row before any file is opened.
//!
//! ```text
//!   (dt = 'a' AND v = 1) OR (dt = 'b' AND v = 2)     the filter, over all columns
//!        |  relax to the columns known: an operand that needs another one "may match"
//!        v
//!    dt = 'a'            OR  dt = 'b'                what every matching row's partition fulfils
//!        |  evaluate over the values of one level, all directories in one batch
//!        v
//!    [true, true, false, ...]                        the directories to descend into
//! ```
//! Guarantee: where the filter is true for a row, its relaxed form is true for the row's partition.
//! A filter over partition columns alone relaxes to itself, so it is applied exactly.

mod floats;
mod keys;
mod leading;
mod relax;
mod render;
mod rows_only;
mod scope;
mod selector;

pub(crate) use floats::{Conclusion, keeps_rows, sound};
pub use keys::PartitionKeys;
pub(crate) use keys::Within;
pub(crate) use relax::relax;
pub(crate) use render::render;
pub use scope::{partition_scope, scope_schema};
pub(crate) use selector::PartitionPredicate;

#[cfg(test)]
mod tests;
