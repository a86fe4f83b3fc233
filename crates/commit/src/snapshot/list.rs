//! The listing a snapshot starts from: level by level, only what the selector wants.

use std::collections::HashMap;

use super::PartitionSelector;
use crate::backend::{Backend, FoundFile, Names};
use crate::partition::{PartitionColumn, PartitionKey, PartitionValue, parse_component};
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
    passed: PassedOver,
}

struct Level {
    path: String,
    values: Vec<PartitionValue>,
}

/// Lists the partitions that `selector` selects.
pub(crate) async fn list(
    backend: &dyn Backend,
    columns: &[PartitionColumn],
    selector: &dyn PartitionSelector,
) -> Result<Listing> {
    let levels = list_levels(backend, columns, selector).await?;
    let dirs = levels.dirs.keys().cloned().collect();
    list_below(backend, levels, dirs).await
}

/// Lists the directories of the selected partitions, by name alone.
pub(crate) async fn list_levels(
    backend: &dyn Backend,
    columns: &[PartitionColumn],
    selector: &dyn PartitionSelector,
) -> Result<Levels> {
    let mut passed = PassedOver::default();
    let mut prefixes: HashMap<Vec<PartitionValue>, Vec<String>> = HashMap::new();
    let mut level = vec![Level { path: String::new(), values: Vec::new() }];
    for column in columns {
        level = descend(backend, column, level, selector, &mut passed).await?;
        for found in &level {
            prefixes.entry(found.values.clone()).or_default().push(found.path.clone());
        }
    }
    let dirs = level.into_iter().map(|l| (l.path, PartitionKey::new(l.values))).collect();
    Ok(Levels { dirs, prefixes, passed })
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

/// The directories one level below that belong to `column` and are selected.
async fn descend(
    backend: &dyn Backend,
    column: &PartitionColumn,
    level: Vec<Level>,
    selector: &dyn PartitionSelector,
    passed: &mut PassedOver,
) -> Result<Vec<Level>> {
    let paths = level.iter().map(|l| l.path.clone()).collect();
    let found = backend.list_names(paths).await?;
    let mut below = Vec::new();
    for (above, names) in level.iter().zip(found) {
        candidates(column, above, names, &mut below, passed)?;
    }
    let prefixes: Vec<Vec<PartitionValue>> = below.iter().map(|l| l.values.clone()).collect();
    let selected = selector.select(&prefixes)?;
    if selected.len() != below.len() {
        return Err(Error::internal(format!(
            "a partition selector gave {} answers for {} prefixes",
            selected.len(),
            below.len()
        )));
    }
    Ok(below.into_iter().zip(selected).filter_map(|(l, s)| s.then_some(l)).collect())
}

fn candidates(
    column: &PartitionColumn,
    above: &Level,
    names: Names,
    below: &mut Vec<Level>,
    passed: &mut PassedOver,
) -> Result<()> {
    passed.odd.extend(names.odd);
    passed.strays.extend(names.files.iter().map(|name| names::join(&above.path, name)));
    for name in names.dirs {
        let path = names::join(&above.path, &name);
        match parse_component(&name).filter(|component| component.belongs_to(column)) {
            Some(component) => {
                let mut values = above.values.clone();
                values.push(component.value(column)?);
                below.push(Level { path, values });
            }
            None => passed.strays.push(path),
        }
    }
    Ok(())
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
