//! A disk that fails at its k-th call, and never syncs: what a crash of the process leaves.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use partwise_commit::{Disk, DiskEntry, DiskLock, DiskMetadata, DiskReader, DiskWriter, LocalDisk};

/// What happens at the k-th call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// That call and all after it fail: the process is gone.
    Stop,
    /// That call alone fails.
    Error,
}

#[derive(Debug)]
struct Plan {
    fault: Fault,
    at: usize,
    /// Stops at the n-th call of a name instead, and whether that is done.
    named: Option<(&'static str, usize, bool)>,
    /// The calls so far, by name.
    calls: Vec<&'static str>,
}

/// Wraps the local disk.
#[derive(Clone, Debug)]
pub struct FaultyDisk {
    plan: Arc<Mutex<Plan>>,
    /// Whether EXCHANGE is there.
    exchange: bool,
    /// Whether hard links are there.
    links: bool,
    /// Whether locks keep anybody out.
    locking: bool,
}

impl FaultyDisk {
    /// One that fails at its call number `at`, counted from 0.
    pub fn new(fault: Fault, at: usize) -> Self {
        let plan = Plan { fault, at, named: None, calls: Vec::new() };
        Self { plan: Arc::new(Mutex::new(plan)), exchange: true, links: true, locking: true }
    }

    /// One that never fails.
    pub fn sound() -> Self {
        Self::new(Fault::Error, usize::MAX)
    }

    /// One that stops before its `nth` call (from 1) of `name`.
    pub fn stopping_before(name: &'static str, nth: usize) -> Self {
        Self::stopping(name, nth, false)
    }

    /// One that stops after its `nth` call (from 1) of `name`.
    pub fn stopping_after(name: &'static str, nth: usize) -> Self {
        Self::stopping(name, nth, true)
    }

    fn stopping(name: &'static str, nth: usize, done: bool) -> Self {
        let disk = Self::new(Fault::Stop, usize::MAX);
        disk.plan().named = Some((name, nth, done));
        disk
    }

    /// The same on a file system that can't swap two names.
    pub fn without_exchange(mut self) -> Self {
        self.exchange = false;
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

    /// The calls so far, by name.
    pub fn calls(&self) -> Vec<&'static str> {
        self.plan().calls.clone()
    }

    /// Whether the faulty call was reached.
    pub fn hit(&self) -> bool {
        let plan = self.plan();
        plan.calls.len() > plan.at
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call<T>(&self, name: &'static str, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let (n, fault, at) = {
            let mut plan = self.plan();
            plan.calls.push(name);
            let last = plan.calls.len() - 1;
            if let Some((stop, nth, done)) = plan.named
                && name == stop
                && plan.calls.iter().filter(|call| **call == stop).count() == nth
            {
                plan.at = last + usize::from(done);
            }
            (plan.calls.len() - 1, plan.fault, plan.at)
        };
        let fails = match fault {
            Fault::Stop => n >= at,
            Fault::Error => n == at,
        };
        if fails { Err(io::Error::other(format!("fault at {name}"))) } else { call() }
    }
}

impl Disk for FaultyDisk {
    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.call("real_path", || LocalDisk.real_path(path))
    }
    fn metadata(&self, path: &Path) -> io::Result<DiskMetadata> {
        self.call("metadata", || LocalDisk.metadata(path))
    }
    fn link_metadata(&self, path: &Path) -> io::Result<DiskMetadata> {
        self.call("link_metadata", || LocalDisk.link_metadata(path))
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<DiskEntry>> {
        self.call("list", || LocalDisk.list(dir))
    }
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.call("read", || LocalDisk.read(path))
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskReader>> {
        self.call("open", || LocalDisk.open(path))
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskWriter>> {
        let writer = self.call("create", || LocalDisk.create(path))?;
        Ok(Box::new(FaultyWriter { disk: self.clone(), path: path.to_path_buf(), writer }))
    }
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.call("create_dir", || LocalDisk.create_dir(path))
    }
    fn copy_mode(&self, path: &Path, like: &DiskMetadata) -> io::Result<()> {
        self.call("copy_mode", || LocalDisk.copy_mode(path, like))
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("link", || if self.links { LocalDisk.link(from, to) } else { Err(unsupported()) })
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("rename", || LocalDisk.rename(from, to))
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("rename_new", || LocalDisk.rename_new(from, to))
    }
    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
        self.call("exchange", || {
            if self.exchange { LocalDisk.exchange(a, b) } else { Err(unsupported()) }
        })
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.call("remove_file", || LocalDisk.remove_file(path))
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.call("remove_dir", || LocalDisk.remove_dir(path))
    }
    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        self.call("sync_dir", || Ok(()))
    }
    fn try_lock(&self, path: &Path, holder: &str) -> io::Result<Option<Box<dyn DiskLock>>> {
        self.call("try_lock", || {
            let lock = LocalDisk.try_lock(path, holder)?;
            if self.locking || lock.is_some() { Ok(lock) } else { Ok(Some(Box::new(NoLock))) }
        })
    }
}

/// What a file system without locks hands out.
#[derive(Debug)]
struct NoLock;

impl DiskLock for NoLock {}

fn unsupported() -> io::Error {
    io::Error::from_raw_os_error(rustix::io::Errno::OPNOTSUPP.raw_os_error())
}

struct FaultyWriter {
    disk: FaultyDisk,
    path: PathBuf,
    writer: Box<dyn DiskWriter>,
}

impl DiskWriter for FaultyWriter {
    fn write(&mut self, data: &[u8]) -> io::Result<()> {
        let writer = &mut self.writer;
        self.disk.call("write", || writer.write(data))
    }
    fn sync(&mut self) -> io::Result<DiskMetadata> {
        self.disk.call("sync", || LocalDisk.metadata(&self.path))
    }
}
