//! What a statement gave.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use partwise_table::PartwiseTable;

use crate::progress::Progress;
use crate::report::WriteReport;
use crate::scans::ScanTotals;

/// The result of one statement.
pub enum Execution {
    /// Rows, to be drained.
    Rows(Rows),
    /// A write that has happened.
    Wrote(Box<WriteReport>),
    /// Something else that has happened, with a message for the prompt.
    Done(Option<String>),
}

/// Rows of a query as they come, and what was read for them.
pub struct Rows {
    /// Names and types of the columns.
    pub schema: SchemaRef,
    /// The rows; dropping it cancels the query.
    pub stream: SendableRecordBatchStream,
    /// Whether the rows explain a plan.
    pub is_explain: bool,
    summary: ScanSummary,
}

impl Rows {
    /// Rows with their plan and the tables it reads.
    pub(crate) fn new(stream: SendableRecordBatchStream, summary: ScanSummary) -> Self {
        Self { schema: stream.schema(), stream, is_explain: false, summary }
    }

    /// Marks the rows as the explanation of a plan.
    pub(crate) fn explaining(mut self, is_explain: bool) -> Self {
        self.is_explain = is_explain;
        self
    }

    /// A handle on the figures of the scans; they are final once the stream is drained.
    pub fn scan(&self) -> ScanSummary {
        self.summary.clone()
    }
}

/// What the scans of a query read, and what they had to say.
#[derive(Clone, Default)]
pub struct ScanSummary {
    scanned: Arc<Mutex<Scanned>>,
    notes: Vec<String>,
    message: Option<String>,
}

/// A query that runs, and the tables that it reads.
#[derive(Clone, Default)]
pub(crate) struct Scanned {
    pub plan: Option<Arc<dyn ExecutionPlan>>,
    pub tables: Vec<PartwiseTable>,
}

impl ScanSummary {
    /// Of rows that tell what a statement has done.
    pub(crate) fn telling(message: String, notes: Vec<String>) -> Self {
        Self { message: Some(message), notes, ..Self::default() }
    }

    pub(crate) fn new(scanned: Scanned, notes: Vec<String>) -> Self {
        Self { scanned: Arc::new(Mutex::new(scanned)), notes, message: None }
    }

    /// The query has started again.
    pub(crate) fn read_anew(&self, scanned: Scanned) {
        *self.scanned.lock().unwrap_or_else(PoisonError::into_inner) = scanned;
    }

    fn scanned(&self) -> Scanned {
        self.scanned.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Partitions, files and rows read so far, of all tables of ours together; none if the query
    /// reads none of ours.
    pub fn totals(&self) -> Option<ScanTotals> {
        self.scanned().plan.as_ref().and_then(ScanTotals::of)
    }

    /// What the statement has done, where its rows are the details of that.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// How far the query has come; none for rows that were there already.
    pub fn progress(&self) -> Option<Progress> {
        self.scanned().plan.as_ref().map(|plan| Progress::of(plan.as_ref()))
    }

    /// What the scans passed over, with the reason, and what else there is to say of the statement.
    pub fn warnings(&self) -> Vec<String> {
        let tables = self.scanned().tables;
        let passed_over = tables.iter().flat_map(|table| table.reads().take_warnings());
        passed_over.chain(self.notes.iter().cloned()).collect()
    }
}
