//! Taking a snapshot: published, listing, later records, published again, then the walk.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::list::{Levels, Lister, Listing, list_below, list_levels};
use super::spelling;
use super::walk::{Step, Walk, Walked, WalkedFile, WalkedFiles};
use super::{AllPartitions, DataFile, PartitionFiles, PartitionSelector, Snapshot};
use crate::backend::{Backend, FoundFile, Life, Look, Published, Slot};
use crate::decide::Touched;
use crate::partition::{PartitionColumn, PartitionKey, parse_partition_path, partition_path};
use crate::record::{AddedFile, Outcome, Record};
use crate::{Error, Result, names};

/// How often a reader starts again because the table moved on while it listed; after that it goes
/// back from what it saw to the version it started from.
pub(super) const FOLLOWS: usize = 3;
/// How often it starts again at all.
pub(super) const ATTEMPTS: usize = 100;
/// How many records are looked through for the rows and statistics of listed files.
const RECORDS_FOR_STATS: usize = 64;

/// Takes a snapshot of the selected partitions at the published version.
pub(crate) async fn take(
    backend: &dyn Backend,
    columns: &[PartitionColumn],
    selector: &dyn PartitionSelector,
) -> Result<Snapshot> {
    let mut last = String::new();
    for attempt in 0..ATTEMPTS {
        let before = backend.look().await?;
        let history = History::of(backend, &before).await?;
        let spelled_by_us = history.as_ref().is_some_and(|h| h.spells(backend, columns));
        let listing = Lister { backend, columns, selector, spelled_by_us }.list().await?;
        let history = match history {
            Some(history) => history.follow(backend).await?,
            None => None,
        };
        let after = backend.look().await?;
        if history.is_none() && before == after {
            return Err(missing_record(backend, &before));
        }
        let settled =
            history.and_then(|history| history.settle(&before, &after, attempt < FOLLOWS));
        let Some(history) = settled else {
            tokio::task::yield_now().await;
            continue;
        };
        history.note_spelling(&listing.levels);
        match history.walk(&listing, columns, selector)? {
            Walked::Files(files) => {
                let mut snapshot = assemble(&listing, columns, files);
                snapshot.version = history.version();
                fill(backend, history.own.clone(), &mut snapshot).await?;
                return Ok(snapshot);
            }
            Walked::Restart(dir) => last = dir,
        }
        tokio::task::yield_now().await;
    }
    Err(Error::unavailable(format!(
        "{} kept changing while it was listed{}{last}: try again",
        backend.shown(),
        if last.is_empty() { "" } else { ", last at " }
    )))
}

/// The published version's record isn't there.
pub(crate) fn missing_record(backend: &dyn Backend, look: &Look) -> Error {
    let version = look.published.as_ref().map_or(0, |published| published.version);
    Error::corrupt(format!(
        "the log of {} has no {} though version {version} is published: restore it, or move the log \
         folder away (the data stays, history and undo are lost)",
        backend.shown(),
        names::record(version)
    ))
}

/// What a commit decides on: the files of the partitions that it touches, while nobody else
/// commits, and the directories of all; with a declared scope, of those that may match.
pub(crate) async fn take_for_commit(
    backend: &dyn Backend,
    columns: &[PartitionColumn],
    newest: Option<Arc<Record>>,
    wanted: &Touched<'_>,
) -> Result<(Snapshot, Levels)> {
    let selector: &dyn PartitionSelector = match wanted {
        Touched::Declared(scope) => scope.selector(),
        _ => &AllPartitions,
    };
    let levels = list_levels(backend, columns, selector).await?;
    let mut dirs = Vec::new();
    for (dir, key) in &levels.dirs {
        if wanted.covers(key)? {
            dirs.push(dir.clone());
        }
    }
    let listing = list_below(backend, levels, dirs).await?;
    let found = |file: &FoundFile| (file.path.clone(), WalkedFile::from(file));
    let files = listing.files.iter().map(found).collect();
    let mut snapshot = assemble(&listing, columns, files);
    snapshot.version = newest.as_ref().map(|record| record.version);
    fill(backend, newest, &mut snapshot).await?;
    Ok((snapshot, listing.levels))
}

/// What a commit that replaces the whole table decides on: every data file at any depth, by the
/// partition of `columns` that its directory stands for, or by directory where it stands for none.
pub(crate) async fn take_everything(
    backend: &dyn Backend,
    columns: &[PartitionColumn],
    newest: Option<Arc<Record>>,
) -> Result<(Snapshot, Levels)> {
    let (all, _) = take_for_commit(backend, &[], newest, &Touched::Matching(&[])).await?;
    Ok((by_place(columns, all), Levels::default()))
}

/// The same files by the partition of `columns` that their directory stands for, or by directory
/// where it stands for none.
pub(crate) fn by_place(columns: &[PartitionColumn], all: Snapshot) -> Snapshot {
    let mut by_place: BTreeMap<(PartitionKey, String), PartitionFiles> = BTreeMap::new();
    for file in all.partitions.into_iter().flat_map(|partition| partition.files) {
        let dir = names::split(&file.path).0;
        let (key, place) = match key_of(columns, dir) {
            Some(key) => (key, String::new()),
            None => (PartitionKey::default(), dir.to_string()),
        };
        let path = place.clone();
        let files = Vec::new();
        let entry = by_place.entry((key.clone(), place));
        entry.or_insert(PartitionFiles { key, path, files }).files.push(file);
    }
    let mut partitions: Vec<PartitionFiles> = by_place.into_values().collect();
    for partition in &mut partitions {
        if partition.key.values().len() == columns.len() {
            partition.path = directory_of(columns, partition);
        }
    }
    Snapshot { version: all.version, partitions, warnings: all.warnings }
}

/// The records that decide what a listing means.
struct History {
    /// Whether there is a log.
    logged: bool,
    published: Option<Published>,
    own: Option<Arc<Record>>,
    later: Vec<Arc<Record>>,
    /// What was published after the listing.
    newest: Option<Published>,
}

impl History {
    /// Asks for the published version's record by name. None where it is gone, so that the reader
    /// has to start again.
    async fn of(backend: &dyn Backend, look: &Look) -> Result<Option<Self>> {
        let published = match look.life() {
            Life::Unlogged | Life::Other(_) => return Ok(Some(Self::none())),
            Life::Unborn(_) => None,
            Life::Ours(_, published) => Some(published),
        };
        let own = match published.as_ref().map_or(0, |published| published.version) {
            0 => None,
            version => match backend.record(version).await?.and_then(Slot::into_record) {
                Some(own) => Some(own),
                None => return Ok(None),
            },
        };
        Ok(Some(Self { logged: true, published, own, ..Self::none() }))
    }

    /// Asks for later records by name. None where one is gone, so that the reader has to start
    /// again.
    async fn follow(mut self, backend: &dyn Backend) -> Result<Option<Self>> {
        if !self.logged {
            return Ok(Some(self));
        }
        let version = self.version().unwrap_or(0);
        while let Some(slot) = backend.record(version + 1 + self.later.len() as u64).await? {
            let Slot::Record(record) = slot else { return Ok(None) };
            self.later.push(record);
        }
        Ok(Some(self))
    }

    /// Whether the directories of these columns are all spelled as this crate does, and that is
    /// taken from the records.
    fn spells(&self, backend: &dyn Backend, columns: &[PartitionColumn]) -> bool {
        let done = |p: &Published| p.outcome == Outcome::Done;
        backend.trusts_records()
            && self.published.as_ref().is_some_and(done)
            && self
                .own
                .as_deref()
                .is_some_and(|own| own.canonical_paths == columns && !spelling::seen_otherwise(own))
    }

    /// A listing that finds another spelling than the records say goes before them.
    fn note_spelling(&self, levels: &Levels) {
        if let Some(own) = self.own.as_deref().filter(|_| levels.spelled_otherwise) {
            spelling::note_otherwise(own);
        }
    }

    fn none() -> Self {
        Self { logged: false, published: None, own: None, later: Vec::new(), newest: None }
    }

    /// The history with what is published after the listing; none to start again.
    fn settle(mut self, before: &Look, after: &Look, follow: bool) -> Option<Self> {
        let same_life = before.meta == after.meta && before.marked == after.marked;
        let moved = before.published != after.published;
        if !same_life || (moved && (follow || self.published.is_none())) {
            return None;
        }
        self.newest = after.published.clone();
        Some(self)
    }

    fn version(&self) -> Option<u64> {
        self.published.as_ref().map(|published| published.version)
    }

    fn walk(
        &self,
        listing: &Listing,
        columns: &[PartitionColumn],
        selector: &dyn PartitionSelector,
    ) -> Result<Walked> {
        let void = self.published.as_ref().is_some_and(|p| p.outcome == Outcome::Void);
        let records = self.later.iter().chain(self.own.iter().filter(|_| void));
        let selected = selected_dirs(listing, columns, selector, records.map(Arc::as_ref))?;
        let own = self.own.as_deref().zip(self.published.as_ref());
        let own = own.map(|(record, published)| Step {
            record,
            outcome: Some(&published.outcome),
            published: true,
        });
        let later: Vec<Step<'_>> = (0..self.later.len()).map(|n| self.later_step(n)).collect();
        let walk = Walk {
            listing: &listing.files,
            own,
            later: &later,
            selected: &|dir| selected.contains(dir),
        };
        Ok(walk.files())
    }

    fn later_step(&self, n: usize) -> Step<'_> {
        let record = self.later[n].as_ref();
        let newest = self.newest.as_ref();
        let outcome = match newest {
            Some(newest) if newest.version == record.version => Some(&newest.outcome),
            Some(newest) if newest.version > record.version => {
                self.later.get(n + 1).and_then(|next| next.previous.as_ref())
            }
            _ => None,
        };
        let published = newest.is_some_and(|newest| newest.version >= record.version);
        Step { record, outcome, published }
    }
}

/// The directories listed, and those of the records that the selector selects: a file that was
/// moved away may have been the last of its directory.
pub(super) fn selected_dirs<'a>(
    listing: &Listing,
    columns: &[PartitionColumn],
    selector: &dyn PartitionSelector,
    records: impl Iterator<Item = &'a Record>,
) -> Result<HashSet<String>> {
    let mut selected: HashSet<String> = listing.levels.dirs.keys().cloned().collect();
    let dirs: HashSet<&str> = records.flat_map(dirs_of).collect();
    let unlisted = dirs.into_iter().filter(|dir| !selected.contains(*dir));
    let keyed: Vec<(&str, PartitionKey)> =
        unlisted.filter_map(|dir| Some((dir, key_of(columns, dir)?))).collect();
    let keys: Vec<&PartitionKey> = keyed.iter().map(|(_, key)| key).collect();
    let wanted = selected_keys(selector, columns.len(), &keys)?;
    let wanted = keyed.iter().zip(wanted).filter(|(_, wanted)| *wanted);
    selected.extend(wanted.map(|((dir, _), _)| dir.to_string()));
    Ok(selected)
}

fn dirs_of(record: &Record) -> impl Iterator<Item = &str> {
    record.partitions.iter().flat_map(|partition| {
        let removed = partition.removed.iter().map(|file| names::split(&file.path).0);
        removed.chain([partition.path.as_str()])
    })
}

/// The key of a directory of data files: of its first levels, one for each partition column.
pub(crate) fn key_of(columns: &[PartitionColumn], dir: &str) -> Option<PartitionKey> {
    if columns.is_empty() {
        return Some(PartitionKey::default());
    }
    let parts: Vec<&str> = dir.split('/').collect();
    let leaf = parts.get(..columns.len())?.join("/");
    parse_partition_path(columns, &leaf).ok()
}

/// For each key, whether a selector selects it at every level.
pub(super) fn selected_keys(
    selector: &dyn PartitionSelector,
    levels: usize,
    keys: &[&PartitionKey],
) -> Result<Vec<bool>> {
    let mut selected = vec![true; keys.len()];
    for level in 1..=levels {
        let asked: Vec<usize> = (0..keys.len()).filter(|at| selected[*at]).collect();
        let prefixes: Vec<_> =
            asked.iter().map(|at| keys[*at].values()[..level].to_vec()).collect();
        for (at, answer) in asked.into_iter().zip(selector.select(&prefixes)?) {
            selected[at] = answer;
        }
    }
    Ok(selected)
}

/// Files by partition: all directories of one key together.
pub(super) fn assemble(
    listing: &Listing,
    columns: &[PartitionColumn],
    files: WalkedFiles,
) -> Snapshot {
    let mut partitions: BTreeMap<PartitionKey, PartitionFiles> = BTreeMap::new();
    for (path, found) in files {
        let Some(key) = key_of(columns, names::split(&path).0) else { continue };
        let partition = partitions.entry(key.clone()).or_insert_with(|| PartitionFiles {
            key,
            path: String::new(),
            files: Vec::new(),
        });
        partition.files.push(DataFile {
            path,
            identity: found.identity,
            rows: None,
            stats: None,
            retained: found.retained,
            version: None,
            modified_ms: found.modified_ms,
        });
    }
    for partition in partitions.values_mut() {
        partition.path = directory_of(columns, partition);
    }
    let partitions = partitions.into_values().collect();
    Snapshot { version: None, partitions, warnings: listing.warnings.clone() }
}

/// The directory of a partition that writes go to: as we spell it if that is there, else the first.
fn directory_of(columns: &[PartitionColumn], partition: &PartitionFiles) -> String {
    let leaf = |path: &str| {
        let parts: Vec<&str> = names::split(path).0.split('/').take(columns.len()).collect();
        parts.join("/")
    };
    let own = partition_path(columns, &partition.key).unwrap_or_default();
    let mut dirs = partition.files.iter().map(|file| leaf(&file.path));
    if columns.is_empty() {
        return String::new();
    }
    let first = dirs.next().unwrap_or_else(|| own.clone());
    if first == own || dirs.any(|dir| dir == own) { own } else { first }
}

/// Rows and statistics of the files we wrote, from the newest records that tell.
pub(super) async fn fill(
    backend: &dyn Backend,
    newest: Option<Arc<Record>>,
    snapshot: &mut Snapshot,
) -> Result<()> {
    let mut unknown: HashSet<String> = snapshot
        .partitions
        .iter()
        .flat_map(|partition| &partition.files)
        .map(|file| names::split(&file.path).1)
        .filter(|name| names::transaction_of(name).is_some())
        .map(str::to_string)
        .collect();
    let mut known: HashMap<String, (u64, AddedFile)> = HashMap::new();
    let mut version = newest.as_ref().map_or(0, |record| record.version);
    let mut looked = 0;
    let mut record = newest;
    while let Some(found) = record.take() {
        for file in found.partitions.iter().flat_map(|partition| &partition.added) {
            if unknown.remove(&file.name) {
                known.insert(file.name.clone(), (version, file.clone()));
            }
        }
        looked += 1;
        version = version.saturating_sub(1);
        if !unknown.is_empty() && version > 0 && looked < RECORDS_FOR_STATS {
            record = backend.record(version).await?.and_then(Slot::into_record);
        }
    }
    for file in snapshot.partitions.iter_mut().flat_map(|partition| &mut partition.files) {
        let told = known.get(names::split(&file.path).1);
        if let Some((version, told)) = told.filter(|(_, told)| file.identity.agrees(&told.identity))
        {
            file.version = Some(*version);
            file.rows = Some(told.rows);
            file.stats = Some(Arc::clone(&told.stats));
        }
    }
    Ok(())
}

/// How the published version ended, where there is one.
pub(crate) fn counts(outcome: &Outcome) -> bool {
    *outcome != Outcome::Void
}
