//! What is in the folder, and which file each one is.

use futures::TryStreamExt;
use object_store::path::{Path, PathPart};
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FileFormatName;
use super::folder::Folder;
use crate::{Error, ErrorKind, Result};

/// The exact files of a batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FileOffsets {
    pub files: Vec<FoundFile>,
}

/// A file and which of that name it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FoundFile {
    /// The path in its store.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was changed, nanoseconds since 1970.
    pub modified_ns: i64,
}

impl FileOffsets {
    /// Reads them.
    pub fn of(offsets: &Value) -> Result<Self> {
        serde_json::from_value(offsets.clone())
            .map_err(|cause| Error::corrupt(format!("offsets that are no list of files: {cause}")))
    }
}

/// What is in a folder.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Files to read, by their time, then name.
    pub files: Vec<FoundFile>,
    /// How many other files there are, hidden and empty ones apart.
    pub others: usize,
}

/// Lists a folder.
///
/// # Errors
/// A folder that isn't there or can't be listed, named.
pub(super) async fn list(
    store: &dyn ObjectStore,
    folder: &Folder,
    format: FileFormatName,
) -> Result<Listing> {
    if !folder.is_there().await? {
        return Err(away(folder));
    }
    let prefix = folder.url().prefix();
    let found: Vec<ObjectMeta> = store.list(Some(prefix)).try_collect().await.map_err(|cause| {
        let text = format!("{folder} can't be listed: {cause}");
        Error::new(ErrorKind::Unavailable, text).with_source(cause)
    })?;
    let visible = found.into_iter().filter(|file| file.size > 0 && !is_hidden(prefix, file));
    let (ours, others): (Vec<_>, Vec<_>) = visible.partition(|file| format.names(&file.location));
    let mut files: Vec<FoundFile> = ours.into_iter().map(FoundFile::from).collect();
    files.sort_by(|a, b| (a.modified_ns, &a.path).cmp(&(b.modified_ns, &b.path)));
    Ok(Listing { files, others: others.len() })
}

fn away(folder: &Folder) -> Error {
    let text = format!(
        "the folder {folder} isn't there: have it back (is its disk mounted?), then start the query \
         again"
    );
    Error::new(ErrorKind::Unavailable, text)
}

/// Whether a file is hidden, or in a hidden folder: `_x` or `.x`. Folders such as `_day=1` hold the
/// rows of a value.
fn is_hidden(prefix: &Path, file: &ObjectMeta) -> bool {
    let parts = file.location.prefix_match(prefix);
    let parts: Vec<_> = parts.map(Iterator::collect).unwrap_or_default();
    let Some((name, folders)) = parts.split_last() else { return true };
    let folder = |part: &PathPart<'_>| {
        let part = part.as_ref();
        part.starts_with('.') || part.starts_with('_') && !part.contains('=')
    };
    name.as_ref().starts_with(['_', '.']) || folders.iter().any(folder)
}

impl From<ObjectMeta> for FoundFile {
    fn from(meta: ObjectMeta) -> Self {
        let modified_ns = meta.last_modified.timestamp_nanos_opt().unwrap_or_default();
        Self { path: meta.location.to_string(), size: meta.size, modified_ns }
    }
}

/// The file as a scan names it.
pub(super) fn as_meta(file: &FoundFile) -> Result<ObjectMeta> {
    let location = Path::parse(&file.path)
        .map_err(|cause| Error::corrupt(format!("the path {} in offsets: {cause}", file.path)))?;
    let last_modified = chrono::DateTime::from_timestamp_nanos(file.modified_ns);
    Ok(ObjectMeta { location, last_modified, size: file.size, e_tag: None, version: None })
}

/// Checks that the files of a batch that runs again are those it began with.
pub(super) async fn check_same(
    store: &dyn ObjectStore,
    folder: &Folder,
    offsets: &FileOffsets,
) -> Result<()> {
    for file in &offsets.files {
        let path = as_meta(file)?.location;
        let name = folder.name_of(&path);
        let there = match store.head(&path).await {
            Ok(there) => FoundFile::from(there),
            Err(object_store::Error::NotFound { .. }) => return Err(gone(&name)),
            Err(cause) => {
                let text = format!("{name} can't be read: {cause}");
                return Err(Error::new(ErrorKind::Unavailable, text).with_source(cause));
            }
        };
        if there != *file {
            return Err(changed(&name, file));
        }
    }
    Ok(())
}

fn gone(name: &str) -> Error {
    Error::invalid(format!(
        "{name} is gone, and the batch that reads it isn't committed: put it back (input may be \
         deleted once its batch is committed)"
    ))
}

fn changed(name: &str, file: &FoundFile) -> Error {
    Error::refused(format!(
        "{name} has changed since the batch that reads it began, so the batch can't be repeated as it \
         was: put the file back as it was ({} bytes), or start the query with a new CHECKPOINT",
        file.size
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_hidden_by_their_names_and_those_of_their_folders() {
        let hidden = |path: &str| {
            let found = FoundFile { path: path.to_owned(), size: 1, modified_ns: 0 };
            is_hidden(&Path::from("_in/.x"), &as_meta(&found).expect("a path"))
        };
        for path in ["_in/.x/a", "_in/.x/day=1/a", "_in/.x/_day=1/a", "_in/.x/x=1.csv"] {
            assert!(!hidden(path), "{path}");
        }
        for path in [".a", "_a", ".x=1.csv", "_tmp=1.csv", "_x/a", ".day=1/a", "_day=1/_a"] {
            assert!(hidden(&format!("_in/.x/{path}")), "{path}");
        }
    }
}
