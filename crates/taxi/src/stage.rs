//! Files under temporary names, and their way to the final ones.
//!
//! ```text
//! .NAME.tmp-XXXXXX (locked while its run lives) -- written, synced --> NAME
//! ```
//!
//! A failed run removes its temporary files itself. Those of a killed run are unlocked and go with the next run.

use std::fs::File;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::{At, Error};
use crate::found::{FILES, LOOKUP};

/// A file on its way to its final name; dropped, it is removed.
pub(crate) struct Staged {
    file: NamedTempFile,
    path: PathBuf,
}

impl Staged {
    pub fn create(out: &Path, name: &str) -> Result<Self, Error> {
        let path = out.join(name);
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let prefix = temporary_prefix(name);
        let file = builder.prefix(&prefix).tempfile_in(out).at("create a file in", out)?;
        file.as_file().lock().at("lock", file.path())?;
        Ok(Self { file, path })
    }

    /// Where the bytes go, and what to call it in errors.
    pub fn parts(&mut self) -> (&mut File, &Path) {
        (self.file.as_file_mut(), &self.path)
    }

    /// Makes the bytes durable, still under the temporary name.
    pub fn sync(&self) -> Result<(), Error> {
        self.file.as_file().sync_all().at("sync", &self.path)
    }

    /// Puts the file under its final name, over a file that has it.
    pub fn publish(self) -> Result<PathBuf, Error> {
        let Self { file, path } = self;
        file.persist(&path).map_err(|error| error.error).at("move into place", &path)?;
        Ok(path)
    }
}

fn temporary_prefix(name: &str) -> String {
    format!(".{name}.tmp-")
}

/// Removes what killed runs left. A file that is locked belongs to a run that lives.
pub(crate) fn sweep(out: &Path) -> Result<(), Error> {
    let prefixes: Vec<String> =
        FILES.iter().chain([&LOOKUP]).map(|name| temporary_prefix(name)).collect();
    for entry in out.read_dir().at("list", out)? {
        let entry = entry.at("list", out)?;
        let name = entry.file_name();
        let is_ours = prefixes.iter().any(|prefix| name.to_string_lossy().starts_with(prefix));
        if is_ours && is_abandoned(&entry.path()) {
            std::fs::remove_file(entry.path()).at("remove", &entry.path())?;
        }
    }
    Ok(())
}

fn is_abandoned(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(out: &Path) -> Result<(), Error> {
    if cfg!(unix) {
        File::open(out).and_then(|folder| folder.sync_all()).at("sync", out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = dir.read_dir().unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn leftovers_of_a_killed_run_go_and_files_of_a_living_one_stay() {
        let dir = tempfile::tempdir().unwrap();
        let killed = dir.path().join(format!("{}left", temporary_prefix(FILES[0])));
        std::fs::write(&killed, "half").unwrap();
        std::fs::write(dir.path().join(".other.tmp-1"), "not ours").unwrap();
        let living = Staged::create(dir.path(), FILES[1]).unwrap();
        sweep(dir.path()).unwrap();
        assert!(!killed.exists());
        assert_eq!(names(dir.path()).len(), 2);
        living.publish().unwrap();
        assert!(dir.path().join(FILES[1]).exists());
    }

    #[test]
    fn a_file_that_is_not_published_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        drop(Staged::create(dir.path(), FILES[0]).unwrap());
        assert_eq!(names(dir.path()), [""; 0]);
    }
}
