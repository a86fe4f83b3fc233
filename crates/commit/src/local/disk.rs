//! Every access to a local disk, one method per operation: where tests inject faults.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags};

/// The operations of a local disk that the protocol is made of. All of them are synchronous, each
/// is one step that can fail or be the last one before a crash.
pub trait Disk: fmt::Debug + Send + Sync + 'static {
    /// The path with every link resolved; an error if it isn't there.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;
    /// What is at `path`, links followed.
    fn metadata(&self, path: &Path) -> io::Result<DiskMetadata>;
    /// What is at `path` itself, a link not followed.
    fn link_metadata(&self, path: &Path) -> io::Result<DiskMetadata>;
    /// What a link leads to, as it is written in it.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }
    /// The entries of a directory, without `.` and `..`, in any order.
    fn list(&self, dir: &Path) -> io::Result<Vec<DiskEntry>>;
    /// What a directory's names can be remembered under: as long as it stays the same, no name came
    /// or went. None where the file system, or the moment, doesn't allow to tell.
    fn directory_state(&self, _dir: &Path) -> io::Result<Option<DirectoryState>> {
        Ok(None)
    }
    /// The whole of a small file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Opens a file for reading.
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskReader>>;
    /// Creates a file that isn't there and opens it for writing.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskWriter>>;
    /// Creates a directory that isn't there, inside one that is.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Gives `path` the mode bits and the group of `like`, as far as this user may.
    fn copy_mode(&self, path: &Path, like: &DiskMetadata) -> io::Result<()>;
    /// A second name for a file; an error if the name is taken.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames, replacing a file at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames; an error if there is anything at `to`.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Swaps what is at two paths in one step.
    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()>;
    /// Copies a file and its time to a name that isn't there, durably: across file systems.
    fn copy(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// An error if this user can't add and remove names in a directory.
    fn check_writable(&self, dir: &Path) -> io::Result<()>;
    /// Removes one name of a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes the lock on the file at `path`, made if it isn't there, and writes `holder` into it.
    /// None when somebody else holds it; a link there is an error. The lock is freed when the result
    /// is dropped or the process dies.
    fn try_lock(&self, path: &Path, holder: &str) -> io::Result<Option<Box<dyn DiskLock>>>;
}

/// What kind of thing a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link.
    Link,
    /// Anything else.
    Other,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskEntry {
    /// The name, without its directory.
    pub name: OsString,
    /// What it is, a link not followed.
    pub kind: DiskKind,
}

/// What a file system says about a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskMetadata {
    /// What it is.
    pub kind: DiskKind,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of the content, nanoseconds since 1970.
    pub modified_ns: i64,
    /// Which file system it is on.
    pub device: u64,
    /// Which file of that file system it is.
    pub inode: u64,
    /// Mode bits.
    pub mode: u32,
    /// Owning group.
    pub group: u32,
}

/// What a directory says about itself that differs once a name came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryState {
    /// Which file system it is on.
    pub device: u64,
    /// Which file of that file system it is.
    pub inode: u64,
    /// Time of the last change of its names, nanoseconds since 1970.
    pub modified_ns: i64,
    /// Time of the last change of anything about it, which no program can set.
    pub changed_ns: i64,
}

/// A file open for reading: it stays readable when its name goes.
pub trait DiskReader: Send + Sync {
    /// What the file system says about the open file.
    fn metadata(&self) -> io::Result<DiskMetadata>;
    /// Fills `buffer` from `offset`; an error if the file ends before.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

/// A file open for writing.
pub trait DiskWriter: Send + Sync {
    /// Appends all of `data`.
    fn write(&mut self, data: &[u8]) -> io::Result<()>;
    /// Makes the content durable and says what the file is.
    fn sync(&mut self) -> io::Result<DiskMetadata>;
}

/// A lock that is held for as long as this lives.
pub trait DiskLock: Send + Sync + fmt::Debug {}

/// This machine's disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDisk;

impl Disk for LocalDisk {
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn metadata(&self, path: &Path) -> io::Result<DiskMetadata> {
        fs::metadata(path).map(|found| describe(&found))
    }

    fn link_metadata(&self, path: &Path) -> io::Result<DiskMetadata> {
        fs::symlink_metadata(path).map(|found| describe(&found))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DiskEntry>> {
        let entry = |entry: io::Result<fs::DirEntry>| {
            let entry = entry?;
            Ok(DiskEntry { name: entry.file_name(), kind: kind(entry.file_type()?) })
        };
        fs::read_dir(dir)?.map(entry).collect()
    }

    fn directory_state(&self, dir: &Path) -> io::Result<Option<DirectoryState>> {
        if !keeps_times(dir)? {
            return Ok(None);
        }
        let found = fs::metadata(dir)?;
        let state = DirectoryState {
            device: found.dev(),
            inode: found.ino(),
            modified_ns: nanoseconds(found.mtime(), found.mtime_nsec()),
            changed_ns: nanoseconds(found.ctime(), found.ctime_nsec()),
        };
        Ok(is_past(state.changed_ns.max(state.modified_ns)).then_some(state))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskReader>> {
        Ok(Box::new(File::open(path)?))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskWriter>> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Box::new(file))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn copy_mode(&self, path: &Path, like: &DiskMetadata) -> io::Result<()> {
        let found = fs::symlink_metadata(path)?;
        if found.gid() != like.group {
            let group = rustix::fs::Gid::from_raw(like.group);
            // A user outside the group can't give it away: the file keeps the user's own.
            match rustix::fs::chownat(CWD, path, None, Some(group), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(()) | Err(rustix::io::Errno::PERM) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        if found.mode() & 0o7777 != like.mode & 0o7777 {
            rustix::fs::chmod(path, Mode::from_raw_mode(like.mode & 0o7777))?;
        }
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
    }

    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
        Ok(rustix::fs::renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?)
    }

    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut source = File::open(from)?;
        let mut target = OpenOptions::new().write(true).create_new(true).open(to)?;
        io::copy(&mut source, &mut target)?;
        target.set_modified(source.metadata()?.modified()?)?;
        target.sync_all()
    }

    fn check_writable(&self, dir: &Path) -> io::Result<()> {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        Ok(rustix::fs::accessat(CWD, dir, access, AtFlags::EACCESS)?)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(dir, flags, Mode::empty())?;
        Ok(rustix::fs::fsync(dir)?)
    }

    fn try_lock(&self, path: &Path, holder: &str) -> io::Result<Option<Box<dyn DiskLock>>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o666)
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        }
        if !is_same_file(&file, path)? {
            return Ok(None);
        }
        file.set_len(0)?;
        file.write_all_at(holder.as_bytes(), 0)?;
        Ok(Some(Box::new(Flock { _file: file })))
    }
}

/// Whether the open file is still the one of that name: a lock on a removed file guards nothing.
fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(named) => Ok(named.dev() == open.dev() && named.ino() == open.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The kernel frees the lock when the file is closed.
#[derive(Debug)]
struct Flock {
    _file: File,
}

impl DiskLock for Flock {}

impl DiskReader for File {
    fn metadata(&self) -> io::Result<DiskMetadata> {
        File::metadata(self).map(|found| describe(&found))
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buffer, offset)
    }
}

impl DiskWriter for File {
    fn write(&mut self, data: &[u8]) -> io::Result<()> {
        self.write_all(data)
    }

    fn sync(&mut self) -> io::Result<DiskMetadata> {
        self.sync_data()?;
        File::metadata(self).map(|found| describe(&found))
    }
}

fn describe(found: &fs::Metadata) -> DiskMetadata {
    DiskMetadata {
        kind: kind(found.file_type()),
        size: found.len(),
        modified_ns: nanoseconds(found.mtime(), found.mtime_nsec()),
        device: found.dev(),
        inode: found.ino(),
        mode: found.mode(),
        group: found.gid(),
    }
}

fn nanoseconds(seconds: i64, more: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(more)
}

/// How long ago a directory has to have changed, so that one more change gets another time: file
/// systems count in ticks of up to two seconds.
const TICK_NS: i64 = 2_000_000_000;

fn is_past(time_ns: i64) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|now| now.as_nanos());
    let now = now.ok().and_then(|now| i64::try_from(now).ok());
    now.is_some_and(|now| now.saturating_sub(time_ns) > TICK_NS)
}

/// Whether a directory's times are those of this machine's kernel and follow each change of its
/// names: so it is on the file systems of local disks. Those of a network may answer from memory.
#[cfg(target_os = "linux")]
fn keeps_times(dir: &Path) -> io::Result<bool> {
    const EXT: u32 = 0xEF53;
    const XFS: u32 = 0x5846_5342;
    const BTRFS: u32 = 0x9123_683E;
    const TMPFS: u32 = 0x0102_1994;
    const OVERLAY: u32 = 0x794C_7630;
    const F2FS: u32 = 0xF2F5_2010;
    const ZFS: u32 = 0x2FC1_2FC1;
    let found = rustix::fs::statfs(dir)?;
    // The type is a number of 32 bits in a field whose width and sign differ by machine.
    Ok([EXT, XFS, BTRFS, TMPFS, OVERLAY, F2FS, ZFS].contains(&(found.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn keeps_times(_dir: &Path) -> io::Result<bool> {
    Ok(false)
}

fn kind(found: fs::FileType) -> DiskKind {
    if found.is_file() {
        DiskKind::File
    } else if found.is_dir() {
        DiskKind::Dir
    } else if found.is_symlink() {
        DiskKind::Link
    } else {
        DiskKind::Other
    }
}
