//! What a commit is to do: the operation, its files, and what may stop it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Result;
use crate::partition::{PartitionKey, PartitionValue};
use crate::record::RecordedOperation;
use crate::snapshot::{DataFile, PartitionSelector};
use crate::token::Token;
use crate::transaction::StagedFile;
use crate::turn::Turn;

/// What a commit is to do.
#[derive(Clone, Debug)]
pub struct Change {
    /// What to do with the files.
    pub operation: Operation,
    /// What the statement was, where that says more than the operation: a DELETE overwrites
    /// partitions. None for the operation's own name.
    pub recorded_as: Option<RecordedOperation>,
    /// The staged files of this transaction.
    pub files: Vec<StagedFile>,
    /// The largest fraction of its rows (0 to 1) that a partition which the statement doesn't name
    /// may lose in an [`Overwrite`](Operation::Overwrite) of [`Coverage::Written`]; none for no
    /// guard.
    pub max_shrink: Option<f64>,
    /// The declared scope: the only partitions that the write may touch, so that the guard doesn't
    /// apply. An overwrite replaces exactly those that match, whatever its coverage says, and those
    /// that received no rows end empty; an append empties nothing. A file outside is an error.
    pub scope: Option<Scope>,
    /// What becomes of an overwrite of one fully named partition that exists.
    pub if_exists: IfExists,
    /// What makes the write apply once.
    pub token: Option<Token>,
    /// The statement was planned on a table that was there: where it is gone by now, it isn't made
    /// anew.
    pub was_there: bool,
    /// The version of this table that the statement read, 0 for one without a log; none if it did
    /// not read this table. Any later version is a conflict.
    pub read_version: Option<u64>,
    /// The only partitions that the statement read of this table; none: it may have read any. A
    /// later version that touched none of them, and not the schema, is no conflict.
    pub read_within: Option<Scope>,
    /// What the statement's scans read of this table: an overwrite doesn't remove a file that one of
    /// them missed.
    pub reads: Vec<Arc<dyn Reads>>,
    /// Name and version of the engine, for the record.
    pub engine: String,
    /// The statement in a few words, for whoever waits for this commit.
    pub statement: String,
    /// How long to wait for another writer's commit.
    pub lock_timeout: Duration,
    /// The right to commit next, where the statement took it before it read.
    pub turn: Option<Turn>,
    /// How long what this commit replaces is kept; none for the table's property `retention`, or
    /// 7 days.
    pub retention: Option<Duration>,
}

impl Change {
    /// A change with these files: no guard, no scope, no token, nothing read, a lock timeout of 60 s.
    pub fn new(operation: Operation, files: Vec<StagedFile>) -> Self {
        Self {
            operation,
            recorded_as: None,
            files,
            max_shrink: None,
            scope: None,
            if_exists: IfExists::Replace,
            token: None,
            was_there: false,
            read_version: None,
            read_within: None,
            reads: Vec::new(),
            engine: concat!("partwise ", env!("CARGO_PKG_VERSION")).to_string(),
            statement: String::new(),
            lock_timeout: Duration::from_secs(60),
            turn: None,
            retention: None,
        }
    }
}

/// What a scan read of the table that its statement writes.
pub trait Reads: fmt::Debug + Send + Sync {
    /// Whether the scan would have read `file` of that table, had it been there in time. It is told
    /// by its path and identity: another tool may have put it there without a version of its own.
    fn missed(&self, file: &DataFile) -> Result<bool>;
}

/// What a commit does with its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Makes the table; an error if data or records are there.
    Create,
    /// Replaces the whole table, whatever is there, and its schema.
    Replace,
    /// Adds the files.
    Append,
    /// Replaces the whole content of the partitions it covers.
    Overwrite(Coverage),
    /// Sets the transaction's schema and properties in place of those there are, with the same
    /// partition columns, and touches no file. The change names the version that they were made
    /// from ([`Change::read_version`]): they may have been set by no later one.
    Alter,
}

/// Which partitions an overwrite replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Those that received rows (dynamic). The guard applies.
    Written,
    /// All that equal these values in these partition columns, by index (static); with none, the
    /// whole table. Those that received no rows end empty. A file outside is an error.
    Matching(Vec<(usize, PartitionValue)>),
}

/// What becomes of an overwrite of a partition that exists: one that holds a data file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfExists {
    /// It is replaced.
    #[default]
    Replace,
    /// It is left as it is, and nothing is changed (`IF NOT EXISTS`). Only for a
    /// [`Coverage::Matching`] of all partition columns.
    Keep,
}

/// A declared scope: a predicate over the partition columns. Cheap to clone.
#[derive(Clone)]
pub struct Scope {
    selector: Arc<dyn PartitionSelector>,
    text: Arc<str>,
}

impl Scope {
    /// The partitions that `selector` selects: its answer for a prefix of all columns is exact.
    /// `text` is the predicate as messages and the record show it.
    pub fn new(selector: Arc<dyn PartitionSelector>, text: impl Into<Arc<str>>) -> Self {
        Self { selector, text: text.into() }
    }

    /// The predicate as text.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn selector(&self) -> &dyn PartitionSelector {
        self.selector.as_ref()
    }

    /// Whether the partition `key` is in it.
    pub fn covers(&self, key: &PartitionKey) -> Result<bool> {
        Ok(self.selector.select(&[key.values().to_vec()])?.first() == Some(&true))
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({})", self.text)
    }
}
