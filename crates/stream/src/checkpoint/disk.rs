//! Files of a checkpoint: whole and flushed, or not there.

use std::fs::{self, File};
use std::io::{ErrorKind as IoKind, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Runs file work where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|cause| Error::internal(format!("file work ended early: {cause}")))?
}

/// Makes a checkpoint's folders, flushed.
pub(super) fn make_folders(dir: &Path, folders: &[PathBuf]) -> Result<()> {
    if folders.iter().all(|folder| folder.is_dir()) {
        return Ok(());
    }
    for folder in folders {
        fs::create_dir_all(folder).map_err(|cause| Error::io("make the folder", folder, cause))?;
    }
    sync_dir(dir)
}

/// Makes a file with this content, unless there is one: then false. Whoever sees the file sees all
/// of it.
pub(super) fn create_once(path: &Path, content: &[u8]) -> Result<bool> {
    let temporary = written(path, content)?;
    let linked = fs::hard_link(&temporary, path);
    fs::remove_file(&temporary).map_err(|cause| Error::io("remove", &temporary, cause))?;
    match linked {
        Ok(()) => sync_parent(path).map(|()| true),
        Err(cause) if cause.kind() == IoKind::AlreadyExists => Ok(false),
        Err(cause) => Err(Error::io("make", path, cause)),
    }
}

/// Puts a file with this content in the place of what is there.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let temporary = written(path, content)?;
    fs::rename(&temporary, path).map_err(|cause| Error::io("replace", path, cause))?;
    sync_parent(path)
}

/// Removes a file that may be gone.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != IoKind::NotFound => Err(Error::io("remove", path, cause)),
        _ => Ok(()),
    }
}

/// A file's content; none where there is no file.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(cause) if cause.kind() == IoKind::NotFound => Ok(None),
        Err(cause) => Err(Error::io("read", path, cause)),
    }
}

/// The numbers that name files in a folder, before `ending`, in order.
pub(crate) fn numbers(folder: &Path, ending: &str) -> Result<Vec<u64>> {
    let entries = fs::read_dir(folder).map_err(|cause| Error::io("list", folder, cause))?;
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(|cause| Error::io("list", folder, cause))?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(ending)?.parse::<u64>().ok());
        found.extend(number);
    }
    found.sort_unstable();
    Ok(found)
}

/// The content under a hidden name beside `path`, flushed.
fn written(path: &Path, content: &[u8]) -> Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}", uuid::Uuid::new_v4()));
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(content)?;
        file.sync_data()
    };
    match write() {
        Ok(()) => Ok(temporary),
        Err(cause) => {
            let _ = fs::remove_file(&temporary);
            Err(Error::io("write", &temporary, cause))
        }
    }
}

fn sync_parent(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), sync_dir)
}

fn sync_dir(dir: &Path) -> Result<()> {
    let synced = File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(|cause| Error::io("flush the folder", dir, cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_that_make_a_file_one_is_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("7");
        assert!(create_once(&path, b"first").expect("made"));
        assert!(!create_once(&path, b"second").expect("looked"));
        assert_eq!(read(&path).expect("read"), Some(b"first".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).expect("a list").count(), 1);
        assert_eq!(numbers(folder.path(), "").expect("numbers"), [7]);
    }
}
