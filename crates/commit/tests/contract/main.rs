//! What a table promises, on every kind of place that holds one: each contract is a function over
//! a `Place`, run on a local disk, on a memory store and, with the feature `aws`, on a
//! real S3.

mod place;
mod support;

mod alters;
mod commits;
mod confines;
mod dropped;
mod environment;
mod foreign;
mod guards;
mod history;
mod interrupted;
mod keeping;
mod local_disk;
mod nights;
mod partitions;
mod past;
mod planning;
mod previews;
mod probes;
mod races;
mod readers;
mod renames;
mod restore;
#[cfg(feature = "aws")]
mod s3;
mod scopes;
mod sweep;
mod vacuums;

/// Runs each contract on every kind of place.
macro_rules! contracts {
    ($($name:ident),* $(,)?) => {
        mod local {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() -> partwise_commit::Result<()> {
                super::$name($crate::place::Place::local()).await
            })*
        }
        $crate::on_stores!($($name),*);
    };
}
pub(crate) use contracts;

/// Runs each contract on every kind of store.
macro_rules! on_stores {
    ($($name:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() -> partwise_commit::Result<()> {
                super::$name($crate::place::Place::memory()).await
            })*
        }
        #[cfg(feature = "aws")]
        mod s3 {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() -> partwise_commit::Result<()> {
                match $crate::s3::place(stringify!($name)) {
                    Some(place) => super::$name(place).await,
                    None => Ok(()),
                }
            })*
        }
    };
}
pub(crate) use on_stores;
