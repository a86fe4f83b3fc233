//! Staging on a store: open multipart uploads at their final keys, which no lister sees.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::future::join_all;
use object_store::PutPayload;
use object_store::path::Path as StorePath;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::keys::StoreTable;
use super::publish::no_such_upload;
use crate::backend::{Formatted, StagedBytes, StagedPlace, StagedSink, Staging, to_json};
use crate::decide::directory_for;
use crate::partition::PartitionColumn;
use crate::record::{FORMAT, Identity, TransactionId, Upload};
use crate::snapshot::{AllPartitions, DataFile, Levels, list_levels};
use crate::{Error, Result, names};

/// What the stores take as a key at most.
const KEY_BYTES: usize = 1024;
/// The size of an upload's parts but the last: all equal, as some stores want it.
const PART_BYTES: usize = 8 << 20;

/// The digits of a version.
const VERSION_DIGITS: usize = 20;

/// The uploads of one transaction.
pub(super) struct StoreStaging {
    shared: Arc<Shared>,
}

struct Shared {
    table: StoreTable,
    txn: TransactionId,
    columns: Vec<PartitionColumn>,
    /// The directories there are, asked for once: an upload's key is final.
    levels: OnceCell<Levels>,
    uploads: Mutex<Vec<(StorePath, String)>>,
}

/// What the staging folder says about an open upload, for whoever cleans up after a crash.
#[derive(Serialize, Deserialize)]
pub(super) struct OpenUpload {
    pub(super) format: u32,
    pub(super) key: String,
    pub(super) upload: String,
}

impl Formatted for OpenUpload {
    fn format(&self) -> u32 {
        self.format
    }
}

/// The object that says since when a transaction stages; the others note its uploads.
pub(super) const BEGUN: &str = "begun";

impl StoreTable {
    pub(super) async fn open_staging(
        &self,
        txn: &TransactionId,
        columns: &[PartitionColumn],
    ) -> Result<StoreStaging> {
        let begun = self.in_log(&format!("{}/{txn}/{BEGUN}", names::STAGING))?;
        if let Err(error) = self.probe(&begun).await {
            // What stays is removed by VACUUM.
            let _ = self.delete(&begun).await;
            return Err(error);
        }
        let shared = Shared {
            table: self.clone(),
            txn: txn.clone(),
            columns: columns.to_vec(),
            levels: OnceCell::new(),
            uploads: Mutex::default(),
        };
        Ok(StoreStaging { shared: Arc::new(shared) })
    }

    /// Refuses a path whose keys would be longer than stores take; the retained one is the longest.
    fn refuse_too_long(&self, path: &str, directory: &str) -> Result<()> {
        let bytes = self.in_log(names::RETAINED)?.as_ref().len() + VERSION_DIGITS + path.len() + 2;
        if bytes <= KEY_BYTES {
            return Ok(());
        }
        let head: String = directory.chars().take(200).collect();
        Err(Error::invalid(format!(
            "a file of the partition {head}... would have a key of {bytes} bytes, and stores take at \
             most {KEY_BYTES}: use shorter values, or a shorter prefix for the table"
        )))
    }

    pub(super) async fn abort_upload(&self, key: &StorePath, upload: &str) {
        // One that was completed or aborted before is gone; one that can't be reached now is
        // aborted by VACUUM or a rule of the bucket.
        let _ = self.store.abort_multipart(key, &upload.to_string()).await;
    }
}

impl Shared {
    async fn directory(&self, place: &StagedPlace) -> Result<String> {
        let table = &self.table;
        let list = || list_levels(table, &self.columns, &AllPartitions);
        let levels = self.levels.get_or_try_init(list).await?;
        directory_for(&self.columns, levels, &place.key)
    }

    async fn remove(&self) {
        let uploads =
            std::mem::take(&mut *self.uploads.lock().unwrap_or_else(PoisonError::into_inner));
        join_all(uploads.iter().map(|(key, id)| self.table.abort_upload(key, id))).await;
        if let Ok(folder) = self.table.staging(&self.txn) {
            // What stays is removed by VACUUM.
            let _ = self.table.delete_below(&folder).await;
        }
    }
}

#[async_trait]
impl Staging for StoreStaging {
    async fn create(&self, place: StagedPlace) -> Result<Box<dyn StagedSink>> {
        let shared = Arc::clone(&self.shared);
        let directory = match place.settled {
            true => place.directory.clone(),
            false => shared.directory(&place).await?,
        };
        let path = names::join(&directory, &place.name);
        let key = shared.table.live(&path)?;
        shared.table.refuse_too_long(&path, &directory)?;
        let upload = shared.table.store.create_multipart(&key).await;
        let upload = upload.map_err(|error| Error::store("start an upload of", &key, error))?;
        let started = (key.clone(), upload.clone());
        shared.uploads.lock().unwrap_or_else(PoisonError::into_inner).push(started);
        let open =
            OpenUpload { format: FORMAT, key: key.as_ref().to_string(), upload: upload.clone() };
        let note = shared.table.staging(&shared.txn)?;
        let note = super::keys::parse(&format!("{note}/{}.json", place.name))?;
        shared.table.create(&note, to_json(&open)?).await?;
        Ok(Box::new(StoreSink {
            shared,
            directory,
            key,
            upload,
            parts: Vec::new(),
            pending: BytesMut::new(),
            bytes: 0,
        }))
    }

    async fn link(&self, _place: StagedPlace, _file: &DataFile) -> Result<Option<Identity>> {
        // A second name of an object would be there before the commit.
        Ok(None)
    }

    async fn intact(&self) -> Result<bool> {
        // An upload that was aborted is found out when it is completed: the outcome is void.
        Ok(true)
    }

    async fn remove(&self) {
        self.shared.remove().await;
    }

    fn remove_now(&self) {
        let shared = Arc::clone(&self.shared);
        // Without a runtime the uploads are left to VACUUM.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { shared.remove().await });
        }
    }
}

/// An upload being written.
struct StoreSink {
    shared: Arc<Shared>,
    directory: String,
    key: StorePath,
    upload: String,
    parts: Vec<String>,
    pending: BytesMut,
    bytes: u64,
}

impl StoreSink {
    async fn put_part(&mut self, part: Bytes) -> Result<()> {
        let store = &self.shared.table.store;
        let n = self.parts.len();
        let put = store.put_part(&self.key, &self.upload, n, PutPayload::from(part)).await;
        let put = put.map_err(|error| self.failed(error))?;
        self.parts.push(put.content_id);
        Ok(())
    }
}

impl StoreSink {
    /// An upload that somebody ended takes no more parts: nothing of it is anywhere.
    fn failed(&self, error: object_store::Error) -> Error {
        if !no_such_upload(&error) {
            return Error::store("upload a part of", &self.key, error);
        }
        Error::conflict(format!(
            "the upload of {} was ended by a VACUUM, or by a rule of the bucket for uploads that \
             are left open: nothing is written; run the statement again",
            self.key
        ))
        .with_source(error)
    }
}

#[async_trait]
impl StagedSink for StoreSink {
    async fn write(&mut self, data: Bytes) -> Result<()> {
        self.bytes += data.len() as u64;
        self.pending.extend_from_slice(&data);
        while self.pending.len() >= PART_BYTES {
            let part = self.pending.split_to(PART_BYTES).freeze();
            self.put_part(part).await?;
        }
        Ok(())
    }

    async fn finish(&mut self) -> Result<StagedBytes> {
        if !self.pending.is_empty() || self.parts.is_empty() {
            let last = self.pending.split().freeze();
            self.put_part(last).await?;
        }
        let upload = Upload { id: self.upload.clone(), parts: std::mem::take(&mut self.parts) };
        Ok(StagedBytes {
            directory: self.directory.clone(),
            identity: Identity { size: self.bytes, ..Identity::default() },
            upload: Some(upload),
        })
    }

    async fn discard(&mut self) {
        self.shared.table.abort_upload(&self.key, &self.upload).await;
    }
}
