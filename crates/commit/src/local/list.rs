//! Our own lister: no look at directories, no descent into what isn't asked for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::LocalTable;
use super::disk::{DiskEntry, DiskKind, DiskMetadata};
use super::files::{is_missing, missing_is};
use crate::backend::{Files, FoundFile, Names};
use crate::snapshot::DataFile;
use crate::table::OpenFile;
use crate::{Error, Result, names};

/// How often a directory is read again because a name of it went while it was read.
const REREADS: usize = 100;
/// How deep folders may be nested below a partition: a bound for loops of links.
const MAX_DEPTH: usize = 64;

impl LocalTable {
    pub(super) fn entries(&self, dir: &Path) -> Result<Vec<DiskEntry>> {
        match self.disk.list(dir) {
            Ok(entries) => Ok(entries),
            Err(error) => missing_is(error, Vec::new(), "list", dir),
        }
    }

    /// What an entry is with its link followed, none for a link to nothing.
    pub(super) fn kind_behind(&self, dir: &Path, entry: &DiskEntry) -> Result<Option<DiskKind>> {
        if entry.kind != DiskKind::Link {
            return Ok(Some(entry.kind));
        }
        let path = dir.join(&entry.name);
        match self.disk.metadata(&path) {
            Ok(found) => Ok(Some(found.kind)),
            Err(error) => missing_is(error, None, "look at", &path),
        }
    }

    /// The data files of a directory and below; none if it isn't there.
    pub(super) fn files_in(&self, dir: &str) -> Result<Files> {
        let mut files = Files::default();
        self.collect_files(dir, 0, &mut files)?;
        Ok(files)
    }

    fn collect_files(&self, dir: &str, depth: usize, files: &mut Files) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!(
                "{} is nested more than {MAX_DEPTH} deep: is there a loop of links?",
                self.live(dir).display()
            )));
        }
        let (mut names, found) = self.stable_names(dir)?;
        files.odd.append(&mut names.odd);
        for name in names.files {
            let path = names::join(dir, &name);
            let Some(metadata) = found.get(&name) else { continue };
            if !names::is_data(&name) {
                files.strays.push(path);
            } else if metadata.size == 0 {
                files.empty.push(path);
            } else {
                let identity = metadata.identity();
                let modified_ms = identity.modified_ms();
                files.files.push(FoundFile { path, identity, modified_ms });
            }
        }
        for name in names.dirs {
            self.collect_files(&names::join(dir, &name), depth + 1, files)?;
        }
        Ok(())
    }

    /// The names of a directory and what their files are, read again when a name goes in between:
    /// a directory that is swapped while it is read is read as a whole, before or after.
    fn stable_names(&self, dir: &str) -> Result<(Names, HashMap<String, DiskMetadata>)> {
        let mut rereads = 0;
        loop {
            let names = self.names_in(dir)?;
            let found = self.look_at_files(dir, &names.files)?;
            if found.len() == names.files.len() || rereads == REREADS {
                return Ok((names, found));
            }
            rereads += 1;
        }
    }

    fn look_at_files(&self, dir: &str, files: &[String]) -> Result<HashMap<String, DiskMetadata>> {
        let root = self.live(dir);
        let mut found = HashMap::with_capacity(files.len());
        for name in files {
            let path = root.join(name);
            match self.disk.metadata(&path) {
                Ok(metadata) => {
                    found.insert(name.clone(), metadata);
                }
                Err(error) => missing_is(error, (), "look at", &path)?,
            }
        }
        Ok(found)
    }

    /// Whether a visible data file is there at some depth.
    pub(super) fn any_data(&self) -> Result<bool> {
        let mut dirs = vec![(String::new(), 0)];
        while let Some((dir, depth)) = dirs.pop() {
            let names = self.names_in(&dir)?;
            if names.files.iter().any(|name| names::is_data(name)) {
                return Ok(true);
            }
            if depth < MAX_DEPTH {
                let below = names.dirs.iter().rev();
                dirs.extend(below.map(|name| (names::join(&dir, name), depth + 1)));
            }
        }
        Ok(false)
    }

    /// Opens a file of a snapshot: in place, in retained, in place again.
    pub(super) fn open_file(&self, file: &DataFile) -> Result<OpenFile> {
        let live = self.live(&file.path);
        if let Some(open) = self.open_checked(&live, file)? {
            return Ok(open);
        }
        for version in self.retained_newest_first(file.retained)? {
            let retained = self.retained(version, &file.path);
            if let Some(open) = self.open_checked(&retained, file)? {
                return Ok(open);
            }
        }
        if let Some(open) = self.open_checked(&live, file)? {
            return Ok(open);
        }
        Err(Error::conflict(format!(
            "{} was replaced while it was being read and is not retained: run the query again, or \
             set the table's retention above 0",
            live.display()
        )))
    }

    /// The path of a file of a snapshot, none where it is nowhere or a link.
    pub(super) fn where_is(&self, file: &DataFile) -> Result<Option<PathBuf>> {
        let retained = self.retained_newest_first(file.retained)?;
        let retained = retained.into_iter().map(|version| self.retained(version, &file.path));
        for path in retained.chain([self.live(&file.path)]) {
            let found = self.find(&path)?;
            let plain = found.is_some_and(|found| found.kind == DiskKind::File);
            let through_link = || self.find_link(path.parent().map(PathBuf::from));
            if plain && self.is_file(&path, &file.identity)? && through_link()?.is_none() {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    fn retained_newest_first(&self, hint: Option<u64>) -> Result<Vec<u64>> {
        let mut versions = self.list_retained()?;
        versions.reverse();
        Ok(hint.into_iter().chain(versions).collect())
    }

    /// The open file, if it is the one meant.
    fn open_checked(&self, path: &Path, file: &DataFile) -> Result<Option<OpenFile>> {
        let open = match self.disk.open(path) {
            Ok(open) => open,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(Error::io("open", path, error)),
        };
        let found = open.metadata().map_err(|error| Error::io("look at", path, error))?;
        if found.identity() != file.identity {
            return Ok(None);
        }
        Ok(Some(OpenFile::local(Arc::from(open), found.size, path.to_path_buf())))
    }

    /// The versions that have retained files, ascending.
    pub(super) fn list_retained(&self) -> Result<Vec<u64>> {
        let dir = self.home.join(names::RETAINED);
        let entries = self.entries(&dir)?;
        let version = |entry: &DiskEntry| match entry.kind {
            DiskKind::Dir => entry.name.to_str()?.parse().ok(),
            _ => None,
        };
        let mut versions: Vec<u64> = entries.iter().filter_map(version).collect();
        versions.sort_unstable();
        Ok(versions)
    }
}
