//! What is explored: which processes there are, and what may happen to them.

use super::table::Mutation;
use crate::change::{Coverage, Operation};
use crate::partition::PartitionValue;

/// One process of a scenario.
#[derive(Clone, Debug)]
pub(super) enum Role {
    /// Writes these bytes, one file each, to these partitions.
    Writer(Operation, Vec<(&'static str, u8)>),
    /// Takes one snapshot and reads it.
    Reader,
    /// Finishes what is logged, and sweeps; on a store, in the middle of others.
    Helper,
    /// On a store: aborts the uploads of transactions that aren't logged.
    Sweeper,
}

/// What is explored.
#[derive(Clone, Debug, Default)]
pub(super) struct Scenario {
    pub(super) on_store: bool,
    /// A put of a record may be answered by an error and arrive later.
    pub(super) loses: bool,
    pub(super) name: &'static str,
    pub(super) roles: Vec<Role>,
    /// How many processes may crash.
    pub(super) crashes: usize,
    /// Commits keep nothing of what they replace, and trim the log.
    pub(super) trims: bool,
    /// Another tool replaces the content of `p=a` at some moment, under a name it used before.
    pub(super) foreign: bool,
    pub(super) mutation: Mutation,
}

pub(super) fn dynamic() -> Operation {
    Operation::Overwrite(Coverage::Written)
}

/// An overwrite of the whole table.
pub(super) fn whole() -> Operation {
    Operation::Overwrite(Coverage::Matching(Vec::new()))
}

pub(super) fn fixed(partition: &str) -> Operation {
    let value = PartitionValue::Text(partition.to_string());
    Operation::Overwrite(Coverage::Matching(vec![(0, value)]))
}
