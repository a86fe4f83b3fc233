//! Where a table is: a directory, or a prefix of an object store.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deltalake::DeltaTableBuilder;
use deltalake::logstore::{LogStoreRef, StorageConfig, default_logstore};
use object_store::ObjectStore;
use object_store::prefix::PrefixStore;
use partwise_commit::{StoreAddress, is_address};
use partwise_stream::{Error, Result};
use url::Url;

use crate::error::from_delta;

/// A table's place.
#[derive(Clone)]
pub(crate) enum Place {
    /// A directory of this machine's disk.
    Local(PathBuf),
    /// A prefix of an object store.
    Store { address: StoreAddress, log: LogStoreRef },
}

impl Place {
    /// Reads a path or an address. Nothing is asked of a store.
    ///
    /// # Errors
    /// An address of another kind, settings that don't fit it or that a path has no use for.
    pub fn new(location: &str, settings: &BTreeMap<String, String>) -> Result<Self> {
        if is_address(location) {
            return Self::at_store(location, settings);
        }
        if let Some(name) = settings.keys().next() {
            return Err(Error::invalid(format!(
                "the option {name} is for an object store, and the location is a path"
            )));
        }
        Ok(Self::Local(local_path(location)?))
    }

    fn at_store(location: &str, settings: &BTreeMap<String, String>) -> Result<Self> {
        let address = StoreAddress::parse(location)?;
        let (bucket, prefix) = (address.bucket(), address.prefix().clone());
        let url = Url::parse(&format!("{bucket}/{prefix}/"));
        let url = url.ok().filter(|url| url.scheme() != "https" && url.username().is_empty());
        let Some(url) = url else {
            return Err(Error::unsupported(format!(
                "{address}: Delta tables go to s3://bucket/prefix, gs://bucket/prefix or \
                 az://container/prefix"
            )));
        };
        if prefix.as_ref().is_empty() {
            return Err(Error::invalid(format!("{address}: a table needs a prefix of its own")));
        }
        let root: Arc<dyn ObjectStore> = address.open(settings)?;
        let within = Arc::new(PrefixStore::new(Arc::clone(&root), prefix));
        let log = default_logstore(within, root, &url, &StorageConfig::default());
        Ok(Self::Store { address, log })
    }

    /// The table's log; none where there is no directory.
    ///
    /// # Errors
    /// A directory that can't be looked at.
    pub fn log(&self) -> Result<Option<LogStoreRef>> {
        match self {
            Self::Store { log, .. } => Ok(Some(Arc::clone(log))),
            Self::Local(path) => match path.try_exists() {
                Ok(true) => Ok(Some(local_log(path)?)),
                Ok(false) => Ok(None),
                Err(cause) => Err(unavailable("look at", path, cause)),
            },
        }
    }

    /// The log of a table to be made, its directory made.
    ///
    /// # Errors
    /// A directory that can't be made.
    pub fn make_log(&self) -> Result<LogStoreRef> {
        match self {
            Self::Store { log, .. } => Ok(Arc::clone(log)),
            Self::Local(path) => {
                std::fs::create_dir_all(path).map_err(|e| unavailable("make", path, e))?;
                local_log(path)
            }
        }
    }
}

fn local_path(location: &str) -> Result<PathBuf> {
    let of_url = || Url::parse(location).ok()?.to_file_path().ok();
    let path = if location.starts_with("file://") { of_url() } else { Some(location.into()) };
    let path = path.filter(|path| !path.as_os_str().is_empty());
    path.and_then(|path| std::path::absolute(path).ok())
        .ok_or_else(|| Error::invalid(format!("'{location}' is not the path of a directory")))
}

fn local_log(path: &Path) -> Result<LogStoreRef> {
    let path = path.canonicalize().map_err(|e| unavailable("look at", path, e))?;
    let url = Url::from_directory_path(&path).map_err(|()| {
        Error::invalid(format!("{} is not the path of a directory", path.display()))
    })?;
    let built = DeltaTableBuilder::from_url(url).and_then(|builder| builder.build_storage());
    built.map_err(|cause| from_delta(&path.display(), cause))
}

fn unavailable(doing: &str, path: &Path, cause: std::io::Error) -> Error {
    let kind = partwise_stream::ErrorKind::Unavailable;
    Error::new(kind, format!("can't {doing} {}: {cause}", path.display())).with_source(cause)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(path) => write!(f, "{}", path.display()),
            Self::Store { address, .. } => write!(f, "{address}"),
        }
    }
}

/// Without what the store was opened with.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}
