//! `DROP CHECKPOINT`: a query begins anew.

use std::fs;
use std::io::ErrorKind as IoKind;
use std::path::Path;

use super::disk::blocking;
use super::lock::Held;
use crate::{Error, Result};

/// The names in a checkpoint, the one that makes it one last. What is left when this is cut off is
/// whole, or lacks what a start asks for: sums without commits would be input that nobody reads, and
/// states without commits those of another run.
const FOLDERS: [&str; 4] = ["sources", "state", "offsets", "commits"];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_cut_off_leaves_no_sums_without_commits() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path();
        for name in ["sources", "offsets", "commits"] {
            fs::create_dir(dir.join(name)).expect("a folder");
            fs::write(dir.join(name).join("100"), b"{}").expect("a file");
        }
        fs::write(dir.join("query.json"), b"{}").expect("a file");
        // What can't be removed as a folder is where it stops.
        fs::write(dir.join("state"), b"").expect("a file");
        discard(dir).expect_err("cut off");
        assert!(!dir.join("sources").exists());
        assert!(dir.join("offsets/100").exists() && dir.join("commits/100").exists());
        fs::remove_file(dir.join("state")).expect("removed");
        assert!(discard(dir).expect("discarded"));
        assert!(!dir.exists());
    }
}
