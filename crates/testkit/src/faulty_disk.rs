//! A disk that fails at chosen calls, and never syncs: what a crash of the process leaves.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use partwise_commit::{
    DirectoryState, Disk, DiskEntry, DiskLock, DiskMetadata, DiskReader, DiskWriter, LocalDisk,
};
use rustix::io::Errno;

use crate::faults::{Fault, Faults};

/// Wraps the local disk.
#[derive(Clone, Debug)]
pub struct FaultyDisk {
    faults: Faults,
    /// What EXCHANGE answers where it isn't there.
    exchange: Result<(), Errno>,
    /// Whether hard links are there.
    links: bool,
    /// Whether locks keep anybody out.
    locking: bool,
    /// What a lock answers where there are none.
    lock: Result<(), Errno>,
    /// Whether a name that is there is kept from a link or a rename that is to make it.
    create_once: bool,
    /// Bytes that can still be written.
    room: Arc<AtomicU64>,
    /// Directories that are on file systems of their own.
    elsewhere: Vec<PathBuf>,
    /// Directories that this user can't change.
    denied: Vec<PathBuf>,
}

impl FaultyDisk {
    /// One that fails as told.
    pub fn with(faults: Faults) -> Self {
        let room = Arc::new(AtomicU64::new(u64::MAX));
        let (elsewhere, denied) = (Vec::new(), Vec::new());
        let (exchange, lock) = (Ok(()), Ok(()));
        let (links, locking, create_once) = (true, true, true);
        Self { faults, exchange, links, locking, lock, create_once, room, elsewhere, denied }
    }

    /// One that fails at its call number `at`, counted from 0.
    pub fn new(fault: Fault, at: usize) -> Self {
        Self::with(Faults::at(fault, at))
    }

    /// One that never fails.
    pub fn sound() -> Self {
        Self::with(Faults::none())
    }

    /// One that stops before its `nth` call (from 1) of `name`.
    pub fn stopping_before(name: &'static str, nth: usize) -> Self {
        Self::with(Faults::stopping_before(name, nth))
    }

    /// One that stops after its `nth` call (from 1) of `name`.
    pub fn stopping_after(name: &'static str, nth: usize) -> Self {
        Self::with(Faults::stopping_after(name, nth))
    }

    /// The same on a file system that can't swap two names.
    pub fn without_exchange(self) -> Self {
        self.exchange_answers(Errno::OPNOTSUPP)
    }

    /// The same where a swap of two names answers this.
    pub fn exchange_answers(mut self, errno: Errno) -> Self {
        self.exchange = Err(errno);
        self
    }

    /// The same on a file system without hard links.
    pub fn without_links(mut self) -> Self {
        self.links = false;
        self
    }

    /// The same on a file system whose locks keep nobody out.
    pub fn without_locking(mut self) -> Self {
        self.locking = false;
        self
    }

    /// The same where a lock answers this.
    pub fn lock_answers(mut self, errno: Errno) -> Self {
        self.lock = Err(errno);
        self
    }

    /// The same on a file system whose links and renames always replace.
    pub fn without_create_once(mut self) -> Self {
        self.create_once = false;
        self
    }

    /// The same with room for so many bytes: what is written beyond is cut off and fails.
    pub fn with_room(self, bytes: u64) -> Self {
        self.room.store(bytes, Ordering::SeqCst);
        self
    }

    /// The same with a file system of its own at and below `dir`: nothing is linked, renamed or
    /// swapped across its border.
    pub fn with_mount(mut self, dir: impl Into<PathBuf>) -> Self {
        self.elsewhere.push(dir.into());
        self
    }

    /// The same where this user can't change the names in `dir`.
    pub fn denying(mut self, dir: impl Into<PathBuf>) -> Self {
        self.denied.push(dir.into());
        self
    }

    /// The names of the calls so far.
    pub fn calls(&self) -> Vec<&'static str> {
        self.faults.calls()
    }

    /// The calls so far, each with the path it was made on.
    pub fn trace(&self) -> Vec<String> {
        self.faults.trace()
    }

    /// Whether a call has failed by a fault.
    pub fn hit(&self) -> bool {
        self.faults.hit()
    }

    fn call<T>(
        &self,
        name: &'static str,
        path: &Path,
        call: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let on = path.display().to_string();
        if let Some(gate) = self.faults.gate(name, &on) {
            gate.wait();
        }
        let fault = self.faults.call(name, on).1;
        let Some(fault) = fault else { return call() };
        if matches!(fault, Fault::Landed | Fault::Late(_)) {
            call()?;
        }
        Err(failure(fault, name))
    }

    /// A call with two paths: what can't be done across file systems.
    fn across(
        &self,
        name: &'static str,
        (from, to): (&Path, &Path),
        call: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        self.call(name, to, || {
            if self.mount_of(from) == self.mount_of(to) { call() } else { Err(Errno::XDEV.into()) }
        })
    }

    fn mount_of(&self, path: &Path) -> Option<&PathBuf> {
        self.elsewhere.iter().find(|dir| path.starts_with(dir))
    }

    fn describe(&self, path: &Path, found: DiskMetadata) -> DiskMetadata {
        let mount = self.elsewhere.iter().position(|dir| path.starts_with(dir));
        let device = mount.map_or(found.device, |n| found.device.wrapping_add(1 + n as u64));
        DiskMetadata { device, ..found }
    }
}

fn failure(fault: Fault, name: &str) -> io::Error {
    match fault {
        Fault::Timeout => io::Error::new(io::ErrorKind::TimedOut, format!("timeout at {name}")),
        Fault::Os(errno) => io::Error::from_raw_os_error(errno),
        _ => io::Error::other(format!("fault at {name}")),
    }
}

impl Disk for FaultyDisk {
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.call("real_path", path, || LocalDisk.real_path(path))
    }
    fn metadata(&self, path: &Path) -> io::Result<DiskMetadata> {
        self.call("metadata", path, || LocalDisk.metadata(path).map(|f| self.describe(path, f)))
    }
    fn link_metadata(&self, path: &Path) -> io::Result<DiskMetadata> {
        let found = || LocalDisk.link_metadata(path).map(|found| self.describe(path, found));
        self.call("link_metadata", path, found)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<DiskEntry>> {
        self.call("list", dir, || LocalDisk.list(dir))
    }
    fn directory_state(&self, dir: &Path) -> io::Result<Option<DirectoryState>> {
        LocalDisk.directory_state(dir)
    }
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.call("read", path, || LocalDisk.read(path))
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskReader>> {
        self.call("open", path, || LocalDisk.open(path))
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskWriter>> {
        let writer = self.call("create", path, || LocalDisk.create(path))?;
        Ok(Box::new(FaultyWriter { disk: self.clone(), path: path.to_path_buf(), writer }))
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.call("create_dir", path, || LocalDisk.create_dir(path))
    }
    fn copy_mode(&self, path: &Path, like: &DiskMetadata) -> io::Result<()> {
        self.call("copy_mode", path, || LocalDisk.copy_mode(path, like))
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.across("link", (from, to), || {
            if !self.links {
                return Err(Errno::OPNOTSUPP.into());
            }
            match LocalDisk.link(from, to) {
                Err(_) if !self.create_once => LocalDisk.rename(from, to),
                linked => linked,
            }
        })
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.across("rename", (from, to), || LocalDisk.rename(from, to))
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.across("rename_new", (from, to), || {
            if self.create_once {
                LocalDisk.rename_new(from, to)
            } else {
                LocalDisk.rename(from, to)
            }
        })
    }
    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
        self.across("exchange", (a, b), || {
            self.exchange?;
            LocalDisk.exchange(a, b)
        })
    }
    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("copy", to, || LocalDisk.copy(from, to))
    }
    fn check_writable(&self, dir: &Path) -> io::Result<()> {
        self.call("check_writable", dir, || {
            let denied = self.denied.iter().any(|denied| denied == dir);
            if denied { Err(Errno::ACCESS.into()) } else { LocalDisk.check_writable(dir) }
        })
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.call("remove_file", path, || LocalDisk.remove_file(path))
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.call("remove_dir", path, || LocalDisk.remove_dir(path))
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.call("sync_dir", dir, || Ok(()))
    }
    fn try_lock(&self, path: &Path, holder: &str) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.call("try_lock", path, || {
            self.lock?;
            let lock = LocalDisk.try_lock(path, holder)?;
            if self.locking || lock.is_some() { Ok(lock) } else { Ok(Some(Box::new(NoLock))) }
        })
    }
}

/// What a file system without locks hands out.
#[derive(Debug)]
struct NoLock;

impl DiskLock for NoLock {}

struct FaultyWriter {
    disk: FaultyDisk,
    path: PathBuf,
    writer: Box<dyn DiskWriter>,
}

impl FaultyWriter {
    /// Writes as much as there is room for.
    fn write_in_room(&mut self, data: &[u8]) -> io::Result<()> {
        let room = self.disk.room.load(Ordering::SeqCst);
        let fits = usize::try_from(room).unwrap_or(usize::MAX).min(data.len());
        self.disk.room.fetch_sub(fits as u64, Ordering::SeqCst);
        self.writer.write(&data[..fits])?;
        if fits < data.len() { Err(Errno::NOSPC.into()) } else { Ok(()) }
    }
}

impl DiskWriter for FaultyWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<()> {
        let fault = self.disk.faults.call("write", self.path.display().to_string()).1;
        let written = match fault {
            None | Some(Fault::Landed | Fault::Late(_)) => data,
            Some(Fault::Partial) => &data[..data.len() / 2],
            Some(_) => &[],
        };
        self.write_in_room(written)?;
        fault.map_or(Ok(()), |fault| Err(failure(fault, "write")))
    }
    fn sync(&mut self) -> io::Result<DiskMetadata> {
        let (disk, path) = (&self.disk, &self.path);
        disk.call("sync", path, || LocalDisk.metadata(path).map(|f| disk.describe(path, f)))
    }
}
