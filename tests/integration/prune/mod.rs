//! What a query reads: each answer also without pruning.

mod files;
mod partitions;
mod run_time;

use crate::support::pair::Pair;
