//! `DROP CHECKPOINT`: a query begins anew.

use std::fs;
use std::io::ErrorKind as IoKind;
use std::path::Path;

use super::disk::blocking;
use super::lock::Held;
use crate::{Error, Result};

/// The names in a checkpoint, the one that makes it one last.
const FOLDERS: [&str; 4] = ["offsets", "commits", "state", "sources"];
const FILES: [&str; 2] = ["query.json", "lock"];

/// Removes a checkpoint: a query that is started with the folder begins anew, and reads its source
/// from the beginning. False where there is none. What else lies in the folder stays.
///
/// # Errors
/// `Busy` where a query runs on it: who. A folder that is no checkpoint.
pub async fn drop_checkpoint(dir: impl AsRef<Path>) -> Result<bool> {
    let dir = dir.as_ref().to_path_buf();
    blocking(move || discard(&dir)).await
}

fn discard(dir: &Path) -> Result<bool> {
    if !dir.exists() {
        return Ok(false);
    }
    if !dir.join("query.json").exists() {
        return Err(Error::invalid(format!(
            "{} is no checkpoint of a query: it has no query.json",
            dir.display()
        )));
    }
    let held = Held::take(&dir.join("lock"))?;
    for folder in FOLDERS.map(|name| dir.join(name)) {
        gone(&folder, fs::remove_dir_all(&folder))?;
    }
    for file in FILES.map(|name| dir.join(name)) {
        gone(&file, fs::remove_file(&file))?;
    }
    drop(held);
    // Not where there is something else in it.
    let _ = fs::remove_dir(dir);
    Ok(true)
}

fn gone(path: &Path, removed: std::io::Result<()>) -> Result<()> {
    match removed {
        Err(cause) if cause.kind() != IoKind::NotFound => Err(Error::io("remove", path, cause)),
        _ => Ok(()),
    }
}
