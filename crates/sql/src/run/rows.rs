//! The rows of a query, which starts again where what it reads was replaced and is gone.

use std::sync::Arc;

use datafusion::common::tree_node::TreeNode;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::execute_stream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};

use super::{Planned, plan_named, state_of, torn};
use crate::execution::{Execution, Rows, ScanSummary, Scanned};
use crate::statement::Statement;
use crate::{Error, ErrorKind, PartwiseContext, Result, scans};

/// Times a query starts again: another commit may come in between each time.
const RESTARTS: usize = 10;

/// The rows of what was planned, or what was done.
pub(super) async fn rows_of(
    context: &PartwiseContext,
    planned: Planned,
    again: Again,
) -> Result<Execution> {
    match planned {
        Planned::Query { plan, state, explains, notes } => {
            let reads = reads_only(&plan)?;
            let opened = open(plan, &state).await?;
            let summary = ScanSummary::new(opened.scanned, notes);
            let stream = match reads {
                true => again.restarting(opened.stream, summary.clone()),
                false => opened.stream,
            };
            Ok(Execution::Rows(Rows::new(stream, summary).explaining(explains)))
        }
        Planned::Batch(batch) => {
            let stream = context.session().read_batch(batch)?.execute_stream().await?;
            Ok(Execution::Rows(Rows::new(stream, ScanSummary::default())))
        }
        Planned::Told { rows, message, warnings } => {
            let stream = context.session().read_batch(rows)?.execute_stream().await?;
            Ok(Execution::Rows(Rows::new(stream, ScanSummary::telling(message, warnings))))
        }
        Planned::Wrote(report) => Ok(Execution::Wrote(report)),
        Planned::Done(message) => Ok(Execution::Done(message)),
        Planned::Write(..) | Planned::Needless(..) => {
            Err(Error::new(ErrorKind::Internal, "a write is run, not read"))
        }
    }
}

/// Whether a plan leaves nothing behind, so that it may be run anew: a COPY has written files.
fn reads_only(plan: &LogicalPlan) -> Result<bool> {
    let writes = |node: &LogicalPlan| matches!(node, LogicalPlan::Copy(_) | LogicalPlan::Dml(_));
    Ok(!plan.exists(|node| Ok(writes(node)))?)
}

/// A query that runs.
struct Opened {
    stream: SendableRecordBatchStream,
    scanned: Scanned,
}

async fn open(plan: LogicalPlan, state: &SessionState) -> Result<Opened> {
    let plan = scans::with_new_logs(plan)?;
    let tables = scans::tables_of(&plan)?;
    let plan = state.create_physical_plan(&plan).await?;
    if scans::is_torn(&tables) {
        return Err(torn());
    }
    let stream = execute_stream(Arc::clone(&plan), state.task_ctx())?;
    Ok(Opened { stream, scanned: Scanned { plan: Some(plan), tables } })
}

/// A query, to be planned and run anew.
pub(super) struct Again {
    /// The session.
    pub context: PartwiseContext,
    /// The statement.
    pub statement: Statement,
    /// Its text.
    pub sql: String,
}

impl Again {
    async fn open(&self) -> Result<Opened> {
        let state = state_of(&self.context, &self.sql);
        match plan_named(&self.context, &state, &self.statement, &self.sql).await? {
            Planned::Query { plan, state, .. } => open(plan, &state).await,
            _ => Err(Error::new(ErrorKind::Internal, "a query is planned as one again")),
        }
    }

    /// The rows. As long as none was given out, a conflict has the query start again: its files were
    /// replaced meanwhile, and the table keeps nothing.
    fn restarting(
        self,
        first: SendableRecordBatchStream,
        summary: ScanSummary,
    ) -> SendableRecordBatchStream {
        let schema = first.schema();
        let running = Running { again: self, rows: first, summary, restarts: Some(RESTARTS) };
        let rows = stream::unfold(running, Running::next);
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }
}

/// Rows on their way.
struct Running {
    again: Again,
    rows: SendableRecordBatchStream,
    summary: ScanSummary,
    /// How often it may start again; none once rows were given out.
    restarts: Option<usize>,
}

type Next = datafusion::common::Result<datafusion::arrow::array::RecordBatch>;

impl Running {
    async fn next(mut self) -> Option<(Next, Self)> {
        loop {
            let error = match self.rows.next().await? {
                Ok(batch) => {
                    self.restarts = self.restarts.filter(|_| batch.num_rows() == 0);
                    return Some((Ok(batch), self));
                }
                Err(error) => Error::from(error),
            };
            let restarts = self.restarts.take().filter(|_| error.kind() == ErrorKind::Conflict);
            let Some(left) = restarts.and_then(|left| left.checked_sub(1)) else {
                return Some((Err(error.into()), self));
            };
            match self.again.open().await {
                Ok(opened) => {
                    self.summary.read_anew(opened.scanned);
                    (self.rows, self.restarts) = (opened.stream, Some(left));
                }
                Err(error) => return Some((Err(error.into()), self)),
            }
        }
    }
}
