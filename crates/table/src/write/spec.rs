//! What a write is to do: made by the statement layer, carried by the provider, read by the sink.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use partwise_commit::{
    Change, Committed, Coverage, IfExists, Location, Operation, Preview, Reads, RecordedOperation,
    Scope, StagedFile, Token,
};

use super::options::WriteOptions;
use super::order::RowOrder;
use crate::config::PartwiseConfig;
use crate::provider::ReadLog;
use crate::source::Seen;

/// What a write does with the rows of its query.
#[derive(Clone, Debug)]
pub struct WriteSpec {
    /// What the commit does with the files.
    pub operation: Operation,
    /// What the statement is, where that says more than the operation; see
    /// [`Change`](partwise_commit::Change::recorded_as).
    pub recorded_as: Option<RecordedOperation>,
    /// The partitions that the statement declares: the only ones it may write, and those that an
    /// overwrite replaces.
    pub scope: Option<Scope>,
    /// What becomes of a fully named partition that exists.
    pub if_exists: IfExists,
    /// The partition columns that the statement sets to constants, for EXPLAIN: name and text. The
    /// query has them as columns already.
    pub constants: Vec<(String, String)>,
    /// The largest share of its rows that a partition which isn't named may lose; none for no
    /// guard.
    pub max_shrink: Option<f64>,
    /// What makes the write apply once.
    pub token: Option<Token>,
    /// The table was there when the statement was planned.
    pub was_there: bool,
    /// The version of the target that the query reads, 0 without a log; none if it doesn't read it.
    pub read_version: Option<u64>,
    /// The only partitions that the query reads of the target; none: it may read any.
    pub read_within: Option<Scope>,
    /// What the query's scans have seen, by the time it is committed: what of it is the target's
    /// own is not removed unread.
    pub logs: Vec<ReadLog>,
    /// What is known before that of what the query reads of the target.
    pub reads: Vec<Arc<dyn Reads>>,
    /// What the scans of the plan have seen already.
    pub seen: Vec<Arc<Seen>>,
    /// How files are laid out and encoded.
    pub options: WriteOptions,
    /// The order of the query's rows, kept inside each file behind the options' `sort_by`.
    pub order: Vec<RowOrder>,
    /// The table's properties: those to record for a new table, those there are otherwise.
    pub properties: BTreeMap<String, String>,
    /// How long to wait for another writer's commit.
    pub lock_timeout: Duration,
    /// How long what the commit replaces is kept; none for the table's property.
    pub retention: Option<Duration>,
    /// The statement in a few words, for whoever waits for the commit.
    pub statement: String,
    /// Where the sink puts what the commit did.
    pub outcome: Outcome,
    /// Set where nothing is to be committed: the sink puts what the commit would do.
    pub preview: Option<Told<Preview>>,
}

impl WriteSpec {
    /// A write with the session's settings: its guard, timeouts and layout; no token, nothing read. A
    /// retention that the session leaves alone is the table's to say.
    pub fn new(operation: Operation, config: &PartwiseConfig) -> Self {
        Self {
            operation,
            recorded_as: None,
            scope: None,
            if_exists: IfExists::default(),
            constants: Vec::new(),
            max_shrink: (config.max_shrink < 1.0).then_some(config.max_shrink),
            token: None,
            was_there: false,
            read_version: None,
            read_within: None,
            logs: Vec::new(),
            reads: Vec::new(),
            seen: Vec::new(),
            options: WriteOptions::from_config(config),
            order: Vec::new(),
            properties: BTreeMap::new(),
            lock_timeout: config.lock_timeout,
            retention: (config.retention != PartwiseConfig::default().retention)
                .then_some(config.retention),
            statement: String::new(),
            outcome: Outcome::default(),
            preview: None,
        }
    }

    /// The commit of these files to the table at `target`.
    pub fn change(&self, target: &Location, files: Vec<StagedFile>) -> Change {
        Change {
            recorded_as: self.recorded_as,
            max_shrink: self.max_shrink,
            scope: self.scope.clone(),
            if_exists: self.if_exists,
            token: self.token.clone(),
            was_there: self.was_there,
            read_version: self.read_version,
            read_within: self.read_within.clone(),
            reads: self.reads(target),
            statement: self.statement.clone(),
            lock_timeout: self.lock_timeout,
            retention: self.retention,
            ..Change::new(self.operation.clone(), files)
        }
    }

    /// What of the table at `target` has been read.
    fn reads(&self, target: &Location) -> Vec<Arc<dyn Reads>> {
        let logged = self.logs.iter().flat_map(ReadLog::seen);
        let seen = self.seen.iter().cloned().chain(logged);
        self.reads.iter().cloned().chain(seen.map(|seen| seen.of_target(target))).collect()
    }

    /// The mode as EXPLAIN names it.
    pub fn mode(&self) -> &'static str {
        match &self.operation {
            Operation::Create => "create",
            Operation::Replace => "replace",
            Operation::Append => "append",
            Operation::Alter => "alter",
            Operation::Overwrite(_) if self.scope.is_some() => "overwrite scope",
            Operation::Overwrite(Coverage::Written) => "overwrite dynamic",
            Operation::Overwrite(Coverage::Matching(_)) => "overwrite static",
        }
    }
}

/// What the commit of a plan did.
pub type Outcome = Told<Committed>;

/// What a plan has to say to the statement layer once it has run. Clones share it.
#[derive(Clone)]
pub struct Told<T> {
    said: Arc<Mutex<Option<T>>>,
    heard: Option<Hears<T>>,
}

type Hears<T> = Arc<dyn Fn(&T) + Send + Sync>;

impl<T> Default for Told<T> {
    fn default() -> Self {
        Self { said: Arc::default(), heard: None }
    }
}

impl<T: fmt::Debug> fmt::Debug for Told<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Told").field(&self.said).finish()
    }
}

impl<T: Clone> Told<T> {
    /// One whose every saying is passed on to `heard`, however the plan is run.
    pub fn heard_by(heard: impl Fn(&T) + Send + Sync + 'static) -> Self {
        Self { said: Arc::default(), heard: Some(Arc::new(heard)) }
    }

    /// Says it; only the last counts.
    pub fn set(&self, what: T) {
        if let Some(heard) = &self.heard {
            heard(&what);
        }
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
    }

    /// What was said last; none before the plan has run to its end.
    pub fn get(&self) -> Option<T> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
