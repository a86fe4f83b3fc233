//! After the switch on a store: removed objects are copied to retained and deleted.

use super::at_once;
use super::copy::ObjectCopy;
use super::keys::{StoreTable, identity};
use crate::Result;
use crate::record::{AddedFile, Outcome, Record, RecordedPartition, RemovedFile};

impl StoreTable {
    pub(super) async fn clean_up(&self, record: &Record, outcome: &Outcome) -> Result<()> {
        for partition in &record.partitions {
            match outcome {
                Outcome::Void => self.drop_added(record, partition, false).await?,
                Outcome::Skipped { partitions } if partitions.contains(&partition.path) => {
                    self.drop_added(record, partition, true).await?;
                }
                Outcome::Done | Outcome::Skipped { .. } => {
                    self.retain_removed(record, partition).await?;
                }
            }
        }
        self.delete_below(&self.staging(&record.transaction)?).await
    }

    async fn retain_removed(&self, record: &Record, partition: &RecordedPartition) -> Result<()> {
        let removed = partition.removed.iter();
        at_once(removed.map(|file| self.retain(record, file)).collect()).await?;
        Ok(())
    }

    /// Copies an object to retained and deletes it, if it is the one meant. Between the check and
    /// the delete another tool can slip in: stores have no conditional delete.
    async fn retain(&self, record: &Record, file: &RemovedFile) -> Result<()> {
        let key = self.live(&file.path)?;
        let found = self.head(&key).await?;
        if !found.is_some_and(|found| identity(&found) == file.identity) {
            return Ok(());
        }
        let (from, to) = (&key, &self.retained(record.version, &file.path)?);
        let (size, etag) = (file.identity.size, file.identity.etag.as_deref());
        self.copy(&ObjectCopy { from, to, size, etag, txn: &record.transaction }).await?;
        let found = self.head(&key).await?;
        if found.is_some_and(|found| identity(&found) == file.identity) {
            self.delete(&key).await?;
        }
        Ok(())
    }

    /// What a record added doesn't count: its uploads are aborted first, so that a late helper
    /// can't bring them in any more, then what was completed goes.
    async fn drop_added(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        retain: bool,
    ) -> Result<()> {
        let added = partition.added.iter();
        at_once(added.map(|file| self.drop_file(record, partition, file, retain)).collect())
            .await?;
        Ok(())
    }

    async fn drop_file(
        &self,
        record: &Record,
        partition: &RecordedPartition,
        file: &AddedFile,
        retain: bool,
    ) -> Result<()> {
        let path = file.path_in(&partition.path);
        let key = self.live(&path)?;
        if let Some(upload) = &file.upload {
            self.abort_upload(&key, &upload.id).await;
        }
        let Some(found) = self.head(&key).await? else { return Ok(()) };
        if retain && found.size == file.identity.size {
            let (from, to) = (&key, &self.retained(record.version, &path)?);
            let (size, etag) = (found.size, found.e_tag.as_deref());
            self.copy(&ObjectCopy { from, to, size, etag, txn: &record.transaction }).await?;
        }
        self.delete(&key).await
    }
}
