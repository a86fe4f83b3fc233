//! Where the sink, which owns the transaction, and the tasks, which write its files, meet.
//!
//! ```text
//! sink: begin ---> StagingCell: open ---> tasks: wait for it, write files
//!       commit or abort ---> closed (after the last task has let go)
//! ```
//!
//! Nothing happens before the sink runs: a plan that is only shown has no side effects.

use std::ops::Deref;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::error::DataFusionError;
use partwise_commit::{StagingHandle, Transaction};
use tokio::sync::{OwnedRwLockReadGuard, RwLock, watch};

/// Shared by the nodes of one plan.
#[derive(Debug)]
pub(super) struct StagingCell {
    open: watch::Sender<Option<Shared>>,
}

#[derive(Clone)]
struct Shared {
    handle: StagingHandle,
    /// Read by whoever writes a file; written by who wants to know that nobody does any more.
    in_use: Arc<RwLock<()>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

/// Staging that stays in place for as long as this is held.
pub(super) struct OpenStaging {
    handle: StagingHandle,
    _in_use: OwnedRwLockReadGuard<()>,
}

impl Deref for OpenStaging {
    type Target = StagingHandle;

    fn deref(&self) -> &StagingHandle {
        &self.handle
    }
}

impl StagingCell {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { open: watch::Sender::new(None) })
    }

    /// Waits until the sink has begun its transaction.
    pub(super) async fn open(&self) -> Result<OpenStaging> {
        let mut open = self.open.subscribe();
        let shared = open.wait_for(Option::is_some).await.map_err(|_| no_sink())?.clone();
        let shared = shared.ok_or_else(no_sink)?;
        let in_use = shared.in_use.read_owned().await;
        Ok(OpenStaging { handle: shared.handle, _in_use: in_use })
    }

    /// Lets the tasks write files of `transaction`.
    pub(super) fn begin(self: &Arc<Self>, transaction: Transaction) -> Running {
        let in_use = Arc::new(RwLock::new(()));
        let shared = Shared { handle: transaction.staging(), in_use: Arc::clone(&in_use) };
        self.open.send_replace(Some(shared));
        Running { cell: Arc::clone(self), transaction: Some(transaction), in_use }
    }
}

fn no_sink() -> DataFusionError {
    DataFusionError::Internal("a file is written without a sink".to_owned())
}

/// A transaction under way. Dropped before its commit it sweeps what was staged, as soon as no task
/// writes any more.
pub(super) struct Running {
    cell: Arc<StagingCell>,
    transaction: Option<Transaction>,
    in_use: Arc<RwLock<()>>,
}

impl Running {
    /// The transaction, to commit it.
    ///
    /// # Errors
    /// It was taken before.
    pub(super) fn take(&mut self) -> Result<Transaction> {
        self.cell.open.send_replace(None);
        self.transaction
            .take()
            .ok_or_else(|| DataFusionError::Internal("a transaction is committed twice".to_owned()))
    }

    /// Gives up, after the last task has let go of its file.
    pub(super) async fn abort(mut self) {
        if let Ok(transaction) = self.take() {
            let in_use = Arc::clone(&self.in_use);
            abort_unused(transaction, in_use).await;
        }
    }
}

async fn abort_unused(transaction: Transaction, in_use: Arc<RwLock<()>>) {
    let _alone = in_use.write_owned().await;
    transaction.abort().await;
}

impl Drop for Running {
    fn drop(&mut self) {
        let Ok(transaction) = self.take() else { return };
        let in_use = Arc::clone(&self.in_use);
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(abort_unused(transaction, in_use))),
            Err(_) => drop(transaction),
        }
    }
}
