//! The names of partition levels, remembered for as long as their directories stay the same.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use super::LocalTable;
use super::disk::{DirectoryState, DiskKind};
use crate::Result;
use crate::backend::Names;
use crate::cache::Cache;
use crate::partition::PartitionColumn;
use crate::snapshot::TypedNames;

/// How many names are remembered, of all tables of the process.
const NAMES_REMEMBERED: usize = 250_000;

static LEVELS: LazyLock<Cache<(PathBuf, PartitionColumn), Level>> =
    LazyLock::new(|| Cache::new(NAMES_REMEMBERED));

#[derive(Clone)]
struct Level {
    state: DirectoryState,
    names: Arc<TypedNames>,
}

impl LocalTable {
    /// The visible names of one directory as values of a column; none if it isn't there.
    pub(super) fn level_in(&self, dir: &str, column: &PartitionColumn) -> Result<Arc<TypedNames>> {
        let key = (self.live(dir), column.clone());
        // What can't be told is an error of the listing, if it is one.
        let state = || self.disk.directory_state(&key.0).ok().flatten();
        let before = state();
        if let (Some(before), Some(known)) = (before, LEVELS.get(&key))
            && known.state == before
        {
            return Ok(known.names);
        }
        let (names, has_links) = self.names_and_links_in(dir)?;
        let names = Arc::new(TypedNames::new(column, names)?);
        if let Some(state) = state().filter(|after| !has_links && before == Some(*after)) {
            LEVELS.put(key, Level { state, names: Arc::clone(&names) }, 1 + names.len());
        }
        Ok(names)
    }

    /// The visible names of one directory; none if it isn't there.
    pub(super) fn names_in(&self, dir: &str) -> Result<Names> {
        Ok(self.names_and_links_in(dir)?.0)
    }

    /// The same, and whether one is a link: what that is can change without a change here.
    fn names_and_links_in(&self, dir: &str) -> Result<(Names, bool)> {
        let path = self.live(dir);
        let mut names = Names::default();
        let mut has_links = false;
        for entry in self.entries(&path)? {
            has_links |= entry.kind == DiskKind::Link;
            let Some(name) = entry.name.to_str() else {
                names.odd.push(crate::names::join(dir, &entry.name.to_string_lossy()));
                continue;
            };
            if crate::names::is_hidden(name) {
                continue;
            }
            match self.kind_behind(&path, &entry)? {
                Some(DiskKind::Dir) => names.dirs.push(name.to_string()),
                Some(DiskKind::File) => names.files.push(name.to_string()),
                _ => names.odd.push(crate::names::join(dir, name)),
            }
        }
        names.dirs.sort_unstable();
        names.files.sort_unstable();
        Ok((names, has_links))
    }
}
