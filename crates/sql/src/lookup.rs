//! Tables by their names as SQL spells them.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::TableReference;
use datafusion::execution::context::SessionState;
use partwise_stream::StreamTable;
use partwise_table::PartwiseTable;

use crate::lake::LakeSchema;
use crate::{Error, Result, missing, path_table};

/// A name as SQL spells it; in single quotes, a path.
pub(crate) fn reference(name: &str) -> TableReference {
    match name.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(path) => TableReference::bare(path.replace("''", "'")),
        None => TableReference::parse_str(name),
    }
}

/// The table of that name; none if there is none.
///
/// # Errors
/// A table that can't be opened.
pub(crate) async fn find(
    state: &SessionState,
    reference: &TableReference,
) -> Result<Option<Arc<dyn TableProvider>>> {
    let schema = state.schema_for_ref(reference.clone())?;
    Ok(schema.table(reference.table()).await?)
}

/// The table of that name.
///
/// # Errors
/// No such table, naming those there are.
pub(crate) async fn table(
    state: &SessionState,
    reference: &TableReference,
) -> Result<Arc<dyn TableProvider>> {
    match find(state, reference).await? {
        Some(found) => Ok(found),
        None => Err(missing::no_table(state, &reference.to_string()).await),
    }
}

/// The table of that name, to be changed: a folder that is called so, in the working directory, has
/// to be named as a path.
///
/// # Errors
/// No such table, naming those there are.
pub(crate) async fn changed(
    state: &SessionState,
    reference: &TableReference,
) -> Result<Arc<dyn TableProvider>> {
    let schema = state.schema_for_ref(reference.clone())?;
    let name = reference.table();
    let Some(lake) = schema.as_ref().downcast_ref::<LakeSchema>() else {
        return table(state, reference).await;
    };
    if path_table::looks_like_path(name) {
        return table(state, reference).await;
    }
    match lake.named(name).await? {
        Some(found) => Ok(found),
        None if Path::new(name).exists() => Err(Error::invalid(format!(
            "there is no table {name}; the folder or file of that name is changed by its path alone: \
             './{name}'"
        ))),
        None => Err(missing::no_table(state, &reference.to_string()).await),
    }
}

/// A table as one of ours.
///
/// # Errors
/// A view, a file or a glob.
pub(crate) fn ours<'a>(
    name: &dyn Display,
    table: &'a Arc<dyn TableProvider>,
) -> Result<&'a PartwiseTable> {
    refuse_stream(name, table.as_ref())?;
    table.as_ref().downcast_ref::<PartwiseTable>().ok_or_else(|| not_ours(name))
}

/// Refuses a stream where a table is needed.
///
/// # Errors
/// It is a stream: what goes with one.
pub(crate) fn refuse_stream(name: &dyn Display, table: &dyn TableProvider) -> Result<()> {
    match table.is::<StreamTable>() {
        false => Ok(()),
        true => Err(Error::invalid(format!(
            "{name} is a stream: its rows come from its source, it has no files or history, and no \
             statement changes it. START QUERY .. AS SELECT .. FROM {name} reads it, DROP STREAM \
             {name} forgets it"
        ))),
    }
}

/// What is said of a table that isn't one of ours.
pub(crate) fn not_ours(name: &dyn Display) -> Error {
    Error::invalid(format!(
        "{name} is a view, a file or a glob, not a table of Parquet files in a directory: nothing \
         can be written to it, and it has no partitions, files or history"
    ))
}
