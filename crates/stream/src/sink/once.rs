//! Run-once: what a function has done is written down beside the checkpoint or elsewhere.

use std::future::Future;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::BatchId;
use crate::checkpoint::{blocking, read_file, replace};
use crate::{Error, Result};

/// A folder of notes of the batches that are done: one file for each query, its last batch in it.
///
/// A process that dies between what the function did and the note repeats the function; where even
/// that mustn't be, put (query id, batch) into the transaction of the function itself.
#[derive(Clone, Debug)]
pub struct Once {
    folder: PathBuf,
}

impl Once {
    /// Notes in this folder; it is made with the first.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Runs a batch's work, unless it is noted as done; then none.
    ///
    /// # Errors
    /// What the work fails with: then nothing is noted. `Refused` for a batch that is noted with
    /// other input.
    pub async fn run<T, F>(&self, id: &BatchId, work: F) -> Result<Option<T>>
    where
        F: Future<Output = Result<T>>,
    {
        let path = self.folder.join(&id.query_id);
        let noted = {
            let path = path.clone();
            blocking(move || note(&path)).await?
        };
        match noted {
            Some(noted) if noted.batch == id.batch && noted.digest != id.digest => {
                return Err(Error::refused(format!(
                    "batch {} of {} is noted in {} with other input: it is another checkpoint's",
                    id.batch,
                    id.query,
                    path.display()
                )));
            }
            Some(noted) if noted.batch >= id.batch => return Ok(None),
            _ => {}
        }
        let done = work.await?;
        let noted = Noted { batch: id.batch, digest: id.digest.clone() };
        blocking(move || make_note(&path, &noted)).await?;
        Ok(Some(done))
    }
}

/// The last batch that is done.
#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    batch: u64,
    digest: String,
}

fn note(path: &Path) -> Result<Option<Noted>> {
    let Some(content) = read_file(path)? else { return Ok(None) };
    let noted = serde_json::from_slice(&content);
    Ok(Some(noted.map_err(|cause| Error::corrupt(format!("{}: {cause}", path.display())))?))
}

fn make_note(path: &Path, noted: &Noted) -> Result<()> {
    let content = serde_json::to_vec(noted)
        .map_err(|cause| Error::internal(format!("a note as JSON: {cause}")))?;
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).map_err(|e| Error::io("make the folder", folder, e))?;
    replace(path, &content)
}
