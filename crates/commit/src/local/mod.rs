//! Tables on a local disk.
//!
//! ```text
//!   staging/<txn>/<partition>/part-..      written, synced, unseen
//!        |  rename                             |  link
//!        v                                     v
//!   retained/<v>/<partition>  <--EXCHANGE-->  <partition>       (replaced)
//!                                              <partition>       (appended, new)
//! ```
//! One writer at a time holds the lock from decide to the end of clean, so every step looks at
//! where each named file is and does what is left to do.

mod clean;
mod confine;
mod disk;
mod files;
mod level;
mod list;
mod lock;
mod paths;
mod publish;
mod purge;
mod refuse;
mod rename;
mod staging;
mod survey;
mod swap;
mod vacuum;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};

pub use disk::{
    DirectoryState, Disk, DiskEntry, DiskKind, DiskLock, DiskMetadata, DiskReader, DiskWriter,
    LocalDisk,
};
pub(crate) use paths::LocalTable;

use crate::backend::{
    Backend, Files, Hold, Logged, Look, Meta, Names, Slot, Staging, SuccessMarker,
};
use crate::partition::PartitionColumn;
use crate::record::{Outcome, Record, TransactionId};
use crate::snapshot::{DataFile, TypedNames};
use crate::table::OpenFile;
use crate::vacuum::Waste;
use crate::{Error, Result};

/// Runs file work where it may block: right here without a runtime, as nothing else runs then.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    if tokio::runtime::Handle::try_current().is_err() {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Error::internal("a task of file work ended").with_source(error)),
    }
}

/// How many directories one task looks at.
const DIRECTORIES_PER_TASK: usize = 256;

impl LocalTable {
    /// Looks at each directory; many are shared out among tasks. The answers are in the order asked.
    async fn of_each<T: Send + 'static>(
        &self,
        dirs: Vec<String>,
        look: impl Fn(&Self, &str) -> Result<T> + Clone + Send + 'static,
    ) -> Result<Vec<T>> {
        let at_once = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let mut tasks = Vec::new();
        for dirs in dirs.chunks(DIRECTORIES_PER_TASK) {
            let (table, dirs, look) = (self.clone(), dirs.to_vec(), look.clone());
            let each = move || dirs.iter().map(|dir| look(&table, dir)).collect::<Result<Vec<T>>>();
            tasks.push(blocking(each));
        }
        let found: Vec<Vec<T>> = stream::iter(tasks).buffered(at_once).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }
}

#[async_trait]
impl Backend for LocalTable {
    fn shown(&self) -> String {
        self.dir.display().to_string()
    }

    fn found_out(&self) -> Option<String> {
        self.found_out()
    }

    async fn look(&self) -> Result<Look> {
        let table = self.clone();
        blocking(move || table.look_now()).await
    }

    async fn record(&self, version: u64) -> Result<Option<Slot>> {
        let table = self.clone();
        blocking(move || table.read_record(version)).await
    }

    async fn record_versions(&self) -> Result<Vec<u64>> {
        let table = self.clone();
        blocking(move || table.list_records()).await
    }

    async fn list_names(&self, dirs: Vec<String>) -> Result<Vec<Names>> {
        self.of_each(dirs, Self::names_in).await
    }

    async fn list_level(
        &self,
        dirs: Vec<String>,
        column: &PartitionColumn,
    ) -> Result<Vec<Arc<TypedNames>>> {
        let column = Arc::new(column.clone());
        self.of_each(dirs, move |table, dir| table.level_in(dir, &column)).await
    }

    fn trusts_records(&self) -> bool {
        false
    }

    async fn list_files(&self, dirs: Vec<String>) -> Result<Vec<Files>> {
        self.of_each(dirs, Self::files_in).await
    }

    async fn has_data(&self) -> Result<bool> {
        let table = self.clone();
        blocking(move || table.any_data()).await
    }

    async fn open(&self, file: &DataFile) -> Result<OpenFile> {
        let (table, file) = (self.clone(), file.clone());
        blocking(move || table.open_file(&file)).await
    }

    async fn begin(
        &self,
        txn: &TransactionId,
        _columns: &[PartitionColumn],
    ) -> Result<Arc<dyn Staging>> {
        let (table, txn) = (self.clone(), txn.clone());
        blocking(move || {
            let staging: Arc<dyn Staging> = Arc::new(table.open_staging(&txn)?);
            Ok(staging)
        })
        .await
    }

    async fn hold(&self, timeout: Duration, statement: &str) -> Result<Hold> {
        self.wait_for_lock(timeout, statement).await
    }

    async fn sweep(&self, own: &TransactionId) -> Vec<String> {
        let (table, own) = (self.clone(), own.clone());
        blocking(move || Ok(table.sweep_staging(&own)))
            .await
            .unwrap_or_else(|error| vec![error.to_string()])
    }

    async fn set_aside(&self, id: &str) -> Result<()> {
        let (table, id) = (self.clone(), id.to_string());
        blocking(move || table.set_log_aside(&id)).await
    }

    async fn create_meta(&self, meta: &Meta) -> Result<Meta> {
        let (table, meta) = (self.clone(), meta.clone());
        blocking(move || table.write_meta(&meta).map(|()| meta)).await
    }

    async fn log(&self, record: &Record) -> Result<Logged> {
        let (table, record) = (self.clone(), record.clone());
        blocking(move || table.create_record(&record)).await
    }

    async fn complete(&self, record: &Record, marker: SuccessMarker) -> Result<Outcome> {
        let (table, record) = (self.clone(), record.clone());
        blocking(move || table.bring_in(&record, marker)).await
    }

    async fn publish(&self, version: u64, outcome: Outcome) -> Result<Outcome> {
        let table = self.clone();
        blocking(move || table.write_published(version, outcome)).await
    }

    async fn clean(&self, record: &Record, outcome: &Outcome) -> Result<()> {
        let (table, record, outcome) = (self.clone(), record.clone(), outcome.clone());
        blocking(move || table.clean_up(&record, &outcome)).await
    }

    async fn mark_success(&self, record: &Record, marker: SuccessMarker) -> Result<()> {
        let (table, record) = (self.clone(), record.clone());
        blocking(move || table.write_success(&record, marker)).await
    }

    async fn drop_retained(&self, record: &Record) -> Result<()> {
        let (table, record) = (self.clone(), record.clone());
        blocking(move || table.remove_retained(&record)).await
    }

    async fn retained_versions(&self) -> Result<Vec<u64>> {
        let table = self.clone();
        blocking(move || table.list_retained()).await
    }

    async fn trim_record(&self, version: u64) -> Result<()> {
        let table = self.clone();
        blocking(move || table.remove_record(version)).await
    }

    async fn retained_files(&self, version: u64) -> Result<Vec<(String, u64)>> {
        let table = self.clone();
        blocking(move || table.files_of_retained(version)).await
    }

    async fn leftovers(&self, _oldest: i64, pending: Option<&TransactionId>) -> Result<Vec<Waste>> {
        let (table, pending) = (self.clone(), pending.cloned());
        blocking(move || table.find_leftovers(pending.as_ref())).await
    }

    async fn remove_waste(&self, waste: &Waste) -> Result<()> {
        let (table, waste) = (self.clone(), waste.clone());
        blocking(move || table.remove_one(&waste)).await
    }

    async fn tidy(&self) {
        let table = self.clone();
        // What can't be tidied now is swept by the next writer.
        let _ = blocking(move || {
            table.remove_empty_log();
            Ok(())
        })
        .await;
    }

    async fn purge(&self) -> Result<()> {
        let table = self.clone();
        blocking(move || table.remove_table()).await
    }
}
