//! A snapshot of an earlier version: the same walk, further back.
//!
//! ```text
//!   log:       n  n+1 ... published  later          all of them held
//!   listing <--undo later, published, ..., n+1      removed files come from retained
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use super::list::{Listing, list};
use super::read::{ATTEMPTS, FOLLOWS, assemble, fill, selected_dirs, selected_keys};
use super::walk::{Step, Walk, Walked, WalkedFiles};
use super::{AllPartitions, PartitionSelector, Snapshot, counts};
use crate::backend::{Backend, Life, Look, Published, Slot};
use crate::keep::shown_retention;
use crate::partition::{PartitionColumn, PartitionKey};
use crate::record::{Outcome, Record};
use crate::recover::schema_at;
use crate::schema::{RecordedSchema, TableSchema};
use crate::{Error, ErrorKind, Result};

/// An earlier state of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A version.
    Version(u64),
    /// The newest version of that time: milliseconds since 1970, UTC, by the records' times.
    TimeMs(i64),
}

/// The records between an earlier version and the newest.
pub(crate) struct Past {
    /// The version's own record.
    pub(crate) own: Arc<Record>,
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// The later ones, ascending, up to the published version and beyond.
    pub(crate) later: Vec<Arc<Record>>,
}

impl Past {
    /// Reads the records from the published version back to `at`.
    pub(crate) async fn read(backend: &dyn Backend, at: At) -> Result<(Look, Self)> {
        let mut look = backend.look().await?;
        loop {
            match Self::read_from(backend, &look, at).await {
                // The table may have moved on by more than one version since the look.
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    let again = backend.look().await?;
                    if again == look {
                        return Err(error);
                    }
                    look = again;
                }
                read => return read.map(|past| (look, past)),
            }
        }
    }

    async fn read_from(backend: &dyn Backend, look: &Look, at: At) -> Result<Self> {
        let Life::Ours(_, published) = look.life() else {
            return Err(Error::invalid(format!(
                "{} has no log of its own, so there is no earlier version of it",
                backend.shown()
            )));
        };
        if let At::Version(version) = at
            && (version == 0 || version > published.version)
        {
            return Err(Error::invalid(format!(
                "{} has no version {version}: its newest is {}",
                backend.shown(),
                published.version
            )));
        }
        let (mut version, mut outcome) = (published.version, published.outcome.clone());
        let mut later: Vec<Arc<Record>> = Vec::new();
        loop {
            let record = backend.record(version).await?.and_then(Slot::into_record);
            let Some(own) = record else {
                return Err(match later.last() {
                    Some(oldest) => too_old(backend, at, oldest).await,
                    None => super::missing_record(backend, look),
                });
            };
            if is_at(at, &own, &outcome) {
                later.reverse();
                return Ok(Self { own, outcome, later });
            }
            if version == 1 {
                return Err(before_the_first(backend, at, &own));
            }
            version -= 1;
            outcome = own.previous.clone().unwrap_or_default();
            later.push(own);
        }
    }

    /// Reads the records that came since.
    async fn follow(&mut self, backend: &dyn Backend) -> Result<()> {
        loop {
            let next = self.own.version + 1 + self.later.len() as u64;
            match backend.record(next).await? {
                Some(Slot::Record(record)) => self.later.push(record),
                _ => return Ok(()),
            }
        }
    }

    /// The newest version that is logged.
    pub(crate) fn newest(&self) -> u64 {
        self.later.last().map_or(self.own.version, |record| record.version)
    }

    /// Schema and properties at the version, and the version that set them.
    pub(crate) async fn schema(&self, backend: &dyn Backend) -> Result<(u64, RecordedSchema)> {
        let found = schema_at(backend, &self.own, &self.outcome).await?;
        found.ok_or_else(|| {
            Error::corrupt(format!(
                "the log of {} tells no schema at version {}",
                backend.shown(),
                self.own.version
            ))
        })
    }

    /// Whether the table was laid out by other partition columns since.
    fn laid_out_anew(&self, columns: &[PartitionColumn]) -> Result<bool> {
        for schema in self.later.iter().filter_map(|record| record.schema.as_ref()) {
            if TableSchema::try_from(schema)?.partition_columns() != columns {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn walk(&self, listing: &Listing, wanted: &Wanted<'_>, newest: &Published) -> Result<Walked> {
        let void = self.outcome == Outcome::Void;
        let records = self.later.iter().chain([&self.own].into_iter().filter(|_| void));
        let records = records.map(Arc::as_ref);
        let selected = match wanted.whole {
            true => HashSet::new(),
            false => selected_dirs(listing, wanted.columns, wanted.selector, records)?,
        };
        let later: Vec<Step<'_>> = (0..self.later.len()).map(|n| self.step(n, newest)).collect();
        let own = Step { record: &self.own, outcome: Some(&self.outcome), published: true };
        let walk = Walk {
            listing: &listing.files,
            own: Some(own),
            later: &later,
            selected: &|dir| wanted.whole || selected.contains(dir),
        };
        Ok(walk.files_at())
    }

    fn step<'a>(&'a self, n: usize, newest: &'a Published) -> Step<'a> {
        let record = self.later[n].as_ref();
        let published = newest.version >= record.version;
        let outcome = if newest.version == record.version {
            Some(&newest.outcome)
        } else {
            let next = self.later.get(n + 1).filter(|_| published);
            next.and_then(|next| next.previous.as_ref())
        };
        Step { record, outcome, published }
    }
}

fn is_at(at: At, record: &Record, outcome: &Outcome) -> bool {
    match at {
        At::Version(version) => record.version == version,
        At::TimeMs(time_ms) => record.time_ms <= time_ms && counts(outcome),
    }
}

/// The snapshot of an earlier version, and the records it was told from.
pub(crate) async fn take_at(
    backend: &dyn Backend,
    at: At,
    columns: &[PartitionColumn],
    selector: &dyn PartitionSelector,
) -> Result<(Snapshot, Past)> {
    let mut foreign = None;
    for attempt in 0..ATTEMPTS {
        let (before, mut past) = Past::read(backend, at).await?;
        let wanted = Wanted { columns, selector, whole: past.laid_out_anew(columns)? };
        let listing = wanted.list(backend).await?;
        past.follow(backend).await?;
        let after = backend.look().await?;
        let moved = before != after;
        let Life::Ours(_, newest) = after.life() else { continue };
        if moved && (attempt < FOLLOWS || before.meta != after.meta) {
            continue;
        }
        match past.walk(&listing, &wanted, &newest)? {
            Walked::Files(files) => {
                refuse_removed(backend, at, &past, &files).await?;
                let mut snapshot = wanted.assemble(&listing, files)?;
                snapshot.version = Some(past.own.version);
                fill(backend, Some(Arc::clone(&past.own)), &mut snapshot).await?;
                return Ok((snapshot, past));
            }
            // It may be a writer that is at work; if nothing moves, it is not.
            Walked::Restart(dir) if moved || foreign.as_ref() != Some(&dir) => foreign = Some(dir),
            Walked::Restart(dir) => return Err(meddled(backend, past.own.version, &dir)),
        }
        tokio::task::yield_now().await;
    }
    Err(Error::unavailable(format!(
        "{} kept changing while it was listed: try again",
        backend.shown()
    )))
}

/// Which partitions are wanted, and how they are listed: where the table was laid out anew since,
/// only a listing of everything has the directories of then and those of later records.
struct Wanted<'a> {
    columns: &'a [PartitionColumn],
    selector: &'a dyn PartitionSelector,
    whole: bool,
}

impl Wanted<'_> {
    async fn list(&self, backend: &dyn Backend) -> Result<Listing> {
        match self.whole {
            true => list(backend, &[], &AllPartitions).await,
            false => list(backend, self.columns, self.selector).await,
        }
    }

    fn assemble(&self, listing: &Listing, files: WalkedFiles) -> Result<Snapshot> {
        let mut snapshot = assemble(listing, self.columns, files);
        if self.whole {
            retain_selected(&mut snapshot, self.selector, self.columns.len())?;
        }
        Ok(snapshot)
    }
}

fn retain_selected(
    snapshot: &mut Snapshot,
    selector: &dyn PartitionSelector,
    levels: usize,
) -> Result<()> {
    let keys: Vec<&PartitionKey> = snapshot.partitions.iter().map(|p| &p.key).collect();
    let mut kept = selected_keys(selector, levels, &keys)?.into_iter();
    snapshot.partitions.retain(|_| kept.next().unwrap_or(true));
    Ok(())
}

/// Files that only retained holds, of versions whose retained files were removed.
async fn refuse_removed(
    backend: &dyn Backend,
    at: At,
    past: &Past,
    files: &WalkedFiles,
) -> Result<()> {
    let needed: HashSet<u64> = files.values().filter_map(|file| file.retained).collect();
    let mut gone = None;
    for version in needed {
        // A store may show the folder of a version for a while when its files are gone.
        if backend.retained_files(version).await?.is_empty() {
            gone = gone.max(Some(version));
        }
    }
    let Some(gone) = gone else { return Ok(()) };
    let oldest = past.later.iter().find(|record| record.version == gone);
    Err(too_old(backend, at, oldest.unwrap_or(&past.own)).await)
}

async fn too_old(backend: &dyn Backend, at: At, oldest: &Record) -> Error {
    let asked = match at {
        At::Version(version) => format!("version {version}"),
        At::TimeMs(time_ms) => shown_time(time_ms),
    };
    let schema = schema_at(backend, oldest, &Outcome::Done).await.ok().flatten();
    let retention = shown_retention(schema.as_ref().map(|(_, schema)| &schema.properties));
    Error::invalid(format!(
        "{asked} of {} is too old: the table can be told since version {} of {}; what was replaced \
         before is removed after the table's retention ({retention})",
        backend.shown(),
        oldest.version,
        shown_time(oldest.time_ms)
    ))
}

fn before_the_first(backend: &dyn Backend, at: At, first: &Record) -> Error {
    let asked = match at {
        At::Version(version) => format!("version {version}"),
        At::TimeMs(time_ms) => shown_time(time_ms),
    };
    Error::invalid(format!(
        "{asked} is before the first version of {}, of {}",
        backend.shown(),
        shown_time(first.time_ms)
    ))
}

fn meddled(backend: &dyn Backend, version: u64, dir: &str) -> Error {
    let place = if dir.is_empty() { "its files" } else { dir };
    Error::invalid(format!(
        "version {version} of {} can't be told: another tool has been at {place} since",
        backend.shown()
    ))
}

fn shown_time(time_ms: i64) -> String {
    match chrono::DateTime::from_timestamp_millis(time_ms) {
        Some(time) => time.format("%Y-%m-%d %H:%M:%S UTC").to_string(),
        None => format!("{time_ms} ms since 1970"),
    }
}
