//! A statement as a DataFrame: collecting a write is running the statement.
//!
//! ```text
//! Dml -> FrameTarget::insert_into -> StatementExec -> the write's own plan
//!                                         |
//!            counts the step, makes the name known, tries again on a conflict
//! ```

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as DFResult;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::dataframe::DataFrame;
use datafusion::datasource::{TableType, provider_as_source, source_as_provider};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::dml::{DmlStatement, InsertOp};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, PlanProperties,
    SendableRecordBatchStream,
};

use super::ddl::Registration;
use super::{
    CONFLICT_RETRIES, Planned, creates_if_missing, execute, is_made, plan_named, run_write,
    state_of,
};
use crate::execution::Execution;
use crate::plan::PlannedWrite;
use crate::statement::Statement;
use crate::{Error, ErrorKind, PartwiseContext, Result, token};

/// Plans a statement as a DataFrame; what gives no rows is run.
pub(crate) async fn frame(
    context: &PartwiseContext,
    statement: Statement,
    sql: &str,
) -> Result<DataFrame> {
    let mut tries = 0;
    let (state, planned) = loop {
        let state = state_of(context, sql);
        match plan_named(context, &state, &statement, sql).await {
            Err(e) if e.kind() == ErrorKind::Conflict && tries < CONFLICT_RETRIES => tries += 1,
            planned => break (state, planned?),
        }
    };
    match planned {
        Planned::Write(write, then) => {
            let sql = sql.to_owned();
            let run = Run { context: context.clone(), statement, sql, write: *write, then };
            Ok(DataFrame::new(state, run.into_plan()?))
        }
        Planned::Query { plan, state, .. } => Ok(DataFrame::new(*state, plan)),
        Planned::Batch(batch) | Planned::Told { rows: batch, .. } => {
            Ok(context.session().read_batch(batch)?)
        }
        Planned::Needless(_, location) => {
            token::count_needless(&state, &location.display())?;
            Ok(context.session().read_empty()?)
        }
        Planned::Wrote(report) if report.changes.is_some() => {
            Ok(context.session().read_batch(counted(report.rows())?)?)
        }
        Planned::Wrote(_) | Planned::Done(_) => Ok(context.session().read_empty()?),
    }
}

/// What a write gives: the number of its rows.
fn counted(rows: u64) -> Result<RecordBatch> {
    let count: ArrayRef = Arc::new(UInt64Array::from(vec![rows]));
    Ok(RecordBatch::try_from_iter([("count", count)])?)
}

/// A statement that writes, planned once.
struct Run {
    context: PartwiseContext,
    statement: Statement,
    sql: String,
    write: PlannedWrite,
    then: Option<Registration>,
}

impl Run {
    /// The write's plan, with the statement around its target.
    fn into_plan(self) -> Result<LogicalPlan> {
        let LogicalPlan::Dml(dml) = &self.write.plan else {
            return Err(Error::new(ErrorKind::Internal, "a write is planned as a Dml node"));
        };
        let (name, op, input) = (dml.table_name.clone(), dml.op.clone(), Arc::clone(&dml.input));
        let target = source_as_provider(&dml.target)?;
        let target = FrameTarget { target, run: Arc::new(self) };
        let source = provider_as_source(Arc::new(target));
        Ok(LogicalPlan::Dml(DmlStatement::new(name, source, op, input)))
    }

    /// Runs the plan made from the statement. On a conflict the statement is run anew, as
    /// [`execute`] does it.
    async fn run(&self, plan: Arc<dyn ExecutionPlan>, task: Arc<TaskContext>) -> Result<u64> {
        let error = match run_write(plan, task, &self.write).await {
            Ok(committed) => {
                if let Some(then) = &self.then {
                    then.register(&self.context).await?;
                }
                return Ok(self.write.count(&committed));
            }
            Err(error) => error,
        };
        if error.kind() != ErrorKind::Conflict && !self.is_made().await? {
            return Err(error);
        }
        match execute(&self.context, self.statement.clone(), &self.sql).await? {
            Execution::Wrote(report) => Ok(report.rows()),
            Execution::Rows(_) | Execution::Done(_) => Ok(0),
        }
    }

    /// Whether somebody else has made the table that was to be made if it wasn't there.
    async fn is_made(&self) -> Result<bool> {
        if !creates_if_missing(&self.statement) {
            return Ok(false);
        }
        let state = state_of(&self.context, &self.sql);
        is_made(&self.context, &state, &self.statement, &self.sql).await
    }
}

/// The provider that a write's plan in a DataFrame targets.
struct FrameTarget {
    target: Arc<dyn TableProvider>,
    run: Arc<Run>,
}

impl fmt::Debug for FrameTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.target.fmt(f)
    }
}

#[async_trait]
impl TableProvider for FrameTarget {
    fn schema(&self) -> SchemaRef {
        self.target.schema()
    }

    fn table_type(&self) -> TableType {
        self.target.table_type()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        self.target.scan(state, projection, filters, limit).await
    }

    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        op: InsertOp,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        let write = self.target.insert_into(state, input, op).await?;
        Ok(Arc::new(StatementExec { write, run: Arc::clone(&self.run) }))
    }
}

/// Runs a write's plan as the statement it is of.
struct StatementExec {
    write: Arc<dyn ExecutionPlan>,
    run: Arc<Run>,
}

impl fmt::Debug for StatementExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StatementExec({:?})", self.write)
    }
}

impl DisplayAs for StatementExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StatementExec")
    }
}

impl ExecutionPlan for StatementExec {
    fn name(&self) -> &str {
        "StatementExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.write.properties()
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.write]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(
            &Arc<dyn datafusion::physical_plan::PhysicalExpr>,
        ) -> DFResult<TreeNodeRecursion>,
    ) -> DFResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        match <[_; 1]>::try_from(children) {
            Ok([write]) => Ok(Arc::new(Self { write, run: Arc::clone(&self.run) })),
            Err(_) => Err(DataFusionError::Internal("a statement has one plan".to_owned())),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        _partition: usize,
        task: Arc<TaskContext>,
    ) -> DFResult<SendableRecordBatchStream> {
        let (run, plan, schema) = (Arc::clone(&self.run), Arc::clone(&self.write), self.schema());
        let columns = Arc::clone(&schema);
        let count = async move {
            let count = run.run(plan, task).await?;
            let count = Arc::new(UInt64Array::from(vec![count]));
            Ok(RecordBatch::try_new(columns, vec![count])?)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::once(count))))
    }
}
