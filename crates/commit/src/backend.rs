//! What the protocol needs of a place that holds tables: a local disk or an object store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::partition::{PartitionColumn, PartitionKey};
use crate::record::{
    AddedFile, FORMAT, Identity, Outcome, Record, RecordedPartition, TransactionId, Upload,
};
use crate::snapshot::{DataFile, TypedNames};
use crate::table::OpenFile;
use crate::vacuum::Waste;
use crate::{Error, Result, names};

/// One table's place. Paths are relative to the table, `/` between names, empty for the table
/// itself. Writing methods other than staging are called by the one who [holds](Self::hold) it.
#[async_trait]
pub(crate) trait Backend: Send + Sync {
    /// The table as named in messages.
    fn shown(&self) -> String;

    /// What writing has found out about the place that its user should know.
    fn found_out(&self) -> Option<String> {
        None
    }
    /// What ties directory and log together, and the published version.
    async fn look(&self) -> Result<Look>;
    /// The record of a version, if there is one.
    async fn record(&self, version: u64) -> Result<Option<Slot>>;
    /// The versions that have a record, ascending.
    async fn record_versions(&self) -> Result<Vec<u64>>;
    /// The visible names of each directory, one level, without looking at any of them.
    async fn list_names(&self, dirs: Vec<String>) -> Result<Vec<Names>>;
    /// The same, those that belong to a partition column with their values.
    async fn list_level(
        &self,
        dirs: Vec<String>,
        column: &PartitionColumn,
    ) -> Result<Vec<Arc<TypedNames>>> {
        let found = self.list_names(dirs).await?;
        found.into_iter().map(|names| Ok(Arc::new(TypedNames::new(column, names)?))).collect()
    }
    /// Whether a directory can be gone to by the name that records give all directories, without
    /// looking which there are: where looking is dear, and nothing tells that it isn't needed.
    fn trusts_records(&self) -> bool;
    /// The data files of each directory and below.
    async fn list_files(&self, dirs: Vec<String>) -> Result<Vec<Files>>;
    /// Whether a visible data file is there at some depth.
    async fn has_data(&self) -> Result<bool>;
    /// Opens a file of a snapshot.
    async fn open(&self, file: &DataFile) -> Result<OpenFile>;

    /// Starts a transaction's staging.
    async fn begin(
        &self,
        txn: &TransactionId,
        columns: &[PartitionColumn],
    ) -> Result<Arc<dyn Staging>>;
    /// Waits for other writers; the result keeps them out where the place has locks.
    async fn hold(&self, timeout: Duration, statement: &str) -> Result<Hold>;
    /// Removes staging of dead writers; what it couldn't remove, as warnings.
    async fn sweep(&self, own: &TransactionId) -> Vec<String>;
    /// Puts the log of an earlier life of the directory out of the way.
    async fn set_aside(&self, table: &str) -> Result<()>;
    /// Writes `table.json` of a log without records; what is there afterwards.
    async fn create_meta(&self, meta: &Meta) -> Result<Meta>;
    /// Creates a version's record: the commit point.
    async fn log(&self, record: &Record) -> Result<Logged>;
    /// Takes the success markers away and brings the files of a record in. The outcome is a proposal
    /// until it is published.
    async fn complete(&self, record: &Record, marker: SuccessMarker) -> Result<Outcome>;
    /// Makes a version the one that readers see, if it is above the one they see; the settled
    /// outcome of that version.
    async fn publish(&self, version: u64, outcome: Outcome) -> Result<Outcome>;
    /// Takes away what a published record removed, or what its outcome leaves over; repeatable.
    async fn clean(&self, record: &Record, outcome: &Outcome) -> Result<()>;
    /// Writes the success markers of a record.
    async fn mark_success(&self, record: &Record, marker: SuccessMarker) -> Result<()>;
    /// Removes retained files of `record`.
    async fn drop_retained(&self, record: &Record) -> Result<()>;
    /// The versions that have retained files.
    async fn retained_versions(&self) -> Result<Vec<u64>>;
    /// Removes a version's record, or what can be removed of it.
    async fn trim_record(&self, version: u64) -> Result<()>;
    /// The retained files of a version, by their paths relative to the table, and their bytes.
    async fn retained_files(&self, version: u64) -> Result<Vec<(String, u64)>>;
    /// What is staged by writers that are gone, but for the transaction `pending`, and what crashes
    /// left in or beside the log folder. On a store a writer is gone that has written nothing since
    /// `oldest`, milliseconds since 1970.
    async fn leftovers(&self, oldest: i64, pending: Option<&TransactionId>) -> Result<Vec<Waste>>;
    /// Removes one thing that a vacuum found.
    async fn remove_waste(&self, waste: &Waste) -> Result<()>;
    /// Removes traces of a write that changed nothing in a place without a log.
    async fn tidy(&self);
    /// Removes directory and log.
    async fn purge(&self) -> Result<()>;
}

/// Where a transaction's files are written.
#[async_trait]
pub(crate) trait Staging: Send + Sync {
    /// Starts a file.
    async fn create(&self, place: StagedPlace) -> Result<Box<dyn StagedSink>>;
    /// Stages a file that the place holds by a second name; none where it has no such, or doesn't
    /// find the file.
    async fn link(&self, place: StagedPlace, file: &DataFile) -> Result<Option<Identity>>;
    /// Whether what was staged is still there.
    async fn intact(&self) -> Result<bool>;
    /// Removes everything staged, as well as it can.
    async fn remove(&self);
    /// The same without waiting, for a drop.
    fn remove_now(&self);
}

/// What a staged file is for.
pub(crate) struct StagedPlace {
    pub(crate) key: PartitionKey,
    pub(crate) directory: String,
    /// Whether it goes to that directory however the partition is spelled elsewhere.
    pub(crate) settled: bool,
    pub(crate) name: String,
}

/// A staged file being written.
#[async_trait]
pub(crate) trait StagedSink: Send {
    /// Appends bytes.
    async fn write(&mut self, data: Bytes) -> Result<()>;
    /// Closes it and makes it durable.
    async fn finish(&mut self) -> Result<StagedBytes>;
    /// Gives it up.
    async fn discard(&mut self);
}

/// What became of a staged file: the directory it goes to, as far as that is settled.
pub(crate) struct StagedBytes {
    pub(crate) directory: String,
    pub(crate) identity: Identity,
    pub(crate) upload: Option<Upload>,
}

/// Keeps other writers out for as long as it lives.
pub(crate) type Hold = Box<dyn Send + Sync>;

/// Whose record a version holds.
pub(crate) enum Logged {
    /// Ours.
    Won,
    /// Another transaction's: decide again.
    Lost,
    /// Nobody can tell yet: the record may be there, or come to be there.
    Unknown(Error),
}

/// What ties a directory to a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// The directory is there.
    pub(crate) exists: bool,
    /// `_SUCCESS` is there.
    pub(crate) success: bool,
    /// `table.json` of the log beside it.
    pub(crate) meta: Option<Meta>,
    /// The marker of that log is in the directory.
    pub(crate) marked: bool,
    /// What is published in that log.
    pub(crate) published: Option<Published>,
}

/// Whether the log beside a directory is its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// There is no log.
    Unlogged,
    /// A log that nothing was published in: its first record may be there.
    Unborn(Meta),
    /// The directory's own log.
    Ours(Meta, Published),
    /// The directory was removed or rebuilt since: the log is that of another life.
    Other(Meta),
}

impl Look {
    pub(crate) fn life(&self) -> Life {
        match (&self.meta, &self.published) {
            (None, _) => Life::Unlogged,
            (Some(meta), None) => Life::Unborn(meta.clone()),
            (Some(meta), Some(published)) if self.marked => {
                Life::Ours(meta.clone(), published.clone())
            }
            (Some(meta), Some(_)) => Life::Other(meta.clone()),
        }
    }
}

/// The content of `table.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Meta {
    pub(crate) format: u32,
    pub(crate) table: String,
    #[serde(default)]
    pub(crate) properties: BTreeMap<String, String>,
}

impl Meta {
    /// A new table's.
    pub(crate) fn new(properties: BTreeMap<String, String>) -> Self {
        Self { format: FORMAT, table: uuid::Uuid::new_v4().to_string(), properties }
    }
}

/// The content of `published`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Published {
    pub(crate) format: u32,
    pub(crate) version: u64,
    pub(crate) outcome: Outcome,
}

impl Published {
    pub(crate) fn new(version: u64, outcome: Outcome) -> Self {
        Self { format: FORMAT, version, outcome }
    }
}

/// What a version's place in the log holds.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    /// A record.
    Record(Arc<Record>),
    /// What trimming leaves of one on a store.
    Stub {
        /// The transaction that wrote it.
        transaction: TransactionId,
    },
}

impl Slot {
    /// The record, none for a stub.
    pub(crate) fn into_record(self) -> Option<Arc<Record>> {
        match self {
            Self::Record(record) => Some(record),
            Self::Stub { .. } => None,
        }
    }
}

/// Visible names of one directory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) dirs: Vec<String>,
    pub(crate) files: Vec<String>,
    /// Names that can't be read: not UTF-8, links to nothing.
    pub(crate) odd: Vec<String>,
}

/// Data files of one directory and below.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    pub(crate) files: Vec<FoundFile>,
    /// Empty files.
    pub(crate) empty: Vec<String>,
    /// Visible files that are no data.
    pub(crate) strays: Vec<String>,
    /// Names that can't be read.
    pub(crate) odd: Vec<String>,
}

/// A data file of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// The path relative to the table.
    pub path: String,
    /// Which file of that name it is.
    pub identity: Identity,
    /// When it was changed last, milliseconds since 1970, UTC.
    pub modified_ms: Option<i64>,
}

/// Where success markers are written: the table's property `success_marker`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SuccessMarker {
    /// One in the table's directory.
    #[default]
    Table,
    /// Also one in each partition that received files.
    Partition,
    /// None.
    None,
}

impl SuccessMarker {
    /// The property `success_marker` of a table.
    pub(crate) fn of(properties: &BTreeMap<String, String>) -> Result<Self> {
        match properties.get("success_marker").map(String::as_str) {
            None | Some("table") => Ok(Self::Table),
            Some("partition") => Ok(Self::Partition),
            Some("none") => Ok(Self::None),
            Some(other) => Err(Error::invalid(format!(
                "success_marker = '{other}' is not one of table, partition, none"
            ))),
        }
    }
}

impl SuccessMarker {
    /// The directories whose marker a record's commit takes away while it is published: the table's
    /// in any case, as one that an earlier setting left must not outlive what it says.
    pub(crate) fn directories(self, record: &Record) -> impl Iterator<Item = &str> {
        let received = record.partitions.iter().filter(|p| !p.added.is_empty());
        let received = received.map(|partition| partition.path.as_str());
        let below = received.filter(move |path| self == Self::Partition && !path.is_empty());
        std::iter::once("").chain(below)
    }
}

impl AddedFile {
    /// The path relative to the table of a file added to `dir`.
    pub(crate) fn path_in(&self, dir: &str) -> String {
        crate::names::join(dir, &self.name)
    }
}

/// JSON as it is written to a log folder.
pub(crate) fn to_json<T: Serialize>(what: &T) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec(what)
        .map_err(|error| Error::internal("a record as JSON").with_source(error))?;
    text.push(b'\n');
    Ok(text)
}

/// A file of a log folder that says what format it has.
pub(crate) trait Formatted: for<'a> Deserialize<'a> {
    fn format(&self) -> u32;

    /// A name in it that would lead out of the table's folders.
    fn name_outside(&self) -> Option<&str> {
        None
    }
}

impl Formatted for Meta {
    fn format(&self) -> u32 {
        self.format
    }

    fn name_outside(&self) -> Option<&str> {
        (!names::is_plain_id(&self.table)).then_some(&self.table)
    }
}

impl Formatted for Published {
    fn format(&self) -> u32 {
        self.format
    }
}

impl Formatted for Record {
    fn format(&self) -> u32 {
        self.format
    }

    fn name_outside(&self) -> Option<&str> {
        let ids = [self.table.as_str(), self.transaction.as_str()];
        let id = ids.into_iter().find(|id| !names::is_plain_id(id));
        let paths = self.partitions.iter().flat_map(RecordedPartition::paths);
        id.or_else(|| paths.into_iter().find(|path| !names::is_inside(path)))
    }
}

/// JSON of a log folder; `shown` is the file it is from. A higher format is refused.
pub(crate) fn from_json<T: Formatted>(text: &[u8], shown: &str) -> Result<T> {
    match serde_json::from_slice::<T>(text) {
        Ok(found) if found.format() <= FORMAT => match found.name_outside() {
            None => Ok(found),
            Some(name) => Err(leads_outside(name, shown)),
        },
        Ok(found) => Err(unknown_format(found.format(), shown)),
        Err(error) => match format_of(text) {
            Some(format) if format > FORMAT => Err(unknown_format(format, shown)),
            _ => Err(damaged(error, shown)),
        },
    }
}

fn leads_outside(name: &str, shown: &str) -> Error {
    Error::corrupt(format!(
        "{shown} names {name:?}, which leads out of the table's folders: no version of partwise wrote \
         that; restore the file"
    ))
}

/// The format alone, of a file that may be laid out in another way.
fn format_of(text: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    serde_json::from_slice::<Format>(text).ok().map(|found| found.format)
}

fn damaged(error: serde_json::Error, shown: &str) -> Error {
    Error::corrupt(format!(
        "{shown} can't be read: restore it, or move its log folder away (the data stays, history \
         and undo are lost)"
    ))
    .with_source(error)
}

fn unknown_format(format: u32, shown: &str) -> Error {
    Error::unsupported(format!(
        "{shown} has format {format}, this version of partwise ({}) knows formats up to {FORMAT}: \
         use the version that wrote it, or a later one",
        env!("CARGO_PKG_VERSION")
    ))
}
