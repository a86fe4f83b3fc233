//! What a vacuum finds and removes on a store.

use std::collections::BTreeMap;

use object_store::ObjectMeta;
use object_store::path::Path as StorePath;

use super::keys::{StoreTable, parse};
use super::publish::no_such_upload;
use super::staging::{BEGUN, OpenUpload};
use crate::backend::from_json;
use crate::record::TransactionId;
use crate::vacuum::{Waste, WasteKind};
use crate::{Error, Result, names};

impl StoreTable {
    pub(super) async fn files_of_retained(&self, version: u64) -> Result<Vec<(String, u64)>> {
        let root = self.retained(version, "")?;
        let found = self.list_below(&root).await?;
        let file = |object: &ObjectMeta| {
            let path = object.location.as_ref().strip_prefix(root.as_ref())?.strip_prefix('/')?;
            Some((path.to_string(), object.size))
        };
        Ok(found.iter().filter_map(file).collect())
    }

    /// Nothing tells a dead writer from a slow one but time: the last object that it put.
    pub(super) async fn find_leftovers(
        &self,
        oldest: i64,
        pending: Option<&TransactionId>,
    ) -> Result<Vec<Waste>> {
        let root = self.in_log(names::STAGING)?;
        let mut last: BTreeMap<String, i64> = BTreeMap::new();
        for object in self.list_below(&root).await? {
            let Some(txn) = object.location.as_ref().strip_prefix(root.as_ref()) else { continue };
            let txn = txn.trim_start_matches('/').split('/').next().unwrap_or_default();
            let put = last.entry(txn.to_string()).or_insert(i64::MIN);
            *put = object.last_modified.timestamp_millis().max(*put);
        }
        let pending = pending.map(TransactionId::as_str);
        let dead = last.into_iter().filter(|(txn, put)| *put <= oldest && pending != Some(txn));
        let waste = |(txn, _): (String, i64)| Waste {
            kind: WasteKind::Staging,
            path: names::join(names::STAGING, &txn),
            bytes: 0,
        };
        Ok(dead.map(waste).collect())
    }

    pub(super) async fn remove_one(&self, waste: &Waste) -> Result<()> {
        let key = self.in_log(&waste.path)?;
        if waste.kind != WasteKind::Staging {
            return self.delete(&key).await;
        }
        for note in self.list_below(&key).await? {
            // One that was stopped while it tried the store out may hold what it tried.
            if note.location.filename() != Some(BEGUN) {
                self.end_upload(&note.location).await?;
            }
        }
        self.delete_below(&key).await
    }

    /// Aborts the upload that a note tells of; one that is over is left as it ended.
    async fn end_upload(&self, note: &StorePath) -> Result<()> {
        let Some((text, _)) = self.read(note).await? else { return Ok(()) };
        let open: OpenUpload = from_json(&text, note.as_ref())?;
        let key = parse(&open.key)?;
        let logs = parse(names::split(self.home.as_ref()).0)?;
        if !key.prefix_matches(&self.prefix) && !key.prefix_matches(&logs) {
            return Err(Error::corrupt(format!(
                "{note} tells of an upload outside the table: {key}; remove it by hand"
            )));
        }
        match self.store.abort_multipart(&key, &open.upload).await {
            Ok(()) => Ok(()),
            Err(error) if no_such_upload(&error) => Ok(()),
            Err(error) => Err(Error::store("end an upload of", &key, error)),
        }
    }
}
