//! A table: its description, its snapshots, its transactions.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::backend::{Backend, Life, Look, Slot};
use crate::commit::{Restore, Restored, restore};
use crate::history::{HistoryEntry, history, records};
use crate::local::{DiskReader, LocalTable, blocking};
use crate::location::Location;
use crate::partition::PartitionColumn;
use crate::record::{Record, Totals};
use crate::recover::{check_unborn, schema_at};
use crate::schema::TableSchema;
use crate::snapshot::{
    AllPartitions, At, DataFile, PartitionSelector, Past, Snapshot, discover, missing_record, take,
    take_at,
};
use crate::store::{StoreFile, StoreTable};
use crate::transaction::{RowCounter, Transaction};
use crate::vacuum::{Vacuum, Vacuumed};
use crate::{Error, ErrorKind, Result};

/// How long a removal waits for a writer.
const PURGE_TIMEOUT: Duration = Duration::from_secs(60);

/// A table at a location. Cheap to clone; making one does no I/O.
#[derive(Clone, Debug)]
pub struct Table {
    location: Location,
}

impl Table {
    /// The table at `location`, whether there is one or not.
    pub fn new(location: Location) -> Self {
        Self { location }
    }

    /// Where it is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    pub(crate) async fn backend(&self) -> Result<Arc<dyn Backend>> {
        match &self.location {
            Location::Local { disk, dir } => {
                let (disk, dir) = (Arc::clone(disk), dir.clone());
                let table = blocking(move || LocalTable::resolve(disk, &dir)).await?;
                Ok(Arc::new(table))
            }
            Location::Store { store, prefix } => {
                Ok(Arc::new(StoreTable::resolve(Arc::clone(store), prefix)?))
            }
        }
    }

    /// Whether there is a table with a log of ours: a look that lists nothing.
    ///
    /// # Errors
    /// A log that can't be read.
    pub async fn is_logged(&self) -> Result<bool> {
        let look = self.backend().await?.look().await?;
        Ok(matches!(look.life(), Life::Ours(..) | Life::Unborn(_)))
    }

    /// One cheap look: is there anything, ours or foreign.
    pub async fn describe(&self) -> Result<Description> {
        let backend = self.backend().await?;
        let look = backend.look().await?;
        match describe(backend.as_ref(), &look).await {
            // The table may have moved on by more than one version since the look.
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                let again = backend.look().await?;
                if again == look { Err(error) } else { describe(backend.as_ref(), &again).await }
            }
            described => described,
        }
    }

    /// The schema pinned in the log at a version; none without a log.
    ///
    /// # Errors
    /// `Conflict` where the log doesn't hold that version any more: look again.
    pub async fn schema_of(&self, version: u64) -> Result<Option<TableSchema>> {
        let backend = self.backend().await?;
        let Life::Ours(_, published) = backend.look().await?.life() else { return Ok(None) };
        let record = backend.record(version).await?.and_then(Slot::into_record);
        let Some(record) = record else { return Err(self.moved_on(version)) };
        let outcome = if version == published.version {
            published.outcome
        } else {
            let next = backend.record(version + 1).await?.and_then(Slot::into_record);
            let Some(next) = next else { return Err(self.moved_on(version)) };
            next.previous.clone().unwrap_or_default()
        };
        let schema = schema_at(backend.as_ref(), &record, &outcome).await?;
        schema.map(|(_, schema)| TableSchema::try_from(&schema)).transpose()
    }

    fn moved_on(&self, version: u64) -> Error {
        Error::conflict(format!(
            "{} has moved on from version {version}: run the statement again",
            self.location.display()
        ))
    }

    /// The partition columns of a foreign tree: names from the directories, types over all values.
    pub async fn discover_partition_columns(&self) -> Result<Vec<PartitionColumn>> {
        discover(self.backend().await?.as_ref()).await
    }

    /// The files of the partitions that `selector` selects, at the newest published version.
    pub async fn snapshot(
        &self,
        columns: &[PartitionColumn],
        selector: &dyn PartitionSelector,
    ) -> Result<Snapshot> {
        take(self.backend().await?.as_ref(), columns, selector).await
    }

    /// The version at `at` and what the table was then.
    ///
    /// # Errors
    /// `Invalid` where the table has no such version, or its log doesn't reach back so far: the
    /// table's retention decides.
    pub async fn version_at(&self, at: At) -> Result<VersionAt> {
        let backend = self.backend().await?;
        let (_, past) = Past::read(backend.as_ref(), at).await?;
        let (_, schema) = past.schema(backend.as_ref()).await?;
        Ok(VersionAt {
            version: past.own.version,
            time_ms: past.own.time_ms,
            schema: TableSchema::try_from(&schema)?,
            properties: schema.properties,
        })
    }

    /// The files of the partitions that `selector` selects, at an earlier version; `columns` are
    /// the partition columns of that version ([`version_at`](Self::version_at)).
    ///
    /// # Errors
    /// `Invalid` as for [`version_at`](Self::version_at), and where another tool has been at a
    /// partition so that its content of then can't be told: that one is named.
    pub async fn snapshot_at(
        &self,
        at: At,
        columns: &[PartitionColumn],
        selector: &dyn PartitionSelector,
    ) -> Result<Snapshot> {
        Ok(take_at(self.backend().await?.as_ref(), at, columns, selector).await?.0)
    }

    /// Partitions, files and bytes of the whole table.
    pub async fn count(&self, columns: &[PartitionColumn]) -> Result<Totals> {
        Ok(self.snapshot(columns, &AllPartitions).await?.totals())
    }

    /// Opens a file of a snapshot: at its place, in retained, at its place again, its identity
    /// checked. An open local file stays readable whatever happens to its name.
    pub async fn open(&self, file: &DataFile) -> Result<OpenFile> {
        self.backend().await?.open(file).await
    }

    /// Brings content, schema and properties back to an earlier version, by one more commit: files
    /// that are gone come back under new names, partitions that are as they were aren't touched,
    /// and tokens of later writes are taken back, so that those apply when they run again. `rows`
    /// counts the rows of files that no record tells about.
    ///
    /// # Errors
    /// As of [`snapshot_at`](Self::snapshot_at): past the retention, or where another tool has been.
    pub async fn restore(&self, to: &Restore, rows: &dyn RowCounter) -> Result<Restored> {
        restore(self, self.backend().await?, to, rows).await
    }

    /// Starts a transaction. `schema` and `properties` are those of the table to be made, or of the
    /// table there is.
    pub async fn begin(
        &self,
        schema: &TableSchema,
        properties: BTreeMap<String, String>,
    ) -> Result<Transaction> {
        let backend = self.backend().await?;
        Transaction::begin(self.clone(), backend, schema.clone(), properties).await
    }

    /// The log's records that count, up to the published version, newest first.
    pub async fn records(&self) -> Result<Vec<Record>> {
        let records = records(self.backend().await?.as_ref()).await?;
        Ok(records.into_iter().map(|(record, _)| record.as_ref().clone()).collect())
    }

    /// What each version that the log holds and that counts did, newest first.
    pub async fn history(&self) -> Result<Vec<HistoryEntry>> {
        history(self.backend().await?.as_ref()).await
    }

    /// Removes what is older than the retention and what crashes left, or says what it would
    /// remove. Commits do the same by the way, but for uploads on a store that are left open.
    ///
    /// # Errors
    /// `Busy` where other writers keep the table for longer than the vacuum waits; `Unavailable`
    /// where the place can't be read. What can't be removed is a warning.
    pub async fn vacuum(&self, vacuum: &Vacuum) -> Result<Vacuumed> {
        vacuum.run(self.backend().await?.as_ref()).await
    }

    /// Removes the table: its directory with everything in it, and its log folder.
    pub async fn purge(&self) -> Result<()> {
        let backend = self.backend().await?;
        let look = backend.look().await?;
        if !look.exists && look.meta.is_none() {
            return Ok(());
        }
        let _hold = backend.hold(PURGE_TIMEOUT, "DROP TABLE ... PURGE").await?;
        backend.purge().await
    }
}

async fn describe(backend: &dyn Backend, look: &Look) -> Result<Description> {
    let mut description =
        Description { exists: look.exists, success: look.success, ..Description::default() };
    if let Life::Ours(_, published) = look.life() {
        description.version = Some(published.version);
        let record = backend.record(published.version).await?.and_then(Slot::into_record);
        let Some(record) = record else { return Err(missing_record(backend, look)) };
        let schema = schema_at(backend, &record, &published.outcome).await?;
        if let Some((_, schema)) = schema {
            description.schema = Some(TableSchema::try_from(&schema)?);
            description.properties = schema.properties;
        }
    }
    description.has_data = match look.life() {
        Life::Ours(..) => true,
        // A first commit that isn't published may have brought files in: they don't count yet.
        Life::Unborn(_) => {
            check_unborn(backend).await?;
            !take(backend, &[], &AllPartitions).await?.partitions.is_empty()
        }
        Life::Unlogged | Life::Other(_) => backend.has_data().await?,
    };
    Ok(description)
}

/// What is at a location.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// The published version; none without a log of ours.
    pub version: Option<u64>,
    /// The schema pinned in the log.
    pub schema: Option<TableSchema>,
    /// The properties recorded with the schema.
    pub properties: BTreeMap<String, String>,
    /// The directory, or an object below the prefix, is there.
    pub exists: bool,
    /// A visible Parquet file is there at some depth, or a record of ours.
    pub has_data: bool,
    /// `_SUCCESS` is there.
    pub success: bool,
}

/// What a table was at a version.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionAt {
    /// The version.
    pub version: u64,
    /// When it was decided, milliseconds since 1970, UTC.
    pub time_ms: i64,
    /// Its schema.
    pub schema: TableSchema,
    /// Its properties.
    pub properties: BTreeMap<String, String>,
}

/// A data file open for reading.
pub struct OpenFile {
    size: u64,
    inner: OpenInner,
}

enum OpenInner {
    Local { file: Arc<dyn DiskReader>, path: PathBuf },
    Store(Box<StoreFile>),
}

impl OpenFile {
    pub(crate) fn local(file: Arc<dyn DiskReader>, size: u64, path: PathBuf) -> Self {
        Self { size, inner: OpenInner::Local { file, path } }
    }

    pub(crate) fn store(file: StoreFile, size: u64) -> Self {
        Self { size, inner: OpenInner::Store(Box::new(file)) }
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes of a range.
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        match &self.inner {
            OpenInner::Local { file, path } => {
                let (file, path) = (Arc::clone(file), path.clone());
                blocking(move || read_local(file.as_ref(), &path, range)).await
            }
            OpenInner::Store(file) => file.read(range).await,
        }
    }
}

fn read_local(file: &dyn DiskReader, path: &std::path::Path, range: Range<u64>) -> Result<Bytes> {
    let length = usize::try_from(range.end.saturating_sub(range.start))
        .map_err(|error| Error::invalid("a range longer than memory").with_source(error))?;
    let mut buffer = vec![0; length];
    file.read_exact_at(&mut buffer, range.start).map_err(|error| {
        if error.kind() == std::io::ErrorKind::UnexpectedEof {
            let (start, end) = (range.start, range.end);
            Error::corrupt(format!("{} ends within bytes {start}..{end}", path.display()))
        } else {
            Error::io("read", path, error)
        }
    })?;
    Ok(buffer.into())
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inner {
            OpenInner::Local { path, .. } => write!(f, "OpenFile({})", path.display()),
            OpenInner::Store(file) => write!(f, "OpenFile({})", file.key()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::transaction::{RowCounter, StagedWriter, StagingHandle};
    use crate::{FileStats, PartitionKey};

    fn sent<T: Send>(_: T) {}

    /// Compiles: every future can go to another thread, as query engines want.
    #[allow(dead_code, clippy::too_many_arguments)]
    fn futures_are_send<'a>(
        table: &'a Table,
        columns: &'a [PartitionColumn],
        selector: &'a dyn PartitionSelector,
        schema: &'a TableSchema,
        transactions: (Transaction, Transaction),
        change: Change,
        rows: &'a dyn RowCounter,
        file: (&'a DataFile, &'a OpenFile),
        staging: (&'a StagingHandle, &'a PartitionKey, StagedWriter),
    ) {
        sent(table.describe());
        sent(table.discover_partition_columns());
        sent(table.snapshot(columns, selector));
        sent(table.version_at(At::Version(1)));
        sent(table.snapshot_at(At::Version(1), columns, selector));
        sent(table.count(columns));
        sent(table.open(file.0));
        sent(file.1.read(0..1));
        sent(table.begin(schema, BTreeMap::new()));
        sent(table.records());
        sent(table.history());
        let to = Restore::to(1);
        sent(table.restore(&to, rows));
        sent(table.purge());
        let vacuum = Vacuum::default();
        sent(table.vacuum(&vacuum));
        sent(transactions.0.commit(change, rows));
        sent(transactions.1.abort());
        sent(staging.0.create(staging.1, "parquet"));
        sent(staging.2.finish(0, FileStats::default()));
    }
}
