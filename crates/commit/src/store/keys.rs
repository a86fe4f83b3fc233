//! Where a table's objects are, and single requests.

use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::path::Path as StorePath;
use object_store::{
    GetOptions, ObjectMeta, ObjectStoreExt, PutMode, PutOptions, PutPayload, PutResult,
    UpdateVersion,
};

use super::at_once;
use super::copy::{COPY_LIMIT, COPY_PART_BYTES};
use crate::location::TableStore;
use crate::record::{Identity, TransactionId};
use crate::{Error, Result, names};

/// A table's prefix and log folder.
#[derive(Clone)]
pub(crate) struct StoreTable {
    pub(super) store: Arc<dyn TableStore>,
    pub(super) prefix: StorePath,
    /// The log folder's prefix, beside the table's.
    pub(super) home: StorePath,
    /// Objects of more bytes are copied in parts.
    pub(super) copy_limit: u64,
    pub(super) copy_part_bytes: u64,
}

/// What became of reading an object.
pub(super) enum Read {
    /// It isn't there.
    Missing,
    /// It is the one that was known.
    Same,
    /// Its content, and what a conditional update of it needs.
    Found(Bytes, UpdateVersion),
}

impl StoreTable {
    pub(crate) fn resolve(store: Arc<dyn TableStore>, prefix: &StorePath) -> Result<Self> {
        let text = prefix.as_ref();
        let (parent, name) = names::split(text);
        if name.is_empty() {
            return Err(Error::unsupported(format!(
                "the root of {store} can't be a table: its log stands beside it; use a prefix"
            )));
        }
        let home = parse(&names::join(&names::join(parent, names::LOG_HOME), name))?;
        let (copy_limit, copy_part_bytes) = (COPY_LIMIT, COPY_PART_BYTES);
        Ok(Self { store, prefix: prefix.clone(), home, copy_limit, copy_part_bytes })
    }

    /// The key of a path relative to the table.
    pub(super) fn live(&self, path: &str) -> Result<StorePath> {
        below(&self.prefix, path)
    }

    /// The key of a path in the log folder.
    pub(super) fn in_log(&self, path: &str) -> Result<StorePath> {
        below(&self.home, path)
    }

    pub(super) fn retained(&self, version: u64, path: &str) -> Result<StorePath> {
        self.in_log(&names::join(&format!("{}/{version}", names::RETAINED), path))
    }

    pub(super) fn staging(&self, txn: &TransactionId) -> Result<StorePath> {
        self.in_log(&format!("{}/{txn}", names::STAGING))
    }

    /// A small object and what a conditional update of it needs; none if it isn't there.
    pub(super) async fn read(&self, key: &StorePath) -> Result<Option<(Bytes, UpdateVersion)>> {
        Ok(match self.read_unless(key, None).await? {
            Read::Found(bytes, version) => Some((bytes, version)),
            Read::Missing | Read::Same => None,
        })
    }

    /// The same, but for the content of an object whose entity tag is still `tag`.
    pub(super) async fn read_unless(&self, key: &StorePath, tag: Option<String>) -> Result<Read> {
        let options = GetOptions { if_none_match: tag, ..GetOptions::default() };
        let found = match self.store.get_opts(key, options).await {
            Ok(found) => found,
            Err(object_store::Error::NotFound { .. }) => return Ok(Read::Missing),
            Err(object_store::Error::NotModified { .. }) => return Ok(Read::Same),
            Err(error) => return Err(Error::store("read", key, error)),
        };
        let version =
            UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
        let bytes = found.bytes().await.map_err(|error| Error::store("read", key, error))?;
        Ok(Read::Found(bytes, version))
    }

    pub(super) async fn head(&self, key: &StorePath) -> Result<Option<ObjectMeta>> {
        match self.store.head(key).await {
            Ok(found) => Ok(Some(found)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(Error::store("look at", key, error)),
        }
    }

    pub(super) async fn put(
        &self,
        key: &StorePath,
        content: Vec<u8>,
        mode: PutMode,
    ) -> object_store::Result<PutResult> {
        self.store.put_opts(key, PutPayload::from(content), PutOptions::from(mode)).await
    }

    /// Creates an object; false if it is there.
    pub(super) async fn create(&self, key: &StorePath, content: Vec<u8>) -> Result<bool> {
        match self.put(key, content, PutMode::Create).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(Error::store("create", key, error)),
        }
    }

    pub(super) async fn delete(&self, key: &StorePath) -> Result<()> {
        match self.store.delete(key).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(Error::store("delete", key, error)),
        }
    }

    /// Every object below a prefix.
    pub(super) async fn list_below(&self, prefix: &StorePath) -> Result<Vec<ObjectMeta>> {
        let found = self.store.list(Some(prefix)).try_collect().await;
        found.map_err(|error| Error::store("list", prefix, error))
    }

    pub(super) async fn delete_below(&self, prefix: &StorePath) -> Result<()> {
        let found = self.list_below(prefix).await?;
        at_once(found.iter().map(|object| self.delete(&object.location)).collect()).await?;
        Ok(())
    }
}

/// What tells an object from another of the same key.
pub(super) fn identity(object: &ObjectMeta) -> Identity {
    let modified_ns = match object.e_tag {
        Some(_) => None,
        None => object.last_modified.timestamp_nanos_opt(),
    };
    Identity { size: object.size, modified_ns, etag: object.e_tag.clone() }
}

/// `Path::from` would encode the `%` of an escaped partition once more.
pub(super) fn parse(key: &str) -> Result<StorePath> {
    StorePath::parse(key)
        .map_err(|error| Error::invalid(format!("'{key}' can't be a key")).with_source(error))
}

fn below(prefix: &StorePath, path: &str) -> Result<StorePath> {
    if path.is_empty() { Ok(prefix.clone()) } else { parse(&format!("{prefix}/{path}")) }
}
