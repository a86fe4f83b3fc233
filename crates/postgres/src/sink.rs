//! The sink: one transaction per batch, tried again where that helps.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use partwise_stream::sink::{Sink, SinkBatch, SinkQuery, Written};
use partwise_stream::{Error, ErrorKind, Result};
use tokio_postgres::{Client, IsolationLevel};

use crate::ledger::{Decision, Ledger};
use crate::rows::Rows;
use crate::server::Server;
use crate::target::{self, TableName, Target};
use crate::trouble::{Patience, Trouble};
use crate::write;

/// Rows of a batch that are written without a temporary table, if nothing is said.
const STAGING_ROWS: usize = 10_000;
/// How long the server may be away, if nothing is said.
const RETRY: Duration = Duration::from_secs(60);

/// A table of PostgreSQL as a sink; it is made if it is missing. Clones share a connection.
///
/// ```
/// use partwise_postgres::PostgresSink;
///
/// # fn main() -> partwise_stream::Result<()> {
/// let sink = PostgresSink::new("postgres://writer:secret@db.example/shop", "mart.page_views")?
///     .with_keys(["window_start", "page"]);
/// assert_eq!(
///     format!("{sink:?}"),
///     "PostgresSink(db.example:5432/shop \"mart\".\"page_views\")"
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresSink {
    server: Server,
    table: TableName,
    keys: Vec<String>,
    staging_rows: usize,
    retry: Duration,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// A connection that no transaction is open on.
    idle: Mutex<Option<Client>>,
    /// What was opened, by the query's id.
    targets: Mutex<HashMap<String, Arc<Target>>>,
}

impl PostgresSink {
    /// The table `schema.name` in the database of a url,
    /// `postgres://user:password@host:5432/database?sslmode=..`.
    ///
    /// # Errors
    /// A url or a name that can't be read. The url isn't repeated: it may hold a password.
    pub fn new(url: &str, table: &str) -> Result<Self> {
        Ok(Self {
            server: Server::new(url)?,
            table: TableName::parse(table)?,
            keys: Vec::new(),
            staging_rows: STAGING_ROWS,
            retry: RETRY,
            shared: Arc::default(),
        })
    }

    /// The columns that tell rows apart, in place of the group columns. In append mode, rows then
    /// take the place of those with equal keys.
    #[must_use]
    pub fn with_keys<N: Into<String>>(self, keys: impl IntoIterator<Item = N>) -> Self {
        Self { keys: keys.into_iter().map(Into::into).collect(), ..self }
    }

    /// Has batches of more rows by key go through a temporary table.
    #[must_use]
    pub fn staging_rows(self, rows: usize) -> Self {
        Self { staging_rows: rows, ..self }
    }

    /// How long a batch is tried again while the server is away, and how long it waits for a lock
    /// each time.
    #[must_use]
    pub fn retry_for(self, time: Duration) -> Self {
        Self { retry: time, ..self }
    }

    /// The idle connection, or a new one.
    async fn client(&self) -> Result<Client, Trouble> {
        let idle = locked(&self.shared.idle).take();
        match idle.filter(|client| !client.is_closed()) {
            Some(client) => Ok(client),
            None => self.server.connect(self.retry).await,
        }
    }

    /// Keeps a connection that is fit for another transaction.
    fn keep(&self, client: Client) {
        *locked(&self.shared.idle) = Some(client);
    }

    fn target(&self, query: &SinkQuery) -> Result<Arc<Target>> {
        let found = locked(&self.shared.targets).get(&query.id).cloned();
        found.ok_or_else(|| Error::internal(format!("{} wasn't opened", query.name)))
    }

    /// What the ledger says of a batch that began before a restart, before its query runs.
    async fn known(&self, batch: &SinkBatch, patience: &mut Patience) -> Result<Decision> {
        loop {
            match self.look(batch).await {
                Ok(decision) => return Ok(decision),
                Err(trouble) => patience.wait(trouble).await?,
            }
        }
    }

    async fn look(&self, batch: &SinkBatch) -> Result<Decision, Trouble> {
        let mut client = self.client().await?;
        let decision = Ledger::of(&self.table).look(&mut client, batch).await?;
        self.keep(client);
        Ok(decision)
    }

    /// One transaction; `committing` is set as long as nobody knows whether it has committed. After an
    /// error the connection is dropped, and with it whatever was open on it.
    async fn attempt(
        &self,
        target: &Target,
        batch: &SinkBatch,
        rows: &Rows,
        committing: &mut bool,
    ) -> Result<Written, Trouble> {
        let mut client = self.client().await?;
        let ledger = Ledger::of(&self.table);
        let transaction =
            client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start();
        let transaction = transaction.await?;
        // What an INSERT takes: the table isn't made anew between the ledger and the rows.
        let lock = format!("LOCK TABLE {} IN ROW EXCLUSIVE MODE", self.table);
        let locked = transaction.batch_execute(&lock).await;
        locked.map_err(|error| Trouble::of_lock(error, &self.table))?;
        let written = match ledger.decide(&transaction, batch).await? {
            Decision::Already if *committing => Written::Rows(rows.count()),
            Decision::Already => Written::Already,
            Decision::Apply => {
                // Whatever was asked to commit before has ended: the ledger's row was free.
                *committing = false;
                write::write(&transaction, target, batch, rows, self.staging_rows).await?;
                ledger.record(&transaction, batch).await?;
                *committing = true;
                if let Err(error) = transaction.commit().await {
                    let trouble = Trouble::from(error);
                    *committing = matches!(trouble, Trouble::Away(_));
                    return Err(trouble);
                }
                self.keep(client);
                return Ok(Written::Rows(rows.count()));
            }
        };
        transaction.rollback().await?;
        self.keep(client);
        Ok(written)
    }

    async fn deliver(&self, batch: &SinkBatch) -> Result<Written> {
        let target = self.target(&batch.query)?;
        let mut patience = Patience::new(self.retry);
        if batch.replayed && self.known(batch, &mut patience).await? == Decision::Already {
            return Ok(Written::Already);
        }
        let rows = Rows::of(batch).await?;
        let mut committing = false;
        loop {
            match self.attempt(&target, batch, &rows, &mut committing).await {
                Ok(written) => return Ok(written),
                Err(trouble) => {
                    let waited = patience.wait(trouble).await;
                    waited.map_err(|error| if committing { unknown(error) } else { error })?;
                }
            }
        }
    }

    async fn prepare(&self, query: &SinkQuery) -> Result<Target, Trouble> {
        let mut client = self.client().await?;
        let target = target::open(&mut client, &self.table, query, &self.keys).await?;
        self.keep(client);
        Ok(target)
    }

    /// An error with the place it is about.
    fn named(&self, error: &Error) -> Error {
        Error::new(error.kind(), format!("POSTGRES {}: {error}", self.place()))
    }

    /// An error with the batch that it is about as well.
    fn of_batch(&self, batch: &SinkBatch, error: &Error) -> Error {
        let error = self.named(error);
        let text = format!("batch {} of {}: {error}", batch.batch, batch.query.name);
        Error::new(error.kind(), text)
    }

    /// Server, database and table: all that may be shown of where it writes.
    fn place(&self) -> String {
        format!("{} {}", self.server, self.table)
    }
}

#[async_trait]
impl Sink for PostgresSink {
    fn describe(&self) -> String {
        format!("POSTGRES {}", self.place())
    }

    /// Schema and table: wherever the database is, the ledger beside the table says whose it is.
    fn identity(&self) -> String {
        format!("POSTGRES {}", self.table)
    }

    fn keys(&self) -> &[String] {
        &self.keys
    }

    async fn open(&self, query: &SinkQuery) -> Result<()> {
        let target = self.prepare(query).await.map_err(|trouble| self.named(&trouble.error()))?;
        locked(&self.shared.targets).insert(query.id.clone(), Arc::new(target));
        Ok(())
    }

    async fn write(&self, batch: SinkBatch) -> Result<Written> {
        self.deliver(&batch).await.map_err(|error| self.of_batch(&batch, &error))
    }

    async fn lacks(&self, batch: &SinkBatch) -> Result<bool> {
        let known = self.known(batch, &mut Patience::new(self.retry)).await;
        Ok(known.map_err(|error| self.of_batch(batch, &error))? == Decision::Apply)
    }
}

/// Without user and password.
impl fmt::Debug for PostgresSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresSink({})", self.place())
    }
}

/// The error of a batch that was asked to commit and isn't heard of since: it stays as it was
/// planned.
fn unknown(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Refused => error,
        _ => Error::new(
            ErrorKind::Unavailable,
            format!(
                "{error}; the answer to its COMMIT was lost, so that it may be in. The batch runs \
                 again when the query is started again"
            ),
        ),
    }
}

/// Each change is one assignment: whole after any panic.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
