//! From a statement to a plan that writes: which rows go where, and what they replace.
//!
//! ```text
//! query --alone--> plan --assign--> columns in declared order --Dml--> WriteTarget (carries the spec)
//! PARTITION (..), mode -------------------------------------> operation (append, coverage)
//! ```

pub(crate) mod assign;
pub(crate) mod columns;
mod compare;
pub(crate) mod copy;
pub(crate) mod create;
mod fold;
pub(crate) mod insert;
pub(crate) mod optimize;
pub(crate) mod order;
mod pack;
pub(crate) mod partitions;
pub(crate) mod query;
pub(crate) mod rewrite;
pub(crate) mod scope;
pub(crate) mod spec;
pub(crate) mod target;

pub(crate) use target::PlannedWrite;
