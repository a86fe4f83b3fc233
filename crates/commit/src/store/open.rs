//! Reading an object of a snapshot, wherever its bytes are by now.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use object_store::path::Path as StorePath;
use object_store::{GetOptions, GetRange};

use super::keys::StoreTable;
use crate::backend::Slot;
use crate::record::Record;
use crate::snapshot::DataFile;
use crate::{Error, Result};

/// A data file of a snapshot. Nothing is asked of the store before the first read.
pub(crate) struct StoreFile {
    table: StoreTable,
    file: DataFile,
    /// The version whose retained copy holds the bytes, once the object itself is gone.
    retained: Mutex<Option<u64>>,
}

impl StoreFile {
    pub(super) fn new(table: StoreTable, file: DataFile) -> Self {
        let retained = Mutex::new(file.retained);
        Self { table, file, retained }
    }

    pub(crate) fn key(&self) -> String {
        format!("{}/{}", self.table.prefix, self.file.path)
    }

    /// The bytes of a range: at its place, in retained, at its place again.
    pub(crate) async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let known = *self.retained.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = self.try_read(known, &range).await? {
            return Ok(bytes);
        }
        for version in self.table.list_retained().await?.into_iter().rev() {
            if self.was_removed_by(version).await?
                && let Some(bytes) = self.try_read(Some(version), &range).await?
            {
                *self.retained.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
                return Ok(bytes);
            }
        }
        if let Some(bytes) = self.try_read(None, &range).await? {
            *self.retained.lock().unwrap_or_else(PoisonError::into_inner) = None;
            return Ok(bytes);
        }
        Err(Error::conflict(format!(
            "{} was replaced while it was being read and is not retained: run the query again, or \
             set the table's retention above 0",
            self.key()
        )))
    }

    /// Whether the copy that a version retained under this path is one of this file.
    async fn was_removed_by(&self, version: u64) -> Result<bool> {
        let record = self.table.read_record(version).await?.and_then(Slot::into_record);
        let same = |record: &Record| {
            let mut removed = record.partitions.iter().flat_map(|partition| &partition.removed);
            removed.any(|f| f.path == self.file.path && f.identity == self.file.identity)
        };
        Ok(record.is_some_and(|record| same(&record)))
    }

    async fn try_read(&self, retained: Option<u64>, range: &Range<u64>) -> Result<Option<Bytes>> {
        let key = match retained {
            Some(version) => self.table.retained(version, &self.file.path)?,
            None => self.table.live(&self.file.path)?,
        };
        // A copy has a tag of its own.
        let tag = self.file.identity.etag.clone().filter(|_| retained.is_none());
        let options =
            GetOptions::new().with_range(Some(GetRange::Bounded(range.clone()))).with_if_match(tag);
        self.get(&key, options).await
    }

    async fn get(&self, key: &StorePath, options: GetOptions) -> Result<Option<Bytes>> {
        use object_store::Error as E;
        let found = match self.table.store.get_opts(key, options).await {
            Ok(found) => found,
            Err(E::NotFound { .. } | E::Precondition { .. }) => return Ok(None),
            Err(error) => return Err(Error::store("read", key, error)),
        };
        if found.meta.size != self.file.identity.size {
            return Ok(None);
        }
        found.bytes().await.map(Some).map_err(|error| Error::store("read", key, error))
    }
}
