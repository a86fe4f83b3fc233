//! The log's records: one per commit, created once, never changed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::partition::{PartitionColumn, PartitionKey};
use crate::schema::RecordedSchema;
use crate::token::{JobState, Token};

/// The format of records and of `table.json` that this crate writes, and the highest it reads.
pub const FORMAT: u32 = 1;

/// The unique id of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TransactionId(String);

impl TransactionId {
    /// A new id; ids sort by the time they were made.
    pub(crate) fn random() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }

    /// The id as text: lower-case hex digits and dashes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What makes a file the one that was meant, beside its path: other tools reuse names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Size in bytes.
    pub size: u64,
    /// Local disk: time of the last change of the content, nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified_ns: Option<i64>,
    /// Object store: the entity tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

impl Identity {
    /// Whether a file found with this identity may be the one that a record tells of: they agree in
    /// all that both know. A record of an object store knows no entity tag, its upload being open.
    pub(crate) fn agrees(&self, recorded: &Self) -> bool {
        fn same<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
            a.zip(b).is_none_or(|(a, b)| a == b)
        }
        self.size == recorded.size
            && same(self.modified_ns.as_ref(), recorded.modified_ns.as_ref())
            && same(self.etag.as_ref(), recorded.etag.as_ref())
    }

    /// The time of the last change, milliseconds since 1970, where this tells it.
    pub(crate) fn modified_ms(&self) -> Option<i64> {
        self.modified_ns.map(|ns| ns / 1_000_000)
    }
}

/// Statistics of a data file, by column of the file schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileStats {
    /// The columns that have any.
    pub columns: BTreeMap<String, ColumnStats>,
}

impl FileStats {
    /// Without the bounds that don't read back as they are: JSON's numbers, as they are read here,
    /// may differ from a float in its last digit, and a bound that is off by that is wrong.
    pub(crate) fn exact(mut self) -> Self {
        for column in self.columns.values_mut() {
            column.min = column.min.take().filter(reads_back);
            column.max = column.max.take().filter(reads_back);
        }
        self
    }
}

fn reads_back(bound: &serde_json::Value) -> bool {
    let is_float = bound.is_f64();
    !is_float
        || serde_json::from_str::<serde_json::Value>(&bound.to_string()).ok().as_ref()
            == Some(bound)
}

/// Statistics of one column of a data file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnStats {
    /// A lower bound of the values; none if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<serde_json::Value>,
    /// An upper bound of the values; none if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<serde_json::Value>,
    /// How many values are NULL; none if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nulls: Option<u64>,
}

/// How a version ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum Outcome {
    /// All that it recorded is in place.
    #[default]
    Done,
    /// A staged file was gone before it was published: nothing of it counts.
    Void,
    /// In place, but for partitions that another tool replaced after the commit point: what that
    /// tool left there stands.
    Skipped {
        /// The directories of those partitions, relative to the table.
        partitions: Vec<String>,
    },
}

/// Totals of a whole table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Partitions that hold a data file.
    pub partitions: u64,
    /// Data files.
    pub files: u64,
    /// Rows, where every file's are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Bytes, where every file's are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A record of the log: what one commit did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The format of this record.
    pub format: u32,
    /// The table it belongs to.
    pub table: String,
    /// The version it makes.
    pub version: u64,
    /// The transaction that wrote it.
    pub transaction: TransactionId,
    /// When it was decided, milliseconds since 1970, UTC.
    pub time_ms: i64,
    /// What was done.
    pub operation: RecordedOperation,
    /// Which partitions an overwrite covered; of an append, its declared scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<RecordedScope>,
    /// For a restore, the version it brought back: what came after that is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<u64>,
    /// The token of the write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Token>,
    /// Name and version of the engine that wrote it.
    pub engine: String,
    /// How the version before ended; none for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Outcome>,
    /// Schema and properties, where this record sets them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<RecordedSchema>,
    /// The newest version before this one that set the schema; none for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u64>,
    /// The partition columns whose directories were all spelled as this crate spells them, as far
    /// as a commit that looked at all of them saw; none where one was spelled in another way, or
    /// not all were looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub canonical_paths: Vec<PartitionColumn>,
    /// The last run of each job before this record; of a restore, at the version it brought back.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub jobs: BTreeMap<String, JobState>,
    /// What changed, by partition.
    pub partitions: Vec<RecordedPartition>,
    /// The table's totals after it.
    pub totals: Totals,
}

/// What a record did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedOperation {
    /// Made the table.
    Create,
    /// Replaced the whole table.
    Replace,
    /// Added files.
    Append,
    /// Replaced the content of partitions.
    Overwrite,
    /// Brought back an earlier version.
    Restore,
    /// Emptied the table.
    Truncate,
    /// Emptied partitions.
    DropPartition,
    /// Changed the columns, and no data.
    Alter,
    /// Removed rows.
    Delete,
    /// Changed rows.
    Update,
    /// Merged rows of another table into this one.
    Merge,
    /// Wrote the same rows into fewer files.
    Optimize,
}

impl RecordedOperation {
    /// As history shows it, in small letters: `create`, `overwrite`, `drop partition`, ..
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Append => "append",
            Self::Overwrite => "overwrite",
            Self::Restore => "restore",
            Self::Truncate => "truncate",
            Self::DropPartition => "drop partition",
            Self::Alter => "alter",
            Self::Delete => "delete",
            Self::Update => "update",
            Self::Merge => "merge",
            Self::Optimize => "optimize",
        }
    }
}

/// Which partitions an overwrite covered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedScope {
    /// Those that received rows.
    Written,
    /// All that equal these directory values, as `column=value`; all partitions if there are none.
    Matching(Vec<String>),
    /// All that a declared scope matches: its predicate. Of an append, the only ones it could touch.
    Declared(String),
}

/// What a record did to one partition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedPartition {
    /// The directory that files were added to, relative to the table, as spelled on disk.
    pub path: String,
    /// The directory they were staged in, where it is spelled in another way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged: Option<String>,
    /// The typed values.
    pub key: PartitionKey,
    /// Files added to `path`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<AddedFile>,
    /// Files removed, from `path` and from other spellings of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<RemovedFile>,
    /// Rows of the partition before.
    pub rows_before: u64,
    /// Rows of the partition after.
    pub rows_after: u64,
}

impl RecordedPartition {
    /// The paths that it names, all relative to the table or to a folder of the log.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        let added = self.added.iter().map(|file| file.name.as_str());
        let removed = self.removed.iter().map(|file| file.path.as_str());
        let dirs = std::iter::once(self.path.as_str()).chain(self.staged.as_deref());
        dirs.filter(|dir| !dir.is_empty()).chain(added).chain(removed)
    }

    /// Rows of the files added.
    pub fn rows_added(&self) -> u64 {
        self.added.iter().map(|file| file.rows).sum()
    }

    /// Rows of the files removed.
    pub fn rows_removed(&self) -> u64 {
        (self.rows_before + self.rows_added()).saturating_sub(self.rows_after)
    }

    /// Bytes of the files added.
    pub fn bytes_added(&self) -> u64 {
        self.added.iter().map(|file| file.identity.size).sum()
    }
}

/// A file that a record added.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddedFile {
    /// The file's name, without its directory.
    pub name: String,
    /// Size, and on a local disk the time of its last change.
    pub identity: Identity,
    /// Rows.
    pub rows: u64,
    /// Column statistics.
    #[serde(default)]
    pub stats: Arc<FileStats>,
    /// Object store: the open upload that becomes the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<Upload>,
    /// For a restore, the file that this is another name, or a copy, of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RemovedFile>,
}

/// An open multipart upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// The store's id of the upload.
    pub id: String,
    /// The store's ids of its parts, in order.
    pub parts: Vec<String>,
}

/// A file that a record removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedFile {
    /// The file's path relative to the table, as spelled on disk.
    pub path: String,
    /// Which file of that name it was.
    pub identity: Identity,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_does_not_read_back_is_not_recorded() {
        let mut dropped = 0;
        for n in 1..2000_u32 {
            let value = f64::from(n).sqrt() * 1e-7;
            let bound = serde_json::Number::from_f64(value).map(serde_json::Value::Number);
            let column = ColumnStats { min: bound.clone(), max: bound, nulls: Some(0) };
            let stats = FileStats { columns: BTreeMap::from([("x".to_string(), column)]) }.exact();
            let text = serde_json::to_string(&stats).unwrap();
            assert_eq!(serde_json::from_str::<FileStats>(&text).unwrap(), stats, "{value}");
            dropped += usize::from(stats.columns["x"].min.is_none());
        }
        println!("{dropped} of 1999 bounds don't read back");
        let short = ColumnStats { min: Some(12.5.into()), max: Some(7.into()), nulls: None };
        let stats = FileStats { columns: BTreeMap::from([("x".to_string(), short)]) };
        assert_eq!(stats.clone().exact(), stats);
    }
}
