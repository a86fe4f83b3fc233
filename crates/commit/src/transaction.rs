//! A transaction: staged files, then one commit.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, StagedBytes, StagedPlace, StagedSink, Staging, SuccessMarker};
use crate::change::Change;
use crate::commit::{
    Commit, Preview, Restore, Restored, Restoring, refuse_lost_staging, suffix_of,
};
use crate::keep::retention;
use crate::partition::{PartitionKey, partition_path};
use crate::record::{
    AddedFile, FileStats, Identity, RecordedOperation, RemovedFile, TransactionId, Upload,
};
use crate::schema::{RecordedSchema, TableSchema};
use crate::snapshot::DataFile;
use crate::table::Table;
use crate::{Result, names};

/// How much of a file that is copied is in memory at once.
const COPY_BYTES: u64 = 8 << 20;

/// Files being written for one commit. Dropped without a commit, it sweeps them as well as it can.
pub struct Transaction {
    table: Table,
    backend: Arc<dyn Backend>,
    shared: Arc<Shared>,
    schema: TableSchema,
    properties: BTreeMap<String, String>,
    staged: Arc<Staged>,
}

/// What was staged, shared by a transaction and the task that logs its record. Whoever lets go of it
/// last removes it, as well as it can: unless the record may be in the log, as whoever finishes that
/// needs it.
pub(crate) struct Staged {
    staging: Arc<dyn Staging>,
    owned: AtomicBool,
}

impl Staged {
    fn new(staging: Arc<dyn Staging>) -> Self {
        Self { staging, owned: AtomicBool::new(true) }
    }

    pub(crate) fn staging(&self) -> &dyn Staging {
        self.staging.as_ref()
    }

    /// From here on it is the log's.
    pub(crate) fn lend(&self) {
        self.owned.store(false, Ordering::SeqCst);
    }

    /// The record certainly isn't in the log.
    pub(crate) fn take_back(&self) {
        self.owned.store(true, Ordering::SeqCst);
    }

    /// Whether it is to be removed, which the caller does.
    fn let_go(&self) -> bool {
        self.owned.swap(false, Ordering::SeqCst)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if self.let_go() {
            self.staging.remove_now();
        }
    }
}

/// What a transaction's writers share.
struct Shared {
    txn: TransactionId,
    schema: TableSchema,
    staging: Arc<dyn Staging>,
    files: AtomicU64,
}

impl Transaction {
    pub(crate) async fn begin(
        table: Table,
        backend: Arc<dyn Backend>,
        schema: TableSchema,
        properties: BTreeMap<String, String>,
    ) -> Result<Self> {
        retention(None, &properties)?;
        SuccessMarker::of(&properties)?;
        let txn = TransactionId::random();
        let staging = backend.begin(&txn, schema.partition_columns()).await?;
        let files = AtomicU64::new(0);
        let staged = Arc::new(Staged::new(Arc::clone(&staging)));
        let shared = Arc::new(Shared { txn, schema: schema.clone(), staging, files });
        Ok(Self { table, backend, shared, schema, properties, staged })
    }

    /// The transaction's id.
    pub fn id(&self) -> &TransactionId {
        &self.shared.txn
    }

    /// What writer tasks write files with.
    pub fn staging(&self) -> StagingHandle {
        StagingHandle { shared: Arc::clone(&self.shared) }
    }

    /// Makes the staged files of `change` the table's next version, all or nothing. `rows` counts
    /// the rows of files that no record tells about.
    ///
    /// After an error of kind `Conflict` the statement can be planned and run again. An error says
    /// so where the record is logged all the same: then the next write finishes it. A future that is
    /// dropped before the record is being logged changes nothing; from then on the commit is carried
    /// through in the background.
    pub async fn commit(self, change: Change, rows: &dyn RowCounter) -> Result<Committed> {
        let result = self.commit_of(change, rows).run().await;
        self.leave().await;
        result
    }

    /// What [`commit`](Self::commit) of the same change would do by now, decided in the same way.
    /// Nothing is locked, finished or changed: it builds on the published version, and what was
    /// staged stays for a commit, or for [`abort`](Self::abort).
    ///
    /// What guard, scope, token or `IF NOT EXISTS` would stop is no error but told by the preview.
    pub async fn preview(&self, change: &Change, rows: &dyn RowCounter) -> Result<Preview> {
        self.commit_of(change.clone(), rows).preview().await
    }

    fn commit_of<'a>(&'a self, change: Change, rows: &'a dyn RowCounter) -> Commit<'a> {
        Commit {
            table: &self.table,
            backend: Arc::clone(&self.backend),
            staged: Arc::clone(&self.staged),
            txn: self.shared.txn.clone(),
            schema: self.schema.clone(),
            recorded: RecordedSchema::new(&self.schema, self.properties.clone()),
            change,
            rows,
        }
    }

    /// Brings the table back to an earlier version, whose schema this transaction has; none where
    /// another writer came first.
    pub(crate) async fn restore(
        self,
        restore: &Restore,
        left: Duration,
        recorded: RecordedSchema,
        rows: &dyn RowCounter,
    ) -> Result<Option<Restored>> {
        let restoring = Restoring {
            table: &self.table,
            backend: Arc::clone(&self.backend),
            staging: self.staging(),
            schema: &self.schema,
            recorded,
            restore,
            rows,
            staged: Arc::clone(&self.staged),
        };
        let result = restoring.run(left).await;
        self.leave().await;
        result
    }

    /// Removes what was staged, if it is the transaction's.
    async fn leave(&self) {
        if self.staged.let_go() {
            self.shared.staging.remove().await;
            self.backend.tidy().await;
        }
    }

    /// Gives up: removes what was staged, as well as it can.
    pub async fn abort(self) {
        self.staged.let_go();
        self.shared.staging.remove().await;
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transaction({}, {:?})", self.shared.txn, self.table.location())
    }
}

/// Writes staged files. Cheap to clone, for tasks of any thread.
#[derive(Clone)]
pub struct StagingHandle {
    shared: Arc<Shared>,
}

impl StagingHandle {
    /// Starts a file of the partition `key`, named by the transaction, ending in `suffix`
    /// (`snappy.parquet`). No reader sees it before the commit.
    pub async fn create(&self, key: &PartitionKey, suffix: &str) -> Result<StagedWriter> {
        let shared = &self.shared;
        let directory = partition_path(shared.schema.partition_columns(), key)?;
        let n = shared.files.fetch_add(1, Ordering::Relaxed);
        let name = names::data_file(&shared.txn, n, suffix)?;
        let place = StagedPlace { key: key.clone(), directory, settled: false, name: name.clone() };
        let sink = shared.staging.create(place).await?;
        Ok(StagedWriter { key: key.clone(), name, sink })
    }

    pub(crate) fn transaction(&self) -> &TransactionId {
        &self.shared.txn
    }

    pub(crate) async fn refuse_lost(&self, backend: &dyn Backend) -> Result<()> {
        refuse_lost_staging(self.shared.staging.as_ref(), backend).await
    }

    /// Stages a file of an earlier version under a new name, for the partition `key` in this
    /// directory: by a second name where the place has such, else by a copy. Its rows are known.
    pub(crate) async fn bring_back(
        &self,
        table: &Table,
        file: &DataFile,
        key: &PartitionKey,
        directory: &str,
    ) -> Result<StagedFile> {
        let staging = &self.shared.staging;
        let n = self.shared.files.fetch_add(1, Ordering::Relaxed);
        let name = names::data_file(&self.shared.txn, n, suffix_of(&file.path))?;
        let place = || StagedPlace {
            key: key.clone(),
            directory: directory.to_string(),
            settled: true,
            name: name.clone(),
        };
        let rows = file.rows.unwrap_or_default();
        let stats = file.stats.as_deref().cloned().unwrap_or_default();
        if let Some(identity) = staging.link(place(), file).await? {
            let (partition, directory) = (key.clone(), directory.to_string());
            return Ok(StagedFile {
                partition,
                directory,
                name,
                identity,
                rows,
                stats,
                upload: None,
            });
        }
        let open = table.open(file).await?;
        let sink = staging.create(place()).await?;
        let mut writer = StagedWriter { key: key.clone(), name, sink };
        let mut at = 0;
        while at < open.size() {
            let end = open.size().min(at + COPY_BYTES);
            writer.write(open.read(at..end).await?).await?;
            at = end;
        }
        writer.finish(rows, stats).await
    }
}

impl fmt::Debug for StagingHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StagingHandle({})", self.shared.txn)
    }
}

/// A staged file being written. Dropped without [`finish`](Self::finish) it is swept with its
/// transaction.
pub struct StagedWriter {
    key: PartitionKey,
    name: String,
    sink: Box<dyn StagedSink>,
}

impl StagedWriter {
    /// Appends bytes.
    pub async fn write(&mut self, data: Bytes) -> Result<()> {
        self.sink.write(data).await
    }

    /// Closes the file and makes it durable.
    pub async fn finish(mut self, rows: u64, stats: FileStats) -> Result<StagedFile> {
        let StagedBytes { directory, identity, upload } = self.sink.finish().await?;
        Ok(StagedFile {
            partition: self.key,
            directory,
            name: self.name,
            identity,
            rows,
            stats: stats.exact(),
            upload,
        })
    }

    /// Gives the file up.
    pub async fn discard(mut self) {
        self.sink.discard().await;
    }
}

impl fmt::Debug for StagedWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StagedWriter({})", self.name)
    }
}

/// A finished staged file: all that a commit needs to know about it, wherever it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StagedFile {
    /// The partition it belongs to.
    pub partition: PartitionKey,
    /// The directory it was staged for, relative to the table.
    pub directory: String,
    /// Its name in that directory.
    pub name: String,
    /// Size, and on a local disk the time of its last change.
    pub identity: Identity,
    /// Its rows.
    pub rows: u64,
    /// Its column statistics.
    pub stats: FileStats,
    /// Object store: the open upload that becomes the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<Upload>,
}

impl StagedFile {
    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.identity.size
    }

    /// The same as a record holds it.
    pub(crate) fn into_added(self, origin: Option<RemovedFile>) -> AddedFile {
        AddedFile {
            name: self.name,
            identity: self.identity,
            rows: self.rows,
            stats: Arc::new(self.stats),
            upload: self.upload,
            origin,
        }
    }
}

/// Counts the rows of a data file that no record tells about, from its Parquet footer.
#[async_trait]
pub trait RowCounter: Send + Sync {
    /// The rows of `file`.
    async fn count(&self, table: &Table, file: &DataFile) -> Result<u64>;
}

/// What a commit did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// The version made, or the one there was if nothing changed; 0 for a table without a log.
    pub version: u64,
    /// What the version is recorded as; none if nothing changed.
    pub operation: Option<RecordedOperation>,
    /// The partitions that changed, sorted by key.
    pub partitions: Vec<PartitionChange>,
    /// Partitions that stayed as they were.
    pub untouched: usize,
    /// Files added.
    pub files_added: usize,
    /// Bytes added.
    pub bytes_added: u64,
    /// Rows added.
    pub rows_added: u64,
    /// Rows removed.
    pub rows_removed: u64,
    /// The write had been applied before, as `version`; nothing changed.
    pub replayed: bool,
    /// The partition existed, and the write was one for a partition that doesn't; nothing changed.
    pub existed: bool,
    /// What went wrong after the commit point, and what was passed over.
    pub warnings: Vec<String>,
}

/// What a commit did to one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionChange {
    /// Its typed values.
    pub key: PartitionKey,
    /// Its directory, relative to the table.
    pub path: String,
    /// Rows before.
    pub rows_before: u64,
    /// Rows after.
    pub rows_after: u64,
    /// Files added.
    pub files_added: usize,
    /// Files removed.
    pub files_removed: usize,
}
