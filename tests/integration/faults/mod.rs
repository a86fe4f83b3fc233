//! The promises under faults that come from outside: processes that are killed or stopped anywhere,
//! many writers at once, other tools in between, disks that refuse.
//!
//! Nothing in the binary helps with it: a commit is held by taking its lock, or stopped when the
//! kernel tells that its record or its first partition has appeared.
//!
//! | asks for more | |
//! |---|---|
//! | `PARTWISE_KILLS=200` | kills of an overwrite |
//! | `PARTWISE_STATEMENT_KILLS=20` | kills of each other statement |
//! | `PARTWISE_BUCKET_KILLS=60` | kills of an overwrite in a bucket |
//! | `PARTWISE_BUCKET_OVERWRITES=200` | overwrites before a reader of a bucket |
//! | `PARTWISE_SECONDS=60` | of eight processes at once |
//! | `PARTWISE_BETWEEN=all` | every tool in the middle of every commit |

mod at_once;
mod between;
mod kills;
mod leftovers;
mod orders;
mod serial;
mod statements;
mod surroundings;
mod switching;

/// A number from the environment, or what a run of all tests has time for.
pub fn number_or(variable: &str, default: usize) -> usize {
    let set = std::env::var(variable).ok();
    set.map_or(default, |n| n.parse().unwrap_or_else(|_| panic!("{variable} is a number: {n}")))
}
