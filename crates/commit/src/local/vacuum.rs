//! What a vacuum finds and removes on a local disk.

use std::path::{Path, PathBuf};

use super::LocalTable;
use super::disk::DiskKind;
use super::files::missing_is;
use super::lock::holder;
use crate::record::TransactionId;
use crate::vacuum::{Waste, WasteKind};
use crate::{Result, names};

impl LocalTable {
    pub(super) fn files_of_retained(&self, version: u64) -> Result<Vec<(String, u64)>> {
        let mut found = Vec::new();
        self.files_below(&self.retained(version, ""), "", &mut found)?;
        Ok(found)
    }

    /// Everything below a folder of our own that is no directory, links not followed.
    fn files_below(&self, dir: &Path, shown: &str, found: &mut Vec<(String, u64)>) -> Result<()> {
        let entries = match self.disk.list(dir) {
            Ok(entries) => entries,
            Err(error) => return missing_is(error, (), "list", dir),
        };
        for entry in entries {
            let path = dir.join(&entry.name);
            let shown = names::join(shown, &entry.name.to_string_lossy());
            if entry.kind == DiskKind::Dir {
                self.files_below(&path, &shown, found)?;
            } else if let Some(file) = self.find(&path)? {
                found.push((shown, file.size));
            }
        }
        Ok(())
    }

    pub(super) fn find_leftovers(&self, pending: Option<&TransactionId>) -> Result<Vec<Waste>> {
        let [staging, retained] = [names::STAGING, names::RETAINED].map(|dir| self.home.join(dir));
        self.refuse_links([staging.clone(), retained.clone()])?;
        let mut found = Vec::new();
        for name in self.names_of_ours(&staging)? {
            let kept = pending.is_some_and(|pending| pending.as_str() == name);
            let path = names::join(names::STAGING, &name);
            if !kept && !self.is_lived_in(&self.home.join(&path))? {
                found.push(self.waste(WasteKind::Staging, path)?);
            }
        }
        // A version's files are in a folder: any other name there is nobody's.
        for entry in self.entries(&retained)?.iter().filter(|entry| entry.kind != DiskKind::Dir) {
            let path = names::join(names::RETAINED, &entry.name.to_string_lossy());
            found.push(self.waste(WasteKind::Orphan, path)?);
        }
        let in_log = self.names_of_ours(&self.home)?.into_iter();
        let unfinished = in_log.filter(|name| name.ends_with(names::NEW) || name == names::PURGED);
        let purged = names::purged(&self.name(), "");
        let beside = self.home.parent().map_or(Ok(Vec::new()), |logs| self.names_of_ours(logs))?;
        let beside = beside.into_iter().filter(|name| name.starts_with(&purged));
        for path in unfinished.chain(beside.map(|name| format!("../{name}"))) {
            found.push(self.waste(WasteKind::Orphan, path)?);
        }
        Ok(found)
    }

    fn waste(&self, kind: WasteKind, path: String) -> Result<Waste> {
        let at = self.home.join(&path);
        let mut files = Vec::new();
        match self.find(&at)? {
            Some(found) if found.kind == DiskKind::Dir => self.files_below(&at, "", &mut files)?,
            Some(found) => files.push((path.clone(), found.size)),
            None => {}
        }
        Ok(Waste { kind, path, bytes: files.iter().map(|(_, bytes)| bytes).sum() })
    }

    fn names_of_ours(&self, dir: &Path) -> Result<Vec<String>> {
        let entries = match self.disk.list(dir) {
            Ok(entries) => entries,
            Err(error) => return missing_is(error, Vec::new(), "list", dir),
        };
        Ok(entries.iter().filter_map(|entry| Some(entry.name.to_str()?.to_string())).collect())
    }

    /// Whether a staging folder is one whose lock somebody holds; looking makes none.
    fn is_lived_in(&self, dir: &Path) -> Result<bool> {
        let path = dir.join(names::LOCK);
        let is = |path: &Path, kind| Ok(self.find(path)?.is_some_and(|found| found.kind == kind));
        if !is(dir, DiskKind::Dir)? || !is(&path, DiskKind::File)? {
            return Ok(false);
        }
        match self.disk.try_lock(&path, &holder("vacuum")) {
            Ok(lock) => Ok(lock.is_none()),
            Err(error) => missing_is(error, false, "lock", &path),
        }
    }

    pub(super) fn remove_one(&self, waste: &Waste) -> Result<()> {
        let path = self.home.join(&waste.path);
        self.refuse_links(path.parent().map(PathBuf::from))?;
        match waste.kind {
            WasteKind::Staging => self.sweep_one(&path),
            WasteKind::Orphan if self.find(&path)?.is_some_and(|f| f.kind == DiskKind::Dir) => {
                self.remove_own_tree(&path)
            }
            _ => {
                self.remove_if_there(&path)?;
                self.remove_empty_dirs(path.parent())
            }
        }
    }

    /// Removes the directories of `retained` that hold nothing.
    fn remove_empty_dirs(&self, dir: Option<&Path>) -> Result<()> {
        let root = self.home.join(names::RETAINED);
        let mut dir = dir.map(PathBuf::from);
        while let Some(path) = dir.filter(|dir| dir.starts_with(&root)) {
            match self.disk.remove_dir(&path) {
                Ok(()) => {}
                Err(error) if super::clean::is_not_empty(&error) => return Ok(()),
                Err(error) => missing_is(error, (), "remove", &path)?,
            }
            dir = path.parent().map(PathBuf::from);
        }
        Ok(())
    }
}
