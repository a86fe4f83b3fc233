//! The names of one directory as the values of a partition column.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::backend::Names;
use crate::partition::{PartitionColumn, PartitionValue, component, parse_component};
use crate::{Result, names};

/// A directory's visible names, those of a partition column with their values.
#[derive(Debug, Default)]
pub(crate) struct TypedNames {
    /// The directories that belong to the column, by name, with their values.
    dirs: Vec<(String, PartitionValue)>,
    /// Whether one of them is spelled in another way than this crate does.
    pub(crate) spelled_otherwise: bool,
    /// Visible names that are no such directory.
    pub(crate) strays: Vec<String>,
    /// Paths that can't be read.
    pub(crate) odd: Vec<String>,
    by_value: OnceLock<HashMap<PartitionValue, Vec<usize>>>,
}

impl TypedNames {
    /// Types the names of a directory.
    ///
    /// # Errors
    /// `Invalid` for a value that isn't one of the column's type.
    pub(crate) fn new(column: &PartitionColumn, names: Names) -> Result<Self> {
        let mut typed = Self { strays: names.files, odd: names.odd, ..Self::default() };
        for name in names.dirs {
            match parse_component(&name).filter(|found| found.belongs_to(column)) {
                Some(found) => {
                    let value = found.value(column)?;
                    let own = component(column, &value);
                    typed.spelled_otherwise |= !own.is_ok_and(|own| own == name);
                    typed.dirs.push((name, value));
                }
                None => typed.strays.push(name),
            }
        }
        Ok(typed)
    }

    /// All directories with their values.
    pub(crate) fn all(&self) -> impl Iterator<Item = &(String, PartitionValue)> {
        self.dirs.iter()
    }

    /// The directories of these values.
    pub(crate) fn of<'a>(
        &'a self,
        values: &'a [PartitionValue],
    ) -> impl Iterator<Item = &'a (String, PartitionValue)> {
        let by_value = self.by_value.get_or_init(|| self.index());
        let found = values.iter().filter_map(|value| by_value.get(value)).flatten();
        found.map(|at| &self.dirs[*at])
    }

    fn index(&self) -> HashMap<PartitionValue, Vec<usize>> {
        let mut by_value: HashMap<PartitionValue, Vec<usize>> = HashMap::new();
        for (at, (_, value)) in self.dirs.iter().enumerate() {
            by_value.entry(value.clone()).or_default().push(at);
        }
        by_value
    }

    /// How many names it holds.
    pub(crate) fn len(&self) -> usize {
        self.dirs.len() + self.strays.len() + self.odd.len()
    }

    /// The strays as paths, where this is the directory `dir`.
    pub(crate) fn stray_paths(&self, dir: &str) -> impl Iterator<Item = String> {
        self.strays.iter().map(move |name| names::join(dir, name))
    }
}
