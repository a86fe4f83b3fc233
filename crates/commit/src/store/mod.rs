//! Tables on an object store.
//!
//! ```text
//!   open upload at its final key --complete--> object     (once only; unseen before)
//!   removed object --copy--> retained/<v>/.. --delete-->
//!   log/<v>.json   put if absent               published   conditional update, upward only
//! ```
//! Nobody holds a lock: whoever loses a conditional write reads what won, and goes on from there.

mod clean;
mod copy;
mod keys;
mod list;
mod log;
mod open;
mod pause;
mod probe;
mod publish;
mod staging;
mod vacuum;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};

pub(crate) use keys::StoreTable;
pub(crate) use open::StoreFile;

use crate::Result;
use crate::backend::{
    Backend, Files, Hold, Logged, Look, Meta, Names, Slot, Staging, SuccessMarker,
};
use crate::partition::PartitionColumn;
use crate::record::{Outcome, Record, TransactionId};
use crate::snapshot::DataFile;
use crate::table::OpenFile;
use crate::vacuum::Waste;

/// How many requests run at once.
const REQUESTS_AT_ONCE: usize = 16;

/// Runs requests, some at once; their answers in the order asked.
async fn at_once<T>(requests: Vec<impl Future<Output = Result<T>>>) -> Result<Vec<T>> {
    stream::iter(requests).buffered(REQUESTS_AT_ONCE).try_collect().await
}

#[async_trait]
impl Backend for StoreTable {
    fn shown(&self) -> String {
        format!("{}/{}", self.store, self.prefix)
    }

    async fn look(&self) -> Result<Look> {
        self.look_now().await
    }

    async fn record(&self, version: u64) -> Result<Option<Slot>> {
        self.read_record(version).await
    }

    async fn record_versions(&self) -> Result<Vec<u64>> {
        self.list_records().await
    }

    async fn list_names(&self, dirs: Vec<String>) -> Result<Vec<Names>> {
        self.names_of(dirs).await
    }

    fn trusts_records(&self) -> bool {
        true
    }

    async fn list_files(&self, dirs: Vec<String>) -> Result<Vec<Files>> {
        self.files_of(dirs).await
    }

    async fn has_data(&self) -> Result<bool> {
        self.any_data().await
    }

    async fn open(&self, file: &DataFile) -> Result<OpenFile> {
        Ok(OpenFile::store(StoreFile::new(self.clone(), file.clone()), file.identity.size))
    }

    async fn begin(
        &self,
        txn: &TransactionId,
        columns: &[PartitionColumn],
    ) -> Result<Arc<dyn Staging>> {
        Ok(Arc::new(self.open_staging(txn, columns).await?))
    }

    async fn hold(&self, _timeout: Duration, _statement: &str) -> Result<Hold> {
        Ok(Box::new(()))
    }

    async fn sweep(&self, _own: &TransactionId) -> Vec<String> {
        // Nothing tells a dead writer's uploads from a slow one's: that is left to VACUUM.
        Vec::new()
    }

    async fn set_aside(&self, id: &str) -> Result<()> {
        self.set_log_aside(id).await
    }

    async fn create_meta(&self, meta: &Meta) -> Result<Meta> {
        self.put_meta(meta).await
    }

    async fn log(&self, record: &Record) -> Result<Logged> {
        self.create_record(record).await
    }

    async fn complete(&self, record: &Record, marker: SuccessMarker) -> Result<Outcome> {
        self.bring_in(record, marker).await
    }

    async fn publish(&self, version: u64, outcome: Outcome) -> Result<Outcome> {
        self.move_published(version, outcome).await
    }

    async fn clean(&self, record: &Record, outcome: &Outcome) -> Result<()> {
        self.clean_up(record, outcome).await
    }

    async fn mark_success(&self, record: &Record, marker: SuccessMarker) -> Result<()> {
        self.write_success(record, marker).await
    }

    async fn drop_retained(&self, record: &Record) -> Result<()> {
        self.delete_below(&self.retained(record.version, "")?).await
    }

    async fn retained_versions(&self) -> Result<Vec<u64>> {
        self.list_retained().await
    }

    async fn trim_record(&self, version: u64) -> Result<()> {
        self.replace_by_stub(version).await
    }

    async fn retained_files(&self, version: u64) -> Result<Vec<(String, u64)>> {
        self.files_of_retained(version).await
    }

    async fn leftovers(&self, oldest: i64, pending: Option<&TransactionId>) -> Result<Vec<Waste>> {
        self.find_leftovers(oldest, pending).await
    }

    async fn remove_waste(&self, waste: &Waste) -> Result<()> {
        self.remove_one(waste).await
    }

    async fn tidy(&self) {}

    async fn purge(&self) -> Result<()> {
        self.remove_table().await
    }
}
