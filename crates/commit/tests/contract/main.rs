//! What a table promises, on every kind of place that holds one: each contract is a function over
//! a `Place`, run on a local disk and on a memory store.

mod place;
mod support;

mod commits;
mod counting;
mod crash;
mod foreign;
mod guards;
mod history;
mod interrupted;
mod keeping;
mod local_disk;
mod nights;
mod partitions;
mod past;
mod previews;
mod races;
mod readers;
mod restore;
mod scopes;
mod store_faults;

/// Runs each contract on every kind of place.
macro_rules! contracts {
    ($($name:ident),* $(,)?) => {
        mod local {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() -> partwise_commit::Result<()> {
                super::$name($crate::place::Place::local()).await
            })*
        }
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() -> partwise_commit::Result<()> {
                super::$name($crate::place::Place::memory()).await
            })*
        }
    };
}
pub(crate) use contracts;
