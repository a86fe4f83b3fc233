//! Bringing a record's uploads in.

use std::collections::{BTreeSet, HashMap};

use object_store::multipart::PartId;

use super::at_once;
use super::keys::{StoreTable, identity};
use crate::backend::SuccessMarker;
use crate::record::{AddedFile, Identity, Outcome, Record, RecordedPartition};
use crate::{Error, Result, names};

impl StoreTable {
    /// Completes the uploads of a record, as far as they aren't. Skipped partitions are found out
    /// before anything is completed.
    pub(super) async fn bring_in(&self, record: &Record, marker: SuccessMarker) -> Result<Outcome> {
        self.mark(record).await?;
        let skipped = self.replaced_by_others(record).await?;
        for dir in marker.directories(record) {
            self.delete(&self.live(&names::join(dir, names::SUCCESS))?).await?;
        }
        let mut uploads = Vec::new();
        for partition in record.partitions.iter().filter(|p| !skipped.contains(&p.path)) {
            for file in &partition.added {
                uploads.push(self.complete_upload(partition, file));
            }
        }
        let gone = at_once(uploads).await?.contains(&false);
        Ok(match (gone, skipped.is_empty()) {
            (true, _) => Outcome::Void,
            (false, true) => Outcome::Done,
            (false, false) => Outcome::Skipped { partitions: skipped },
        })
    }

    /// Ties the prefix to its log.
    async fn mark(&self, record: &Record) -> Result<()> {
        let marker = names::marker(&record.table);
        let created = self.create(&self.live(&marker)?, Vec::new()).await?;
        if created {
            let found = self.store.list_with_delimiter(Some(&self.prefix)).await;
            let found = found.map_err(|error| Error::store("list", &self.prefix, error))?;
            for object in found.objects {
                let name = object.location.filename().unwrap_or_default();
                if names::is_marker(name) && name != marker {
                    self.delete(&object.location).await?;
                }
            }
        }
        Ok(())
    }

    /// The partitions that another tool replaced after the commit point: a file that the record
    /// removes isn't there.
    async fn replaced_by_others(&self, record: &Record) -> Result<Vec<String>> {
        let mut skipped = Vec::new();
        for partition in record.partitions.iter().filter(|p| !p.removed.is_empty()) {
            let there = self.identities(partition).await?;
            let mut removed = partition.removed.iter();
            if removed.any(|file| there.get(&file.path) != Some(&file.identity)) {
                skipped.push(partition.path.clone());
            }
        }
        Ok(skipped)
    }

    async fn identities(&self, partition: &RecordedPartition) -> Result<HashMap<String, Identity>> {
        let dirs: BTreeSet<&str> =
            partition.removed.iter().map(|file| names::split(&file.path).0).collect();
        let mut found = HashMap::new();
        for dir in dirs {
            let key = self.live(dir)?;
            let objects = self.store.list_with_delimiter(Some(&key)).await;
            let objects = objects.map_err(|error| Error::store("list", &key, error))?.objects;
            for object in objects {
                let name = object.location.filename().unwrap_or_default();
                found.insert(names::join(dir, name), identity(&object));
            }
        }
        Ok(found)
    }

    /// Completes one upload; false if it is gone and the object isn't there. Completing twice is
    /// harmless: the second time the object is found.
    async fn complete_upload(
        &self,
        partition: &RecordedPartition,
        file: &AddedFile,
    ) -> Result<bool> {
        let key = self.live(&file.path_in(&partition.path))?;
        let Some(upload) = &file.upload else {
            return Ok(self.head(&key).await?.is_some());
        };
        let parts = upload.parts.iter().map(|id| PartId { content_id: id.clone() }).collect();
        let error = match self.store.complete_multipart(&key, &upload.id, parts).await {
            Ok(_) => return Ok(true),
            Err(error) => error,
        };
        if self.head(&key).await?.is_some_and(|found| found.size == file.identity.size) {
            return Ok(true);
        }
        if no_such_upload(&error) { Ok(false) } else { Err(Error::store("complete", &key, error)) }
    }

    /// Writes `_SUCCESS`: all that was committed is in place.
    pub(super) async fn write_success(&self, record: &Record, marker: SuccessMarker) -> Result<()> {
        if marker == SuccessMarker::None {
            return Ok(());
        }
        for dir in marker.directories(record) {
            self.create(&self.live(&names::join(dir, names::SUCCESS))?, Vec::new()).await?;
        }
        Ok(())
    }
}

/// Whether a store says that it knows no such upload: completed, aborted, or swept.
pub(super) fn no_such_upload(error: &object_store::Error) -> bool {
    let text = || error.to_string().to_ascii_lowercase();
    matches!(error, object_store::Error::NotFound { .. })
        || text().contains("nosuchupload")
        || text().contains("multipartupload not found")
}
