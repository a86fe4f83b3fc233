//! Files of a checkpoint: whole and flushed, or not there.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind as IoKind, Write};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::{Error, Result};

/// Runs file work where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|cause| Error::internal(format!("file work ended early: {cause}")))?
}

/// Makes a checkpoint's folders and those above, flushed.
pub(super) fn make_folders(folders: &[PathBuf]) -> Result<()> {
    folders.iter().try_for_each(|folder| make_folder(folder))
}

fn make_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    folder.parent().filter(|above| !above.as_os_str().is_empty()).map_or(Ok(()), make_folder)?;
    match fs::create_dir(folder) {
        Err(_) if folder.is_dir() => Ok(()),
        Err(cause) => Err(Error::io("make the folder", folder, cause)),
        Ok(()) => sync_parent(folder),
    }
}

/// Removes what writes that were cut off have left in a folder. For who holds the checkpoint's lock:
/// nobody else writes.
pub(super) fn sweep(folder: &Path) -> Result<()> {
    let left = names(folder)?.into_iter().filter(|name| is_temporary(name));
    left.map(|name| folder.join(name)).try_for_each(|left| remove(&left))
}

/// Makes a file with this content, unless there is one: then false. Whoever sees the file sees all
/// of it.
pub(super) fn create_once(path: &Path, content: &[u8]) -> Result<bool> {
    let temporary = written(path, |file| file.write_all(content))?;
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
    replace_with(path, |file| file.write_all(content))
}

/// Puts a file with what `write` writes in the place of what is there.
pub(crate) fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let temporary = written(path, write)?;
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
    let number = |name: &str| name.strip_suffix(ending)?.parse::<u64>().ok();
    let mut found: Vec<u64> = names(folder)?.iter().filter_map(|name| number(name)).collect();
    found.sort_unstable();
    Ok(found)
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let list = || -> std::io::Result<Vec<String>> {
        let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
        names.filter_map(std::io::Result::transpose).collect()
    };
    list().map_err(|cause| Error::io("list", folder, cause))
}

/// A hidden name beside `path`, never used before.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", Uuid::new_v4()))
}

fn is_temporary(name: &str) -> bool {
    let id = name.strip_prefix('.').and_then(|name| name.rsplit_once('.'));
    id.is_some_and(|(_, id)| Uuid::try_parse(id).is_ok())
}

/// What `write` writes under a hidden name beside `path`, flushed.
fn written(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<PathBuf> {
    let temporary = temporary(path);
    let write = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(&temporary)?);
        write(&mut file)?;
        file.into_inner()?.sync_data()
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
    let parent = path.parent().unwrap_or(path);
    sync_dir(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
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

    #[test]
    fn what_a_write_that_was_cut_off_has_left_is_swept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("7.delta");
        fs::write(temporary(&path), b"hal").expect("a file");
        for name in ["7.delta", ".7.delta.mine", ".nfs0000"] {
            fs::write(folder.path().join(name), b"whole").expect("a file");
        }
        sweep(folder.path()).expect("swept");
        let mut left = names(folder.path()).expect("a list");
        left.sort();
        assert_eq!(left, [".7.delta.mine", ".nfs0000", "7.delta"]);
    }

    #[test]
    fn folders_are_made_with_those_above() {
        let folder = tempfile::tempdir().expect("a folder");
        let deep = ["a/b/offsets", "a/b/commits"].map(|name| folder.path().join(name));
        for _ in 0..2 {
            make_folders(&deep).expect("made");
        }
        assert!(deep.iter().all(|folder| folder.is_dir()));
        fs::write(folder.path().join("file"), b"").expect("a file");
        let error = make_folders(&[folder.path().join("file/offsets")]).expect_err("a file above");
        assert!(error.to_string().contains("/file"), "{error}");
    }
}
