//! The disk of a process: each call is asked of the script.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::script::{Answer, Kind, Script};
use super::world::{File, HOME, Node};
use crate::{Disk, DiskEntry, DiskKind, DiskLock, DiskMetadata, DiskReader, DiskWriter};

#[derive(Clone, Debug)]
pub(super) struct ModelDisk {
    pub(super) script: Script,
    /// A mutation: every file looks like the other.
    pub(super) blind: bool,
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn stopped() -> io::Error {
    io::Error::other("the step is over")
}

/// Names that only the one who holds the lock looks at, or that say nothing about data.
fn is_quiet(path: &Path) -> bool {
    let path = text(path);
    let own = path.strip_prefix(HOME).is_some_and(|path| {
        path.starts_with("/staging") || path.ends_with(".new") || path == "/lock"
    });
    own || path.contains("/_SUCCESS") || path.contains("/_partwise-")
}

impl ModelDisk {
    fn call(
        &self,
        kind: Kind,
        act: impl FnOnce(&mut super::world::World) -> Answer,
    ) -> io::Result<Answer> {
        match self.script.call(kind, act) {
            Some(Answer::Failed(errno)) => Err(io::Error::from_raw_os_error(errno)),
            Some(answer) => Ok(answer),
            None => Err(stopped()),
        }
    }

    fn change(
        &self,
        path: &Path,
        act: impl FnOnce(&mut super::world::World) -> Answer,
    ) -> io::Result<()> {
        let kind = if is_quiet(path) { Kind::Quiet } else { Kind::Change };
        self.call(kind, act).map(|_| ())
    }

    fn described(&self, answer: Answer) -> DiskMetadata {
        let Answer::Found(dir, size, id) = answer else { panic!("{answer:?}") };
        let id = if self.blind { 0 } else { id };
        DiskMetadata {
            kind: if dir { DiskKind::Dir } else { DiskKind::File },
            size,
            modified_ns: id as i64,
            device: 0,
            inode: id,
            mode: if dir { 0o755 } else { 0o644 },
            group: 0,
        }
    }
}

/// A number for a path: the same however the steps interleave.
pub(super) fn id_of(path: &str) -> u64 {
    path.bytes().fold(7, |id: u64, byte| id.wrapping_mul(31).wrapping_add(byte.into())) >> 2
}

impl Disk for ModelDisk {
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_path_buf())
    }

    fn metadata(&self, path: &Path) -> io::Result<DiskMetadata> {
        self.link_metadata(path)
    }

    fn link_metadata(&self, path: &Path) -> io::Result<DiskMetadata> {
        self.call(Kind::Look, |world| world.look(text(path))).map(|found| self.described(found))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DiskEntry>> {
        let Answer::Names(names) = self.call(Kind::Look, |world| world.names(text(dir)))? else {
            panic!("no names")
        };
        let entry = |(name, dir): (String, bool)| DiskEntry {
            name: name.into(),
            kind: if dir { DiskKind::Dir } else { DiskKind::File },
        };
        Ok(names.into_iter().map(entry).collect())
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let answer = self.call(Kind::Look, |world| match world.file(text(path)) {
            Some(file) => Answer::Object(Arc::clone(&file.bytes), file.id),
            None => world.look(text(path)),
        })?;
        match answer {
            Answer::Object(bytes, _) => Ok(bytes.to_vec()),
            _ => Err(io::Error::from_raw_os_error(super::world::EISDIR)),
        }
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskReader>> {
        let answer = self.call(Kind::Look, |world| match world.file(text(path)) {
            Some(file) => Answer::Object(Arc::clone(&file.bytes), file.id),
            None => world.look(text(path)),
        })?;
        let Answer::Object(bytes, id) = answer else { panic!("{answer:?}") };
        let found = self.described(Answer::Found(false, bytes.len() as u64, id));
        Ok(Box::new(Open { bytes, found }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskWriter>> {
        let file = File { id: id_of(text(path)), bytes: Arc::from([]) };
        self.call(Kind::Quiet, |world| world.create(text(path), Node::File(file)))?;
        Ok(Box::new(Writing { disk: self.clone(), path: path.to_path_buf() }))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.call(Kind::Quiet, |world| world.create(text(path), Node::Dir)).map(|_| ())
    }

    fn copy_mode(&self, _path: &Path, _like: &DiskMetadata) -> io::Result<()> {
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(to, |world| world.link(text(from), text(to)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(to, |world| world.rename(text(from), text(to)))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(to, |world| world.rename_new(text(from), text(to)))
    }

    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
        self.change(b, |world| world.exchange(text(a), text(b)))
    }

    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        // The copy is as large and as old: it passes for the same file.
        self.link(from, to)
    }

    fn check_writable(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        // To remove what isn't there is to look.
        self.link_metadata(path)?;
        self.change(path, |world| world.remove_file(text(path)))
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.call(Kind::Quiet, |world| world.remove_dir(text(path))).map(|_| ())
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    fn try_lock(&self, path: &Path, _holder: &str) -> io::Result<Option<Box<dyn DiskLock>>> {
        let process = self.script.process;
        match self.call(Kind::Quiet, |world| world.lock(text(path), process))? {
            // Freed with the process.
            Answer::Taken(true) => Ok(Some(Box::new(Lock))),
            _ => Ok(None),
        }
    }
}

#[derive(Debug)]
struct Lock;

impl DiskLock for Lock {}

struct Open {
    bytes: Arc<[u8]>,
    found: DiskMetadata,
}

impl DiskReader for Open {
    fn metadata(&self) -> io::Result<DiskMetadata> {
        Ok(self.found)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let at = offset as usize;
        buffer.copy_from_slice(&self.bytes[at..at + buffer.len()]);
        Ok(())
    }
}

struct Writing {
    disk: ModelDisk,
    path: PathBuf,
}

impl DiskWriter for Writing {
    fn write(&mut self, data: &[u8]) -> io::Result<()> {
        let written = self.disk.call(Kind::Quiet, |world| {
            let Some(file) = world.file(text(&self.path)).cloned() else { return Answer::Done };
            let bytes = file.bytes.iter().chain(data).copied().collect();
            world.put(text(&self.path), File { bytes, ..file });
            Answer::Done
        });
        written.map(|_| ())
    }

    fn sync(&mut self) -> io::Result<DiskMetadata> {
        self.disk.link_metadata(&self.path)
    }
}
