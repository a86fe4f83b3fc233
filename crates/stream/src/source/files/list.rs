//! What is in the folder, and which file each one is.

use datafusion::error::DataFusionError;
use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// The files below a folder by their time, then name.
pub(super) async fn list(
    store: &dyn ObjectStore,
    prefix: &Path,
    extension: &str,
) -> Result<Vec<FoundFile>> {
    let found: Vec<ObjectMeta> =
        store.list(Some(prefix)).try_collect().await.map_err(DataFusionError::from)?;
    let ours = found.into_iter().filter(|meta| meta.size > 0 && reads(prefix, meta, extension));
    let mut files: Vec<FoundFile> = ours.map(FoundFile::from).collect();
    files.sort_by(|a, b| (a.modified_ns, &a.path).cmp(&(b.modified_ns, &b.path)));
    Ok(files)
}

/// Whether a file is one to read: by its ending, and no part of its path hidden.
fn reads(prefix: &Path, meta: &ObjectMeta, extension: &str) -> bool {
    let ending = meta.location.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension));
    let hidden = |part: &str| part.starts_with(['_', '.']) && !part.contains('=');
    ending
        && meta
            .location
            .prefix_match(prefix)
            .is_some_and(|mut parts| !parts.any(|part| hidden(part.as_ref())))
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
pub(super) async fn check_same(store: &dyn ObjectStore, offsets: &FileOffsets) -> Result<()> {
    for file in &offsets.files {
        let there = match store.head(&as_meta(file)?.location).await {
            Ok(there) => FoundFile::from(there),
            Err(object_store::Error::NotFound { .. }) => return Err(gone(file)),
            Err(error) => return Err(DataFusionError::from(error).into()),
        };
        if there != *file {
            return Err(changed(file));
        }
    }
    Ok(())
}

fn gone(file: &FoundFile) -> Error {
    Error::new(
        ErrorKind::Invalid,
        format!(
            "/{} is gone, and the batch that reads it isn't committed: put it back (input may be \
             deleted once its batch is committed)",
            file.path
        ),
    )
}

fn changed(file: &FoundFile) -> Error {
    Error::refused(format!(
        "/{} has changed since the batch that reads it began, so the batch can't be repeated as it \
         was: put the file back as it was ({} bytes), or start the query with a new CHECKPOINT",
        file.path, file.size
    ))
}
