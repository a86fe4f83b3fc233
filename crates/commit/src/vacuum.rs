//! VACUUM: what is past the retention, and what no record tells of.

use std::collections::HashSet;
use std::time::Duration;

use crate::backend::{Backend, Slot};
use crate::keep::{expired_records, oldest_kept, retention};
use crate::record::{Record, TransactionId};
use crate::recover::{Head, published, settle};
use crate::{Result, names};

/// What to remove.
#[derive(Clone, Debug)]
pub struct Vacuum {
    /// What is younger stays; none for the table's property `retention`, or 7 days. On a store also
    /// for how long a writer that writes nothing counts as alive: one that is ended by this finds
    /// out, loses nothing and has to run again.
    pub retain: Option<Duration>,
    /// Only say what would be removed.
    pub dry_run: bool,
    /// The statement in a few words, for whoever waits for this one.
    pub statement: String,
    /// How long to wait for another writer's commit.
    pub lock_timeout: Duration,
}

/// By the table's retention, for real, waiting 60 s.
impl Default for Vacuum {
    fn default() -> Self {
        Self {
            retain: None,
            dry_run: false,
            statement: "VACUUM".to_string(),
            lock_timeout: Duration::from_secs(60),
        }
    }
}

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vacuumed {
    /// Each thing.
    pub removed: Vec<Waste>,
    /// What could not be removed.
    pub warnings: Vec<String>,
}

impl Vacuumed {
    /// Bytes that are free again. The parts of open uploads aren't known.
    pub fn bytes(&self) -> u64 {
        self.removed.iter().map(|waste| waste.bytes).sum()
    }
}

/// One thing to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waste {
    /// Why.
    pub kind: WasteKind,
    /// Its path relative to the table's log folder: `retained/3/p=a/x.parquet`.
    pub path: String,
    /// Its size, as far as known.
    pub bytes: u64,
}

impl Waste {
    fn record(version: u64) -> Self {
        let path = names::join(names::LOG, &names::record(version));
        Self { kind: WasteKind::Record, path, bytes: 0 }
    }

    /// The version whose record it is, if it is one.
    pub fn record_version(&self) -> Option<u64> {
        let name = self.path.strip_prefix(names::LOG)?.strip_prefix('/')?;
        names::record_version(name).filter(|_| self.kind == WasteKind::Record)
    }
}

/// Why something is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WasteKind {
    /// A replaced file that is older than the retention.
    Retained,
    /// A file, or a dropped table, that a crash left and no record tells of.
    Orphan,
    /// The staging of a writer that is gone: files, or open uploads.
    Staging,
    /// A record that is older than the retention. On a store a few bytes of it stay.
    Record,
}

impl Vacuum {
    pub(crate) async fn run(&self, backend: &dyn Backend) -> Result<Vacuumed> {
        if self.dry_run {
            let head = published(backend).await?;
            let removed = self.find(backend, &head).await?;
            return Ok(Vacuumed { removed, ..Vacuumed::default() });
        }
        let hold = backend.hold(self.lock_timeout, &self.statement).await?;
        let head = settle(backend).await?;
        let mut vacuumed = Vacuumed::default();
        for waste in self.find(backend, &head).await? {
            let removed = match waste.record_version() {
                Some(version) => backend.trim_record(version).await,
                None => backend.remove_waste(&waste).await,
            };
            match removed {
                Ok(()) => vacuumed.removed.push(waste),
                Err(error) => vacuumed.warnings.push(error.to_string()),
            }
        }
        drop(hold);
        if head.meta.is_none() {
            backend.tidy().await;
        }
        Ok(vacuumed)
    }

    /// What there is to remove. Records come last: they tell what is retained.
    async fn find(&self, backend: &dyn Backend, head: &Head) -> Result<Vec<Waste>> {
        let properties = head.schema.as_ref().map(|(_, schema)| schema.properties.clone());
        let oldest = oldest_kept(retention(self.retain, &properties.unwrap_or_default())?)?;
        let pending = pending(backend, head).await?;
        let mut waste = backend.leftovers(oldest, pending.as_ref()).await?;
        let mut kept = Vec::new();
        for version in backend.retained_versions().await? {
            // What comes after the head is being brought in.
            if version > head.version() {
                continue;
            }
            let record = backend.record(version).await?.and_then(Slot::into_record);
            if record.as_ref().is_some_and(|record| record.time_ms > oldest) {
                kept.push(version);
            }
            waste.extend(retained_waste(backend, version, record.as_deref(), oldest).await?);
        }
        if let Some(newest) = &head.record {
            let expired = expired_records(backend, newest, oldest, &kept).await?;
            waste.extend(expired.into_iter().map(Waste::record));
        }
        Ok(waste)
    }
}

/// The transaction of a record that is logged and not published.
async fn pending(backend: &dyn Backend, head: &Head) -> Result<Option<TransactionId>> {
    let next = backend.record(head.version() + 1).await?.and_then(Slot::into_record);
    Ok(next.map(|record| record.transaction.clone()))
}

async fn retained_waste(
    backend: &dyn Backend,
    version: u64,
    record: Option<&Record>,
    oldest: i64,
) -> Result<Vec<Waste>> {
    let expired = record.is_some_and(|record| record.time_ms <= oldest);
    let known = record.map(retained_paths).unwrap_or_default();
    let mut waste = Vec::new();
    for (path, bytes) in backend.retained_files(version).await? {
        let kind = match known.contains(&path) {
            true if expired => WasteKind::Retained,
            true => continue,
            false => WasteKind::Orphan,
        };
        let path = format!("{}/{version}/{path}", names::RETAINED);
        waste.push(Waste { kind, path, bytes });
    }
    Ok(waste)
}

/// The files that a record may have put to retained: what it removed, and what it added where
/// another tool's content stands.
fn retained_paths(record: &Record) -> HashSet<String> {
    let partitions = record.partitions.iter();
    let paths = partitions.flat_map(|partition| {
        let added = partition.added.iter().map(|file| file.path_in(&partition.path));
        added.chain(partition.removed.iter().map(|file| file.path.clone()))
    });
    paths.collect()
}
