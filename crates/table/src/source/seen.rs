//! What a scan saw of its table, for a statement that writes where it reads.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use partwise_commit::{
    DataFile, Identity, Location, PartitionColumn, PartitionSelector, Reads, Result,
    parse_partition_path,
};

use crate::predicate::PartitionPredicate;
use crate::reader::ScanFile;

/// The files that a scan found in its table, and which partitions it looked at.
#[derive(Debug)]
pub struct Seen {
    location: Location,
    columns: Vec<PartitionColumn>,
    /// None where every partition was looked at.
    predicate: Option<Arc<PartitionPredicate>>,
    files: Vec<ScanFile>,
    by_path: OnceLock<HashMap<String, Identity>>,
}

impl Seen {
    pub(crate) fn new(
        location: Location,
        columns: &[PartitionColumn],
        predicate: Option<Arc<PartitionPredicate>>,
        files: Vec<ScanFile>,
    ) -> Self {
        Self { location, columns: columns.to_vec(), predicate, files, by_path: OnceLock::new() }
    }

    /// What the scan saw of the table at `target`, which it may have read under another name, or
    /// only a directory of it.
    pub fn of_target(self: Arc<Self>, target: &Location) -> Arc<dyn Reads> {
        let (root, target) = (real_path(&self.location), real_path(target));
        Arc::new(SeenOfTarget { seen: self, root, target })
    }

    fn missed(&self, path: &str, identity: &Identity) -> Result<bool> {
        Ok(self.looked_at(path)? && self.by_path().get(path) != Some(identity))
    }

    /// Whether the scan would have found a file at this path. What lies in no partition of its
    /// columns is read by no scan.
    fn looked_at(&self, path: &str) -> Result<bool> {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let Ok(key) = parse_partition_path(&self.columns, directory) else { return Ok(false) };
        let Some(predicate) = &self.predicate else { return Ok(true) };
        Ok(predicate.select(&[key.values().to_vec()])?.first() == Some(&true))
    }

    fn by_path(&self) -> &HashMap<String, Identity> {
        self.by_path.get_or_init(|| {
            let files = self.files.iter().map(ScanFile::data_file);
            files.map(|file| (file.path.clone(), file.identity.clone())).collect()
        })
    }
}

/// Links resolved, where there is such a path on the disk.
fn real_path(location: &Location) -> PathBuf {
    let shown = location.display();
    std::fs::canonicalize(&shown).unwrap_or_else(|_| PathBuf::from(shown))
}

/// Paths in the target as paths in the directory that was scanned.
#[derive(Debug)]
struct SeenOfTarget {
    seen: Arc<Seen>,
    root: PathBuf,
    target: PathBuf,
}

impl Reads for SeenOfTarget {
    fn missed(&self, file: &DataFile) -> Result<bool> {
        let path = self.target.join(&file.path);
        match path.strip_prefix(&self.root).ok().and_then(Path::to_str) {
            Some(inside) => self.seen.missed(inside, &file.identity),
            None => Ok(false),
        }
    }
}
