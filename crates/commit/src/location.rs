//! Where a table is: a directory of a local disk, or a prefix of an object store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::multipart::MultipartStore;
use object_store::path::Path as StorePath;

use crate::local::{Disk, LocalDisk};

/// What an object store has to offer to hold tables: objects, and multipart uploads whose ids can
/// be completed by somebody else.
pub trait TableStore: ObjectStore + MultipartStore {}

impl<T: ObjectStore + MultipartStore> TableStore for T {}

/// Where a table is. Cheap to clone.
#[derive(Clone)]
pub enum Location {
    /// A directory of a local disk.
    Local {
        /// All access to the disk goes through this.
        disk: Arc<dyn Disk>,
        /// The table's directory, as named by the user; links in it are resolved when it is used.
        dir: PathBuf,
    },
    /// A prefix of an object store.
    Store {
        /// The store.
        store: Arc<dyn TableStore>,
        /// The table's prefix, without a trailing slash.
        prefix: StorePath,
    },
}

impl Location {
    /// A directory of this machine's disk.
    pub fn local(dir: impl Into<PathBuf>) -> Self {
        Self::Local { disk: Arc::new(LocalDisk), dir: dir.into() }
    }

    /// A prefix of an object store.
    pub fn store(store: Arc<dyn TableStore>, prefix: StorePath) -> Self {
        Self::Store { store, prefix }
    }

    /// The location as it is named in messages.
    pub fn display(&self) -> String {
        match self {
            Self::Local { dir, .. } => dir.display().to_string(),
            Self::Store { store, prefix } => format!("{store}/{prefix}"),
        }
    }

    /// The last component: the name of the table. Empty for a root.
    pub fn name(&self) -> String {
        match self {
            Self::Local { dir, .. } => name_of(dir),
            Self::Store { prefix, .. } => prefix.filename().unwrap_or_default().to_string(),
        }
    }
}

/// A path of this machine's disk.
impl<P: Into<PathBuf>> From<P> for Location {
    fn from(dir: P) -> Self {
        Self::local(dir)
    }
}

fn name_of(dir: &Path) -> String {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({})", self.display())
    }
}
