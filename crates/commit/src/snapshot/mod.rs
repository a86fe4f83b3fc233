//! Snapshots: which files a table is made of at a version.

mod at;
mod discover;
mod level;
mod list;
mod read;
mod spelling;
mod walk;

use std::sync::Arc;

pub(crate) use discover::discover;
pub(crate) use level::TypedNames;
pub(crate) use list::{Levels, list_levels};
pub(crate) use read::{by_place, counts, missing_record, take, take_everything, take_for_commit};

pub use at::At;
pub(crate) use at::{Past, take_at};
pub use walk::{Step, Walk, Walked, WalkedFile, WalkedFiles};

use crate::Result;
use crate::partition::{PartitionKey, PartitionValue};
use crate::record::{FileStats, Identity, Totals};

/// Which partitions are wanted, decided level by level before anything below is listed.
pub trait PartitionSelector: Send + Sync {
    /// For each prefix (values of the first k partition columns, k from 1 to all of them), whether
    /// a partition below may be wanted. The answer has the length of `prefixes`.
    fn select(&self, prefixes: &[Vec<PartitionValue>]) -> Result<Vec<bool>>;

    /// For each of the first partition columns, as far as they can be told, the values that a
    /// wanted partition has in it: no other is wanted. Not all partitions of these values need be
    /// wanted, [`select`](Self::select) is asked about them.
    fn leading_values(&self) -> Vec<Vec<PartitionValue>> {
        Vec::new()
    }
}

/// Selects every partition.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllPartitions;

impl PartitionSelector for AllPartitions {
    fn select(&self, prefixes: &[Vec<PartitionValue>]) -> Result<Vec<bool>> {
        Ok(vec![true; prefixes.len()])
    }
}

/// The files of the selected partitions at one version.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The version; none for a table without a log of ours.
    pub version: Option<u64>,
    /// The selected partitions that hold a data file, sorted by key.
    pub partitions: Vec<PartitionFiles>,
    /// What was passed over: strays, empty files, odd names.
    pub warnings: Vec<String>,
}

impl Snapshot {
    /// Totals of the partitions selected; rows where every file's are known.
    pub fn totals(&self) -> Totals {
        let files = || self.partitions.iter().flat_map(|partition| &partition.files);
        Totals {
            partitions: self.partitions.len() as u64,
            files: files().count() as u64,
            rows: files().map(|file| file.rows).sum(),
            bytes: Some(files().map(|file| file.identity.size).sum()),
        }
    }
}

/// The files of one partition.
#[derive(Clone, Debug)]
pub struct PartitionFiles {
    /// Its typed values.
    pub key: PartitionKey,
    /// The directory there is, relative to the table, as spelled; where several directories are one
    /// partition, the one that writes go to.
    pub path: String,
    /// Its data files, from all its directories, sorted by path.
    pub files: Vec<DataFile>,
}

/// A data file of a snapshot.
#[derive(Clone, Debug)]
pub struct DataFile {
    /// The path relative to the table, as spelled on disk.
    pub path: String,
    /// Which file of that name it is.
    pub identity: Identity,
    /// Its rows, where a record of ours tells.
    pub rows: Option<u64>,
    /// Its column statistics, where a record of ours tells.
    pub stats: Option<Arc<FileStats>>,
    /// The version whose retained files hold the bytes, when they are there already.
    pub retained: Option<u64>,
    /// The version that added it, where a record of ours tells.
    pub version: Option<u64>,
    /// When it was changed last, milliseconds since 1970, UTC; none where only a record of an
    /// object store tells of it.
    pub modified_ms: Option<i64>,
}
