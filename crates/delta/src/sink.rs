//! A Delta table as a sink.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use deltalake::DeltaTable;
use deltalake::kernel::EagerSnapshot;
use deltalake::kernel::transaction::PROTOCOL;
use partwise_stream::sink::{Sink, SinkBatch, SinkQuery, Written, check_parts};
use partwise_stream::{Error, ErrorKind, OutputMode, Result};

use crate::claims::Claims;
use crate::error::from_delta;
use crate::make::make;
use crate::place::Place;
use crate::{merge, write};

/// Looks at a table that others make at the same time.
const LOOKS: usize = 10;

/// Times a batch is written again when another writer came between.
const CONFLICT_RETRIES: usize = 50;

/// A Delta table as a sink; it is made if it is missing.
#[derive(Clone, Debug)]
pub struct DeltaSink {
    place: Place,
    partitioned_by: Vec<String>,
    keys: Vec<String>,
    /// The ids of the tables that were opened, by the query's.
    opened: Arc<Mutex<BTreeMap<String, String>>>,
}

impl DeltaSink {
    /// The table at a path or an address such as `s3://bucket/prefix`. Settings are those of an
    /// object store, as in `CREATE EXTERNAL TABLE .. OPTIONS`; they go before the environment.
    ///
    /// # Errors
    /// An address of another kind, or with keys in it; settings that don't fit.
    pub fn new(location: &str, settings: &BTreeMap<String, String>) -> Result<Self> {
        let place = Place::new(location, settings)?;
        let (partitioned_by, keys) = (Vec::new(), Vec::new());
        Ok(Self { place, partitioned_by, keys, opened: Arc::default() })
    }

    /// The partition columns of a table that is made; of one that is there, they must be these.
    #[must_use]
    pub fn partition_by<N: Into<String>>(self, columns: impl IntoIterator<Item = N>) -> Self {
        Self { partitioned_by: columns.into_iter().map(Into::into).collect(), ..self }
    }

    /// The columns that tell the rows of an update apart, in place of the group columns. A query
    /// whose rows are added has no use for them, and is refused.
    #[must_use]
    pub fn with_keys<N: Into<String>>(self, keys: impl IntoIterator<Item = N>) -> Self {
        Self { keys: keys.into_iter().map(Into::into).collect(), ..self }
    }

    /// The table as it is now; none where there is none. Loaded anew each time: what is remembered of
    /// a table that was replaced would be taken for the new one's.
    async fn load(&self) -> Result<Option<DeltaTable>> {
        let Some(log) = self.place.log()? else { return Ok(None) };
        let mut table = DeltaTable::new(log);
        let mut looks = 0;
        loop {
            let Err(error) = table.load().await else { return Ok(Some(table)) };
            match table.verify_deltatable_existence().await {
                Ok(false) => return Ok(None),
                // It was made between the two looks.
                Ok(true) if looks < LOOKS => looks += 1,
                _ => return Err(from_delta(&self.place, error)),
            }
        }
    }

    /// Writes a batch on the snapshot of now, if it isn't in it.
    async fn attempt(&self, batch: &SinkBatch) -> Result<Written> {
        let place = &self.place;
        let Some(table) = self.load().await? else { return Err(self.gone()) };
        self.check_same(write::snapshot(place, &table)?, &batch.query)?;
        let claims = Claims::read(place, &table, &batch.query).await?;
        claims.check(place, &batch.query)?;
        if claims.has(place, &table, batch).await? {
            return Ok(Written::Already);
        }
        let rows = match batch.query.mode {
            OutputMode::Append => write::append(place, &table, batch, claims).await?,
            OutputMode::Complete => write::replace(place, &table, batch, claims).await?,
            OutputMode::Update => merge::update(place, &table, batch, claims).await?,
        };
        Ok(Written::Rows(rows))
    }

    /// What became of a batch whose write has failed: the commit may be in all the same, where an
    /// answer was lost or what comes after the commit has failed.
    ///
    /// # Errors
    /// The error, where the table is seen to be without the batch; `Unavailable` where it can't be
    /// seen, so that the batch stays as it was planned.
    async fn after(&self, batch: &SinkBatch, error: Error) -> Result<Written> {
        if error.kind() == ErrorKind::Refused {
            return Err(error);
        }
        match self.has(batch).await {
            Ok(true) => Ok(Written::Already),
            Ok(false) => Err(error),
            Err(refusal) if refusal.kind() == ErrorKind::Refused => Err(refusal),
            Err(unseen) => Err(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "{error}; and whether {} has batch {} all the same can't be seen ({unseen}). The \
                     batch runs again when the query is started again",
                    self.place, batch.batch
                ),
            )
            .with_source(error)),
        }
    }

    /// Whether the table has a batch.
    async fn has(&self, batch: &SinkBatch) -> Result<bool> {
        let Some(table) = self.load().await? else { return Ok(false) };
        let claims = Claims::read(&self.place, &table, &batch.query).await?;
        claims.has(&self.place, &table, batch).await
    }

    fn gone(&self) -> Error {
        Error::refused(format!(
            "{} is gone or was made anew while the query writes to it: start the query anew with a \
             new CHECKPOINT, and it writes all rows again",
            self.place
        ))
    }

    /// Checks that the table is the one that was opened.
    fn check_same(&self, snapshot: &EagerSnapshot, query: &SinkQuery) -> Result<()> {
        match self.opened().get(&query.id) {
            Some(id) if id != snapshot.metadata().id() => Err(self.gone()),
            _ => Ok(()),
        }
    }

    /// Each change is one insert: whole after any panic.
    fn opened(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_table(&self, snapshot: &EagerSnapshot, query: &SinkQuery) -> Result<()> {
        let place = &self.place;
        PROTOCOL.can_write_to(snapshot).map_err(|e| from_delta(place, e.into()))?;
        if query.mode != OutputMode::Append {
            PROTOCOL.check_append_only(snapshot).map_err(|e| from_delta(place, e.into()))?;
        }
        let parts = snapshot.metadata().partition_columns();
        check_parts(parts, &self.partitioned_by, place)?;
        write::fit(place, snapshot, &query.schema).map(drop)
    }
}

#[async_trait]
impl Sink for DeltaSink {
    fn describe(&self) -> String {
        format!("DELTA {}", self.place)
    }

    fn keys(&self) -> &[String] {
        &self.keys
    }

    async fn open(&self, query: &SinkQuery) -> Result<()> {
        if query.mode == OutputMode::Update && query.keys.is_empty() {
            return Err(Error::invalid(
                "OUTPUT MODE update replaces rows by their keys, and the query has no group columns: \
                 use complete, whose one row is the whole result",
            ));
        }
        if query.mode == OutputMode::Append && !self.keys.is_empty() {
            return Err(Error::invalid(format!(
                "KEYS ({0}): the rows of OUTPUT MODE append, and of a query without an aggregate in \
                 any mode, are added to a Delta table, and none takes the place of another. Leave KEYS \
                 out; or, for the latest row of each key, aggregate in OUTPUT MODE update: SELECT {0}, \
                 last_value(..) .. GROUP BY {0}",
                self.keys.join(", ")
            )));
        }
        let table = match self.load().await? {
            Some(table) => table,
            None => {
                Claims::default().check_delivered(&self.place, query)?;
                make(&self.place, query, &self.partitioned_by).await?
            }
        };
        let claims = Claims::read(&self.place, &table, query).await?;
        claims.check(&self.place, query)?;
        claims.check_delivered(&self.place, query)?;
        let snapshot = write::snapshot(&self.place, &table)?;
        self.check_table(snapshot, query)?;
        self.opened().insert(query.id.clone(), snapshot.metadata().id().to_owned());
        Ok(())
    }

    async fn write(&self, batch: SinkBatch) -> Result<Written> {
        let mut tries = 0;
        loop {
            match self.attempt(&batch).await {
                Ok(written) => return Ok(written),
                Err(error) if error.kind() == ErrorKind::Conflict && tries < CONFLICT_RETRIES => {
                    tries += 1;
                }
                Err(error) => return self.after(&batch, error).await,
            }
        }
    }

    async fn lacks(&self, batch: &SinkBatch) -> Result<bool> {
        Ok(!self.has(batch).await?)
    }
}
