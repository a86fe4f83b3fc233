//! A path as a table: a directory (partition columns found), a glob, or a single file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use datafusion::catalog::TableProvider;
use datafusion::common::DataFusionError;
use datafusion::datasource::listing::{
    ListingTable, ListingTableConfig, ListingTableConfigExt, ListingTableUrl,
};
use datafusion::execution::context::SessionState;
use futures::TryStreamExt;
use partwise_commit::{Location, is_address};
use partwise_table::{OpenOptions, PartwiseTable};
use url::Url;

use crate::files_table::FilesTable;
use crate::{Error, Result, place};

/// What a pattern is told by.
const WILDCARDS: [char; 3] = ['*', '?', '['];

/// Whether a table name can only be meant as a path.
pub fn looks_like_path(name: &str) -> bool {
    const EXTENSIONS: [&str; 5] = [".parquet", ".csv", ".json", ".jsonl", ".ndjson"];
    name.contains(['/', '*', '?']) || EXTENSIONS.iter().any(|e| name.ends_with(e))
}

/// Opens what lies at a path.
///
/// # Errors
/// Nothing there, no files that match, files that can't be read.
pub async fn open(name: &str, state: &SessionState) -> Result<Arc<dyn TableProvider>> {
    if is_address(name) {
        return open_address(name, state).await;
    }
    let path = name.strip_prefix("file://").unwrap_or(name);
    if path.contains(WILDCARDS) && !Path::new(path).exists() {
        return open_glob(path, state).await;
    }
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => open_directory(path, state).await,
        Ok(_) => open_files(&glob::Pattern::escape(path), vec![path.to_owned()], state).await,
        Err(cause) => Err(Error::invalid(format!("no file or directory {path}: {cause}"))),
    }
}

/// What lies at an address: a table's directory, or files by an extension or a pattern.
async fn open_address(address: &str, state: &SessionState) -> Result<Arc<dyn TableProvider>> {
    if !place::names_files(address) {
        let location = place::location(state, address, &BTreeMap::new())?;
        return Ok(Arc::new(open_table(location, state).await?));
    }
    place::register(state, address, &BTreeMap::new())?;
    let url = match address.find(WILDCARDS) {
        None => ListingTableUrl::parse(address)?,
        Some(wildcard) => pattern_of(address, wildcard)?,
    };
    let store = state.runtime_env().object_store(url.object_store())?;
    let found = url.list_all_files(state, store.as_ref(), "").await?.try_next().await;
    if found.map_err(|e| unreadable(address, e.into()))?.is_none() {
        return Err(Error::invalid(format!("no file matches {address}")));
    }
    let config = ListingTableConfig::new(url).infer(state).await;
    let config = config.map_err(|e| unreadable(address, e.into()))?;
    Ok(Arc::new(ListingTable::try_new(config)?))
}

/// The files of a pattern below an address: the part up to the last slash in front of its first
/// wildcard is listed.
fn pattern_of(address: &str, wildcard: usize) -> Result<ListingTableUrl> {
    let end = address[..wildcard].rfind('/').map_or(wildcard, |slash| slash + 1);
    let (base, pattern) = address.split_at(end);
    let wrong =
        |e: &dyn fmt::Display| Error::invalid(format!("the pattern {address} is wrong: {e}"));
    let base = Url::parse(base).map_err(|e| wrong(&e))?;
    let pattern = glob::Pattern::new(pattern).map_err(|e| wrong(&e))?;
    Ok(ListingTableUrl::try_new(base, Some(pattern))?)
}

async fn open_directory(path: &str, state: &SessionState) -> Result<Arc<dyn TableProvider>> {
    Ok(Arc::new(open_table(Location::local(path), state).await?))
}

/// Opens the table that a directory is.
///
/// # Errors
/// Nothing there, a file, a folder of tables, files that can't be read.
pub async fn open_table(location: Location, state: &SessionState) -> Result<PartwiseTable> {
    let location = place::resolved(state, location)?;
    let path = location.display();
    if let Location::Local { dir, .. } = &location {
        check_table_path(dir)?;
        if !dir.exists() {
            return Err(Error::invalid(format!("there is no directory {path}")));
        }
    }
    let opened = PartwiseTable::open(location, OpenOptions::default(), state).await?;
    opened.ok_or_else(|| {
        Error::invalid(format!(
            "{path} holds no Parquet file, so it has no columns: check the path, or make a table \
             there with CREATE TABLE .. LOCATION '{path}'"
        ))
    })
}

/// Refuses a path that can't be a table's, whether something is there or not.
///
/// # Errors
/// What is there.
pub fn check_table_path(dir: &Path) -> Result<()> {
    let path = dir.display();
    if dir.as_os_str().is_empty() {
        return Err(Error::invalid("an empty path: name the table's directory"));
    }
    if dir.is_file() {
        return Err(Error::invalid(format!("{path} is a file: a table is a directory of files")));
    }
    if dir.join("_partwise").is_dir() {
        return Err(Error::invalid(format!(
            "{path} is a folder of tables, not a table: name one of the directories in it"
        )));
    }
    Ok(())
}

async fn open_glob(pattern: &str, state: &SessionState) -> Result<Arc<dyn TableProvider>> {
    let paths = glob::glob(pattern)
        .map_err(|e| Error::invalid(format!("the pattern {pattern} is wrong: {e}")))?;
    let mut files = Vec::new();
    for path in paths {
        let path = path.map_err(|e| Error::invalid(format!("reading {pattern}: {e}")))?;
        if path.is_file() {
            files.push(path.to_string_lossy().into_owned());
        }
    }
    if files.is_empty() {
        return Err(Error::invalid(format!("no file matches {pattern}")));
    }
    open_files(pattern, files, state).await
}

/// A table over files as they are: DataFusion's own, with the columns of all of them. Each footer
/// is read once, so that a damaged file is named.
async fn open_files(
    pattern: &str,
    files: Vec<String>,
    state: &SessionState,
) -> Result<Arc<dyn TableProvider>> {
    let urls = files.iter().map(ListingTableUrl::parse).collect::<Result<Vec<_>, _>>()?;
    let config = ListingTableConfig::new_with_multi_paths(urls.clone());
    let config = config.infer_options(state).await.map_err(|e| unreadable(&files[0], e.into()))?;
    let Some(options) = &config.options else {
        return Err(DataFusionError::Internal("a listing without options".into()).into());
    };
    let mut columns = Schema::empty();
    for (file, url) in files.iter().zip(&urls) {
        let found = options.infer_schema(state, url).await;
        let found = found.map_err(|e| unreadable(file, e.into()))?;
        columns = merged(columns, &found).map_err(|e| unreadable(file, e))?;
    }
    let listing = ListingTable::try_new(config.with_schema(Arc::new(columns)))?;
    Ok(Arc::new(FilesTable::new(listing, pattern, &files)?))
}

fn merged(columns: Schema, more: &Schema) -> Result<Schema> {
    if columns.fields().is_empty() {
        return Ok(more.clone());
    }
    Schema::try_merge([columns, more.clone()])
        .map_err(|e| Error::invalid(format!("its columns don't fit the files before it: {e}")))
}

fn unreadable(file: &str, cause: Error) -> Error {
    Error::new(cause.kind(), format!("{file} can't be read: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_a_name() {
        for path in ["dir/", "./x", "a*.parquet", "x.parquet", "d/x?.csv"] {
            assert!(looks_like_path(path), "{path}");
        }
        for name in ["report", "trips_by_day", "a.b"] {
            assert!(!looks_like_path(name), "{name}");
        }
    }
}
