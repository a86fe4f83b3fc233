//! After the switch on a store: removed objects are copied to retained and deleted.

use object_store::ObjectStoreExt;

use super::at_once;
use super::keys::{StoreTable, identity};
use crate::record::{AddedFile, Outcome, Record, RecordedPartition, RemovedFile};
use crate::{Error, Result};

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
        at_once(removed.map(|file| self.retain(record.version, file)).collect()).await?;
        Ok(())
    }

    /// Copies an object to retained and deletes it, if it is the one meant. Between the check and
    /// the delete another tool can slip in: stores have no conditional delete.
    async fn retain(&self, version: u64, file: &RemovedFile) -> Result<()> {
        let key = self.live(&file.path)?;
        let found = self.head(&key).await?;
        if !found.is_some_and(|found| identity(&found) == file.identity) {
            return Ok(());
        }
        let copy = self.retained(version, &file.path)?;
        self.copy(&key, &copy, file.identity.size).await?;
        let found = self.head(&key).await?;
        if found.is_some_and(|found| identity(&found) == file.identity) {
            self.delete(&key).await?;
        }
        Ok(())
    }

    async fn copy(
        &self,
        from: &object_store::path::Path,
        to: &object_store::path::Path,
        size: u64,
    ) -> Result<()> {
        match self.store.copy(from, to).await {
            Ok(()) => {}
            Err(object_store::Error::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(Error::store("copy", from, error)),
        }
        match self.head(to).await? {
            Some(copy) if copy.size == size => Ok(()),
            _ => Err(Error::unavailable(format!("the copy {to} of {from} is not whole"))),
        }
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
            let copy = self.retained(record.version, &path)?;
            self.copy(&key, &copy, found.size).await?;
        }
        self.delete(&key).await
    }
}
