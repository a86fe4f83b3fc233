//! The partition columns of a tree without a log.

use crate::backend::{Backend, Names};
use crate::partition::{Component, Inference, PartitionColumn, parse_component};
use crate::{Error, Result, names};

/// Names from the directories, level by level as long as all of a level agree; types over all
/// values.
pub(crate) async fn discover(backend: &dyn Backend) -> Result<Vec<PartitionColumn>> {
    let mut columns: Vec<PartitionColumn> = Vec::new();
    let mut level = vec![String::new()];
    loop {
        let found = backend.list_names(level.clone()).await?;
        let mut below: Vec<(String, Component)> = Vec::new();
        for (above, names) in level.iter().zip(&found) {
            for name in &names.dirs {
                if let Some(component) = parse_component(name) {
                    below.push((names::join(above, name), component));
                }
            }
        }
        if !agree(&below) {
            below = with_data(backend, below).await?;
        }
        let Some((_, first)) = below.first() else { return Ok(columns) };
        if !columns.is_empty() {
            refuse_uneven(backend, &level, &found, &below[0].0)?;
        }
        let name = first.name.clone();
        let mut inference = Inference::default();
        for (path, component) in &below {
            refuse_other_name(backend, path, &component.name, &name)?;
            inference.see(component.text.as_deref());
        }
        refuse_twice(backend, &columns, &name)?;
        columns.push(PartitionColumn::new(name, inference.ty()));
        level = below.into_iter().map(|(path, _)| path).collect();
    }
}

fn agree(below: &[(String, Component)]) -> bool {
    let names = || below.iter().map(|(_, component)| component.name.to_lowercase());
    names().next().is_none_or(|first| names().all(|name| name == first))
}

/// Leaves out directories without data: an overwrite by another tool can leave those of an earlier
/// partitioning behind, empty.
async fn with_data(
    backend: &dyn Backend,
    below: Vec<(String, Component)>,
) -> Result<Vec<(String, Component)>> {
    let paths = below.iter().map(|(path, _)| path.clone()).collect();
    let found = backend.list_files(paths).await?;
    let full = below.into_iter().zip(found).filter(|(_, files)| !files.files.is_empty());
    Ok(full.map(|(directory, _)| directory).collect())
}

fn refuse_other_name(backend: &dyn Backend, path: &str, name: &str, first: &str) -> Result<()> {
    if name.to_lowercase() == first.to_lowercase() {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the directories of {} don't agree on a partition column: {path} beside {first}=...; declare \
         the partition columns, or point at one of the trees",
        backend.shown()
    )))
}

/// Data files beside directories of one more level would silently be no part of the table.
fn refuse_uneven(
    backend: &dyn Backend,
    level: &[String],
    found: &[Names],
    deeper: &str,
) -> Result<()> {
    let data = level.iter().zip(found).find_map(|(dir, names)| {
        let file = names.files.iter().find(|name| names::is_data(name))?;
        Some(names::join(dir, file))
    });
    match data {
        None => Ok(()),
        Some(file) => Err(Error::invalid(format!(
            "{} has data files at two levels: {file}, and below {deeper}; declare the partition \
             columns, or point at one of the trees",
            backend.shown()
        ))),
    }
}

fn refuse_twice(backend: &dyn Backend, columns: &[PartitionColumn], name: &str) -> Result<()> {
    if columns.iter().all(|column| column.name.to_lowercase() != name.to_lowercase()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "partition column {name} stands at two levels of {}: point at the tree that is meant",
        backend.shown()
    )))
}
