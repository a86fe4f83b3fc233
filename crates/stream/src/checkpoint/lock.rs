//! Who runs a query.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result};

/// A process that runs a query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Runner {
    pub host: String,
    pub pid: u32,
    /// When it took the query up, milliseconds since 1970, UTC.
    pub started_ms: i64,
}

impl Runner {
    /// This process, now.
    pub fn this() -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self { host, pid: std::process::id(), started_ms: now_ms() }
    }
}

/// Milliseconds since 1970, UTC.
pub(super) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = chrono::DateTime::from_timestamp_millis(self.started_ms).unwrap_or_default();
        let since = since.format("%Y-%m-%d %H:%M:%S");
        write!(f, "process {} on {} (since {since} UTC)", self.pid, self.host)
    }
}

/// The lock of a checkpoint, held as long as this lives; the kernel frees it with the process.
#[derive(Debug)]
pub(super) struct Held {
    _file: File,
}

impl Held {
    /// Takes it, and writes down who has it.
    ///
    /// # Errors
    /// `Busy` where somebody has it: who.
    pub fn take(path: &Path) -> Result<Self> {
        let options =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
        let mut file = options.open(path).map_err(|cause| Error::io("open", path, cause))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(busy(&mut file, path)),
            Err(cause) => return Err(Error::io("lock", path, cause.into())),
        }
        let runner = serde_json::to_vec(&Runner::this()).unwrap_or_default();
        let written = file.set_len(0).and_then(|()| file.rewind());
        let written = written.and_then(|()| file.write_all(&runner));
        written.map_err(|cause| Error::io("write", path, cause))?;
        Ok(Self { _file: file })
    }
}

fn busy(file: &mut File, path: &Path) -> Error {
    let mut text = String::new();
    let _ = file.read_to_string(&mut text);
    let runner: Option<Runner> = serde_json::from_str(&text).ok();
    let runner = runner.map_or_else(|| "another process".to_owned(), |r| r.to_string());
    let folder = path.parent().unwrap_or(path).display();
    let said = format!("{runner} runs the query of the checkpoint {folder}: stop it there first");
    Error::new(ErrorKind::Busy, said)
}
