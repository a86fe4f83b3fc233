//! Where a query's rows go.
//!
//! ```text
//! SinkFactory  INTO kind target KEYS (..) OPTIONS (..)
//!      |
//! Sink         identity (part of the fingerprint) -> open (is it this query's?) -> write, per batch
//! ```
//! A batch may be written more than once: after a crash it is run again, with the same id, the same
//! digest and the same rows. A sink makes that harmless in its own way: a commit that carries the
//! token (query id, batch, digest), a transaction that checks the batch number, an upsert.

mod columns;
mod console;
pub mod delivery;
mod foreach;
mod memory;
mod once;
mod rows;
mod table;

pub use columns::{check_parts, places};
pub use console::{ConsoleFactory, ConsoleSink};
pub use foreach::{BatchId, ForeachBatch};
pub use memory::{MemoryFactory, MemorySink};
pub use once::Once;
pub use rows::BatchRows;
pub(crate) use rows::{count, under};
pub use table::{TableFactory, TableSink};

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::execution::context::{SessionContext, SessionState};

use crate::Result;
use crate::definition::{OutputMode, SinkDefinition};

/// Makes the sinks of one kind.
#[async_trait]
pub trait SinkFactory: Debug + Send + Sync {
    /// The sink that a query names.
    ///
    /// # Errors
    /// A target or an option that is missing or isn't known.
    async fn sink(
        &self,
        session: &SessionContext,
        definition: &SinkDefinition,
    ) -> Result<Arc<dyn Sink>>;
}

/// What a sink is told of its query.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SinkQuery {
    /// The query's name.
    pub name: String,
    /// The query's id, of its checkpoint: another checkpoint is another query.
    pub id: String,
    /// What the batches hold; append where the query has no aggregate.
    pub mode: OutputMode,
    /// The columns of the rows.
    pub schema: SchemaRef,
    /// The columns that tell rows apart; empty where the query has no aggregate and names none.
    pub keys: Vec<String>,
    /// Columns that follow from the keys: two rows of one key have the same values in them. The
    /// keys are among them.
    pub fixed: Vec<String>,
    /// The last batch that the sink was given and its digest; none for a new query.
    pub delivered: Option<(u64, String)>,
}

impl SinkQuery {
    /// Name and id in one: two queries of one name differ in it.
    pub fn full_name(&self) -> String {
        format!("{}@{}", self.name, self.id)
    }

    /// Splits a full name into name and id.
    pub fn split(full_name: &str) -> Option<(&str, &str)> {
        full_name.rsplit_once('@').filter(|(_, id)| id.len() == 36)
    }
}

/// A batch to be written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SinkBatch {
    /// The query.
    pub query: Arc<SinkQuery>,
    /// The batch's number: growing, and the same when it is repeated.
    pub batch: u64,
    /// The digest of its offsets: the same batch with another digest has other input, and must be
    /// an error.
    pub digest: String,
    /// The last batch before it that the sink was given, and its digest.
    pub previous: Option<(u64, String)>,
    /// It began before a restart, so that the sink may have it.
    pub replayed: bool,
    /// Its rows.
    pub rows: BatchRows,
    /// The query's session.
    pub state: SessionState,
    /// See [`gives_out`](Self::gives_out).
    pub(crate) given_out: Arc<AtomicBool>,
}

impl SinkBatch {
    /// Says that from here on something of the batch may be out that a failure doesn't take back: a
    /// message sent, a function called. Such a batch keeps its number and its rows, whatever becomes
    /// of it; one that left no trace is planned anew after an error.
    pub fn gives_out(&self) {
        self.given_out.store(true, Ordering::Release);
    }
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The rows are in.
    Rows(u64),
    /// The sink had the batch already: nothing changed.
    Already,
}

/// Where rows go, batch by batch.
#[async_trait]
pub trait Sink: Debug + Send + Sync {
    /// What it is and where, in words.
    fn describe(&self) -> String;

    /// What a checkpoint is tied to: the same without what may change while the rows stay, such as
    /// the address of a server.
    fn identity(&self) -> String {
        self.describe()
    }

    /// The keys it was given; empty: the group columns.
    fn keys(&self) -> &[String] {
        &[]
    }

    /// Whether an update's rows replace older ones of the same keys; else each batch's are given out
    /// as they are.
    fn replaces_rows(&self) -> bool {
        true
    }

    /// Its rows as a table, for sinks that the session is to know under their name.
    fn table(&self) -> Option<Arc<dyn TableProvider>> {
        None
    }

    /// Checks that it can take what the query gives, and that what it has is of this query.
    ///
    /// # Errors
    /// A mode it can't take, columns that don't fit; `Refused` where it holds rows of the same query
    /// name with another id (the checkpoint is lost), or lacks what was delivered.
    async fn open(&self, query: &SinkQuery) -> Result<()>;

    /// Writes a batch, all or nothing; a sink that can't do that says when it begins, with
    /// [`SinkBatch::gives_out`].
    ///
    /// # Errors
    /// The query stops, and the batch is written again when it goes on.
    async fn write(&self, batch: SinkBatch) -> Result<Written>;

    /// Whether it is sure that nothing of a batch, which began before a restart, is in it: a batch
    /// whose input can't be read any more is planned anew then.
    ///
    /// # Errors
    /// A target that can't be reached.
    async fn lacks(&self, _batch: &SinkBatch) -> Result<bool> {
        Ok(false)
    }
}
