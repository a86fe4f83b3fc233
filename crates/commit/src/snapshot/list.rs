//! The listing a snapshot starts from: level by level, only what the selector wants.

use std::collections::HashMap;

use super::PartitionSelector;
use crate::backend::{Backend, FoundFile};
use crate::partition::{PartitionColumn, PartitionKey, PartitionValue, component};
use crate::{Error, Result, names};

/// How many names a warning or a list of warnings gives.
const NAMED_IN_WARNINGS: usize = 5;

/// The selected directories and their files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) levels: Levels,
    pub(crate) files: Vec<FoundFile>,
    pub(crate) warnings: Vec<String>,
}

/// The directories of the partition levels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    /// The leaf directories, also those without files.
    pub(crate) dirs: HashMap<String, PartitionKey>,
    /// The directories of every level by the values they stand for.
    pub(crate) prefixes: HashMap<Vec<PartitionValue>, Vec<String>>,
    /// Whether a directory that was seen is spelled in another way than this crate does.
    pub(crate) spelled_otherwise: bool,
    passed: PassedOver,
}

struct Level {
    path: String,
    values: Vec<PartitionValue>,
}

/// How a table is listed.
pub(crate) struct Lister<'a> {
    pub(crate) backend: &'a dyn Backend,
    pub(crate) columns: &'a [PartitionColumn],
    pub(crate) selector: &'a dyn PartitionSelector,
    /// Whether every directory is known to be spelled as this crate does: where the selector names
    /// the values it wants, their directories are gone to without looking which there are.
    pub(crate) spelled_by_us: bool,
}

/// Lists the partitions that `selector` selects.
pub(crate) async fn list(
    backend: &dyn Backend,
    columns: &[PartitionColumn],
    selector: &dyn PartitionSelector,
) -> Result<Listing> {
    Lister { backend, columns, selector, spelled_by_us: false }.list().await
}

/// Lists the directories of the selected partitions, by name alone.
pub(crate) async fn list_levels(
    backend: &dyn Backend,
    columns: &[PartitionColumn],
    selector: &dyn PartitionSelector,
) -> Result<Levels> {
    Lister { backend, columns, selector, spelled_by_us: false }.levels().await
}

/// Lists the files of these leaf directories.
pub(crate) async fn list_below(
    backend: &dyn Backend,
    levels: Levels,
    mut dirs: Vec<String>,
) -> Result<Listing> {
    dirs.sort_unstable();
    let mut passed = levels.passed.clone();
    let mut files = Vec::new();
    for mut found in backend.list_files(dirs).await? {
        files.append(&mut found.files);
        passed.empty.append(&mut found.empty);
        passed.strays.append(&mut found.strays);
        passed.odd.append(&mut found.odd);
    }
    Ok(Listing { levels, files, warnings: passed.warnings() })
}

impl Lister<'_> {
    /// The selected directories and their files.
    pub(crate) async fn list(&self) -> Result<Listing> {
        let levels = self.levels().await?;
        let dirs = levels.dirs.keys().cloned().collect();
        list_below(self.backend, levels, dirs).await
    }

    async fn levels(&self) -> Result<Levels> {
        let mut levels = Levels::default();
        let wanted = self.selector.leading_values();
        let mut level = vec![Level { path: String::new(), values: Vec::new() }];
        for (depth, column) in self.columns.iter().enumerate() {
            let wanted = wanted.get(depth).map(Vec::as_slice);
            let below = match wanted {
                Some(wanted) if self.spelled_by_us => spelled(column, &level, wanted),
                _ => self.listed(column, &level, wanted, &mut levels).await?,
            };
            level = self.selected(below)?;
            for found in &level {
                let paths = levels.prefixes.entry(found.values.clone()).or_default();
                paths.push(found.path.clone());
            }
        }
        levels.dirs = level.into_iter().map(|l| (l.path, PartitionKey::new(l.values))).collect();
        Ok(levels)
    }

    /// The directories there are one level below; of these values, where they are known.
    async fn listed(
        &self,
        column: &PartitionColumn,
        level: &[Level],
        wanted: Option<&[PartitionValue]>,
        levels: &mut Levels,
    ) -> Result<Vec<Level>> {
        let paths = level.iter().map(|l| l.path.clone()).collect();
        let found = self.backend.list_level(paths, column).await?;
        let mut below = Vec::new();
        for (above, names) in level.iter().zip(found) {
            levels.spelled_otherwise |= names.spelled_otherwise;
            levels.passed.odd.extend_from_slice(&names.odd);
            levels.passed.strays.extend(names.stray_paths(&above.path));
            match wanted {
                Some(wanted) => below.extend(names.of(wanted).map(|found| above.below(found))),
                None => below.extend(names.all().map(|found| above.below(found))),
            }
        }
        Ok(below)
    }

    fn selected(&self, mut below: Vec<Level>) -> Result<Vec<Level>> {
        let prefixes: Vec<Vec<PartitionValue>> =
            below.iter_mut().map(|l| std::mem::take(&mut l.values)).collect();
        let selected = self.selector.select(&prefixes)?;
        if selected.len() != below.len() {
            return Err(Error::internal(format!(
                "a partition selector gave {} answers for {} prefixes",
                selected.len(),
                below.len()
            )));
        }
        let wanted = below.into_iter().zip(prefixes).zip(selected).filter(|(_, wanted)| *wanted);
        Ok(wanted.map(|((l, values), _)| Level { values, ..l }).collect())
    }
}

impl Level {
    fn below(&self, (name, value): &(String, PartitionValue)) -> Self {
        let mut values = Vec::with_capacity(self.values.len() + 1);
        values.extend_from_slice(&self.values);
        values.push(value.clone());
        Self { path: names::join(&self.path, name), values }
    }
}

/// The directories that these values have one level below, if they are there. A value that this
/// crate refuses to spell has none.
fn spelled(column: &PartitionColumn, level: &[Level], wanted: &[PartitionValue]) -> Vec<Level> {
    let spelled = wanted.iter().filter_map(|value| Some((component(column, value).ok()?, value)));
    let names: Vec<_> = spelled.map(|(name, value)| (name, value.clone())).collect();
    level.iter().flat_map(|above| names.iter().map(|found| above.below(found))).collect()
}

/// What a listing passes over, told in warnings.
#[derive(Clone, Debug, Default)]
struct PassedOver {
    empty: Vec<String>,
    strays: Vec<String>,
    odd: Vec<String>,
}

impl PassedOver {
    fn warnings(mut self) -> Vec<String> {
        let kinds = [
            (&mut self.strays, "not part of the table, ignored"),
            (&mut self.empty, "empty, skipped"),
            (&mut self.odd, "a name that can't be read, ignored"),
        ];
        kinds.into_iter().filter_map(|(names, what)| warning(names, what)).collect()
    }
}

fn warning(names: &mut [String], what: &str) -> Option<String> {
    names.sort_unstable();
    let named: Vec<&str> = names.iter().take(NAMED_IN_WARNINGS).map(String::as_str).collect();
    let more = names.len().saturating_sub(NAMED_IN_WARNINGS);
    match (named.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(format!("{what}: {}", named.join(", "))),
        (false, more) => Some(format!("{what}: {} and {more} more", named.join(", "))),
    }
}
