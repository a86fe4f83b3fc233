//! The walk from a listing to the files of a version: a pure function.
//!
//! ```text
//!   listing --for each record above v, newest first: take away added, put back removed-->
//!           --take away what v removed, and what v's outcome says--> files(v)
//! ```

use std::collections::BTreeMap;

use crate::backend::FoundFile;
use crate::names;
use crate::record::{Identity, Outcome, Record, RecordedPartition, RemovedFile};

/// A record and, where it is known, how its version ended.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The record.
    pub record: &'a Record,
    /// None as long as the version isn't published, or its outcome isn't known.
    pub outcome: Option<&'a Outcome>,
    /// Readers have seen it: its clean may be under way.
    pub published: bool,
}

/// What a walk starts from.
pub struct Walk<'a> {
    /// The files of the selected directories.
    pub listing: &'a [FoundFile],
    /// The version's own record, none for version 0.
    pub own: Option<Step<'a>>,
    /// Later records, ascending.
    pub later: &'a [Step<'a>],
    /// Whether a directory is one of those selected.
    pub selected: &'a dyn Fn(&str) -> bool,
}

/// Where a walk ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Walked {
    /// The files of the version, by path.
    Files(WalkedFiles),
    /// Another tool has been at this directory in the middle of a commit: list again.
    Restart(String),
}

/// Files by their path relative to the table.
pub type WalkedFiles = BTreeMap<String, WalkedFile>;

/// A file of a version, as a walk gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkedFile {
    /// Which file of that name it is.
    pub identity: Identity,
    /// The version whose retained files hold the bytes.
    pub retained: Option<u64>,
    /// When it was changed last, milliseconds since 1970, UTC, where the listing tells.
    pub modified_ms: Option<i64>,
}

impl From<&FoundFile> for WalkedFile {
    fn from(found: &FoundFile) -> Self {
        let FoundFile { identity, modified_ms, .. } = found.clone();
        Self { identity, retained: None, modified_ms }
    }
}

impl Walk<'_> {
    /// The files of the version.
    pub fn files(&self) -> Walked {
        self.walk(false)
    }

    /// The files of a version that was left behind by published ones: where another tool has taken
    /// the place of a file that a later record removed, what was there can't be told.
    pub fn files_at(&self) -> Walked {
        self.walk(true)
    }

    fn walk(&self, strict: bool) -> Walked {
        let found = |file: &FoundFile| (file.path.clone(), WalkedFile::from(file));
        let mut files: WalkedFiles = self.listing.iter().map(found).collect();
        for step in self.later.iter().rev() {
            for partition in &step.record.partitions {
                if strict && self.is_meddled(step, partition, &files) {
                    return Walked::Restart(partition.path.clone());
                }
                if let Err(dir) = self.undo(step, partition, &mut files) {
                    return Walked::Restart(dir);
                }
            }
        }
        if let Some(own) = &self.own {
            own.record.partitions.iter().for_each(|p| self.finish(own, p, &mut files));
        }
        Walked::Files(files)
    }

    /// Whether another tool put a file in the place of one that a published record removed, or
    /// replaced the whole partition.
    fn is_meddled(
        &self,
        step: &Step<'_>,
        partition: &RecordedPartition,
        files: &WalkedFiles,
    ) -> bool {
        let skipped = skips(step, partition);
        step.published
            && partition.removed.iter().filter(|file| self.wants(&file.path)).any(
                |file| match files.get(&file.path) {
                    Some(found) => found.identity != file.identity,
                    None => skipped,
                },
            )
    }

    /// Step 2: undoes what a later record did to one partition. A removed file that isn't there is
    /// put back only if all that the record added was seen; otherwise another tool has been at it:
    /// an unpublished record leaves it as it is, a published one starts the reader again.
    fn undo(
        &self,
        step: &Step<'_>,
        partition: &RecordedPartition,
        files: &mut WalkedFiles,
    ) -> Result<(), String> {
        let selected: Vec<&RemovedFile> =
            partition.removed.iter().filter(|file| self.wants(&file.path)).collect();
        if skips(step, partition) {
            take_away_added(partition, files);
            return Ok(());
        }
        let seen_all = take_away_added(partition, files);
        let missing = selected.into_iter().filter(|file| !files.contains_key(&file.path));
        let missing: Vec<&RemovedFile> = missing.collect();
        let removed_by_us =
            if step.published { seen_all } else { seen_all && !partition.added.is_empty() };
        match (missing.is_empty(), removed_by_us || is_void(step)) {
            (true, _) => Ok(()),
            (false, true) => {
                missing.into_iter().for_each(|file| put_back(step.record.version, file, files));
                Ok(())
            }
            (false, false) if step.published => Err(partition.path.clone()),
            (false, false) => Ok(()),
        }
    }

    /// Step 3: what the version itself removed may still be there, as may what its outcome leaves
    /// over.
    fn finish(&self, own: &Step<'_>, partition: &RecordedPartition, files: &mut WalkedFiles) {
        if is_void(own) {
            take_away_added(partition, files);
            let removed = partition.removed.iter().filter(|file| self.wants(&file.path));
            for file in removed {
                if !files.contains_key(&file.path) {
                    put_back(own.record.version, file, files);
                }
            }
        } else if skips(own, partition) {
            take_away_added(partition, files);
        } else {
            for file in &partition.removed {
                if files.get(&file.path).is_some_and(|found| found.identity == file.identity) {
                    files.remove(&file.path);
                }
            }
        }
    }

    fn wants(&self, path: &str) -> bool {
        (self.selected)(names::split(path).0)
    }
}

fn is_void(step: &Step<'_>) -> bool {
    step.outcome == Some(&Outcome::Void)
}

fn skips(step: &Step<'_>, partition: &RecordedPartition) -> bool {
    match step.outcome {
        Some(Outcome::Skipped { partitions }) => partitions.contains(&partition.path),
        _ => false,
    }
}

/// Takes away what a record added to a partition; whether all of it was there.
fn take_away_added(partition: &RecordedPartition, files: &mut WalkedFiles) -> bool {
    let mut seen_all = true;
    for file in &partition.added {
        let path = file.path_in(&partition.path);
        let ours = files.get(&path).is_some_and(|found| found.identity.size == file.identity.size);
        if ours {
            files.remove(&path);
        }
        seen_all &= ours;
    }
    seen_all
}

fn put_back(version: u64, file: &RemovedFile, files: &mut WalkedFiles) {
    let identity = file.identity.clone();
    let modified_ms = identity.modified_ms();
    let found = WalkedFile { identity, retained: Some(version), modified_ms };
    files.insert(file.path.clone(), found);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::record::{
        AddedFile, FORMAT, RecordedOperation, RecordedPartition, Totals, TransactionId,
    };
    use crate::{PartitionKey, PartitionValue};

    fn identity(size: u64) -> Identity {
        Identity { size, modified_ns: Some(1), etag: None }
    }

    fn listing(paths: &[&str]) -> Vec<FoundFile> {
        let found = |path: &&str| FoundFile {
            path: path.to_string(),
            identity: identity(1),
            modified_ms: None,
        };
        paths.iter().map(found).collect()
    }

    /// A record that adds and removes files of partition `p=a`, each of size 1.
    fn record(version: u64, added: &[&str], removed: &[&str]) -> Record {
        let added = added.iter().map(|name| AddedFile {
            name: name.to_string(),
            identity: identity(1),
            rows: 1,
            stats: Default::default(),
            upload: None,
            origin: None,
        });
        let removed = removed
            .iter()
            .map(|name| RemovedFile { path: format!("p=a/{name}"), identity: identity(1) });
        let partition = RecordedPartition {
            path: "p=a".into(),
            staged: None,
            key: PartitionKey::new(vec![PartitionValue::Text("a".into())]),
            added: added.collect(),
            removed: removed.collect(),
            rows_before: 1,
            rows_after: 1,
        };
        Record {
            format: FORMAT,
            table: "id".into(),
            version,
            transaction: TransactionId::random(),
            time_ms: 0,
            operation: RecordedOperation::Overwrite,
            scope: None,
            restored: None,
            token: None,
            engine: String::new(),
            previous: None,
            schema: None,
            schema_version: None,
            canonical_paths: Vec::new(),
            jobs: Default::default(),
            partitions: vec![partition],
            totals: Totals::default(),
        }
    }

    fn step<'a>(record: &'a Record, outcome: Option<&'a Outcome>, published: bool) -> Step<'a> {
        Step { record, outcome, published }
    }

    fn walked(paths: &[&str], own: Option<Step<'_>>, later: &[Step<'_>]) -> Walked {
        let listing = listing(paths);
        Walk { listing: &listing, own, later, selected: &|dir| dir == "p=a" }.files()
    }

    /// The names a walk gives, those found in retained with their version.
    fn names_of(walked: Walked) -> BTreeSet<String> {
        match walked {
            Walked::Restart(dir) => BTreeSet::from([format!("restart {dir}")]),
            Walked::Files(files) => files
                .into_iter()
                .map(|(path, found)| {
                    let name = names::split(&path).1.to_string();
                    found.retained.map_or(name.clone(), |version| format!("{name} in {version}"))
                })
                .collect(),
        }
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn without_records_the_listing_is_the_truth() {
        assert_eq!(names_of(walked(&["p=a/x"], None, &[])), set(&["x"]));
    }

    #[test]
    fn an_unpublished_record_that_moved_nothing_yet_changes_nothing() {
        let later = record(2, &["new"], &["old"]);
        let seen = walked(&["p=a/old"], None, &[step(&later, None, false)]);
        assert_eq!(names_of(seen), set(&["old"]));
    }

    #[test]
    fn a_swap_that_is_not_published_is_walked_back() {
        let later = record(2, &["new"], &["old"]);
        let seen = walked(&["p=a/new", "p=a/foreign"], None, &[step(&later, None, false)]);
        assert_eq!(names_of(seen), set(&["old in 2", "foreign"]));
    }

    #[test]
    fn new_files_beside_the_old_ones_are_taken_away() {
        let later = record(2, &["n1", "n2"], &["old"]);
        let seen = walked(&["p=a/n1", "p=a/old"], None, &[step(&later, None, false)]);
        assert_eq!(names_of(seen), set(&["old"]));
    }

    #[test]
    fn two_later_records_are_walked_back_newest_first() {
        let (second, third) = (record(2, &["b"], &["a"]), record(3, &["c"], &["b"]));
        let later = [step(&second, Some(&Outcome::Done), true), step(&third, None, false)];
        assert_eq!(names_of(walked(&["p=a/c"], None, &later)), set(&["a in 2"]));
    }

    #[test]
    fn another_tool_at_an_unpublished_record_leaves_the_partition_as_listed() {
        let later = record(2, &["new"], &["old"]);
        let seen = walked(&["p=a/foreign"], None, &[step(&later, None, false)]);
        assert_eq!(names_of(seen), set(&["foreign"]));
    }

    #[test]
    fn another_tool_at_a_published_record_starts_the_reader_again() {
        let later = record(2, &["new"], &["old"]);
        let done = step(&later, Some(&Outcome::Done), true);
        assert_eq!(names_of(walked(&["p=a/foreign"], None, &[done])), set(&["restart p=a"]));
    }

    #[test]
    fn an_emptied_partition_is_put_back_only_once_its_record_is_published() {
        let later = record(2, &[], &["old"]);
        let published = step(&later, Some(&Outcome::Done), true);
        assert_eq!(names_of(walked(&[], None, &[published])), set(&["old in 2"]));
        assert_eq!(names_of(walked(&[], None, &[step(&later, None, false)])), set(&[]));
    }

    #[test]
    fn a_later_record_known_as_void_or_skipped_counts_for_nothing() {
        let later = record(2, &["new"], &["old"]);
        let void = step(&later, Some(&Outcome::Void), true);
        assert_eq!(names_of(walked(&["p=a/new"], None, &[void])), set(&["old in 2"]));
        let skipped = Outcome::Skipped { partitions: vec!["p=a".into()] };
        let skipped = step(&later, Some(&skipped), true);
        let seen = walked(&["p=a/new", "p=a/foreign"], None, &[skipped]);
        assert_eq!(names_of(seen), set(&["foreign"]));
    }

    #[test]
    fn what_the_version_itself_removed_is_taken_away_by_identity() {
        let own = record(1, &["new"], &["old", "reused"]);
        let mut listing = listing(&["p=a/new", "p=a/old", "p=a/reused"]);
        listing[2].identity.size = 2;
        let own = Some(step(&own, Some(&Outcome::Done), true));
        let walk = Walk { listing: &listing, own, later: &[], selected: &|_| true };
        assert_eq!(names_of(walk.files()), set(&["new", "reused"]));
    }

    #[test]
    fn a_void_version_gives_back_what_it_took() {
        let own = record(1, &["new"], &["old"]);
        let own = Some(step(&own, Some(&Outcome::Void), true));
        assert_eq!(names_of(walked(&["p=a/new"], own, &[])), set(&["old in 1"]));
    }

    #[test]
    fn a_skipped_partition_keeps_the_other_tools_content() {
        let own = record(1, &["new"], &["old1", "old2"]);
        let skipped = Outcome::Skipped { partitions: vec!["p=a".into()] };
        let own = Some(step(&own, Some(&skipped), true));
        let seen = walked(&["p=a/new", "p=a/old2", "p=a/foreign"], own, &[]);
        assert_eq!(names_of(seen), set(&["old2", "foreign"]));
    }

    #[test]
    fn partitions_that_were_not_listed_are_not_put_back() {
        let later = record(2, &["new"], &["old"]);
        let step = step(&later, Some(&Outcome::Done), true);
        let walk = Walk { listing: &[], own: None, later: &[step], selected: &|_| false };
        assert_eq!(names_of(walk.files()), set(&[]));
    }
}
