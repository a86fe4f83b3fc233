//! What the queries of one statement read: together they see each table once.

use std::sync::Arc;

use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SessionState;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use partwise_commit::{Reads, Table};
use partwise_table::write::spec::WriteSpec;

use crate::Result;
use crate::progress::{Running, Shown};
use crate::run::torn;
use crate::scans::{self, ReadLogs};

/// The queries that a statement runs before its write, and what they have read.
pub struct Reading<'a> {
    state: &'a SessionState,
    target: &'a Table,
    version: u64,
    logs: ReadLogs,
    files: Vec<Arc<dyn Reads>>,
    held: Vec<Arc<MemoryReservation>>,
}

/// Rows of a query that runs.
pub struct Rows {
    /// The rows.
    pub stream: SendableRecordBatchStream,
    _shown: Option<Shown>,
}

impl<'a> Reading<'a> {
    /// A statement that changes `target`, as of now: a later commit to it will be a conflict.
    ///
    /// # Errors
    /// A table that can't be read.
    pub async fn begin(state: &'a SessionState, target: &'a Table) -> Result<Self> {
        let version = target.describe().await?.version.unwrap_or(0);
        let (logs, files, held) = (ReadLogs::default(), Vec::new(), Vec::new());
        Ok(Self { state, target, version, logs, files, held })
    }

    /// The session's state.
    pub fn state(&self) -> &'a SessionState {
        self.state
    }

    /// The version of the target that is read.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// A plan as one of this statement's.
    ///
    /// # Errors
    /// None that a plan can give.
    pub fn attach(&mut self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let plan = scans::with_logs(plan, &mut self.logs)?;
        self.files.extend(scans::files_read(&plan, self.target.location())?);
        Ok(plan)
    }

    /// Runs a query.
    ///
    /// # Errors
    /// A query that can't be planned; tables that changed between two of its scans.
    pub async fn run(&mut self, plan: LogicalPlan) -> Result<Rows> {
        let plan = self.attach(plan)?;
        let physical = self.state.create_physical_plan(&plan).await?;
        if self.logs.is_torn() {
            return Err(torn());
        }
        let running = self.state.config().get_extension::<Running>();
        let shown = running.map(|running| running.show(&physical));
        let stream = execute_stream(physical, self.state.task_ctx())?;
        Ok(Rows { stream, _shown: shown })
    }

    /// Accounts for memory until the statement is done.
    pub fn hold(&mut self, memory: MemoryReservation) {
        self.held.push(Arc::new(memory));
    }

    /// Tells the write what was read; gives the memory that is accounted for.
    pub fn tell(self, spec: &mut WriteSpec) -> Vec<Arc<MemoryReservation>> {
        spec.read_version = Some(self.version);
        spec.logs = self.logs.all();
        spec.reads = self.files;
        self.held
    }
}
