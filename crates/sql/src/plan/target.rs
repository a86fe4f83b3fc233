//! What a `Dml` node targets: the table and what the statement does to it.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result as DFResult, TableReference};
use datafusion::datasource::{TableType, provider_as_source};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::dml::{DmlStatement, InsertOp};
use datafusion::logical_expr::{Expr, LogicalPlan, WriteOp};
use datafusion::physical_plan::ExecutionPlan;
use partwise_commit::{Committed, PartitionColumn, Table, TableSchema, Token};
use partwise_table::write::plan_write;
use partwise_table::write::spec::{Outcome, WriteSpec};

use super::order::Ordered;
use super::rewrite::{Tally, TallyExec};
use crate::report::RowChanges;
use crate::{Result, scans};

/// A statement that writes, planned: running the plan does it.
#[derive(Debug, Clone)]
pub(crate) struct PlannedWrite {
    /// A `Dml` node over the projected query.
    pub plan: LogicalPlan,
    /// Filled by the sink once the commit is published.
    pub outcome: Outcome,
    /// The table's name or path, as the statement gave it.
    pub target: String,
    /// The table itself.
    pub table: Table,
    /// The table's partition columns.
    pub partition_columns: Vec<PartitionColumn>,
    /// The token the write carries.
    pub token: Option<Token>,
    /// How its rows are counted.
    pub counting: Counting,
    /// Memory that the plan's rows take, accounted for until it is dropped.
    #[expect(dead_code, reason = "it is held, not read")]
    pub held: Vec<Arc<MemoryReservation>>,
}

/// Which rows a statement says that it wrote.
#[derive(Debug, Clone)]
pub(crate) enum Counting {
    /// Those that the commit added.
    Added,
    /// Those that are gone: the partitions hold no others than before.
    Gone,
    /// Those whose last column says that something became of them.
    Tallied(Tally),
}

impl PlannedWrite {
    /// Puts a write of `rows` (their columns already in declared order) on top of them. Where they come from the
    /// table itself, a later commit to it will be a conflict.
    pub async fn new(
        target: &TableReference,
        table: Table,
        schema: TableSchema,
        mut spec: WriteSpec,
        rows: Ordered,
    ) -> Result<Self> {
        let plan = scans::with_new_logs(rows.plan)?;
        spec.read_version = scans::version_read(&plan, &table).await?;
        spec.reads = scans::files_read(&plan, table.location())?;
        spec.logs = scans::tables_of(&plan)?.iter().map(|table| table.reads().clone()).collect();
        spec.order = rows.order;
        Ok(Self::of(target, table, schema, spec, plan, Counting::Added))
    }

    /// Puts a write on top of rows of the table, with what was read for them known.
    pub fn of(
        target: &TableReference,
        table: Table,
        schema: TableSchema,
        spec: WriteSpec,
        plan: LogicalPlan,
        counting: Counting,
    ) -> Self {
        let outcome = spec.outcome.clone();
        let token = spec.token.clone();
        let partition_columns = schema.partition_columns().to_vec();
        let overwrite = !matches!(spec.operation, partwise_commit::Operation::Append);
        let op = if overwrite { InsertOp::Overwrite } else { InsertOp::Append };
        let tally = match &counting {
            Counting::Tallied(tally) => Some(tally.clone()),
            Counting::Added | Counting::Gone => None,
        };
        let provider = WriteTarget { table: table.clone(), schema, spec, tally };
        let dml = DmlStatement::new(
            target.clone(),
            provider_as_source(Arc::new(provider)),
            WriteOp::Insert(op),
            Arc::new(plan),
        );
        Self {
            plan: LogicalPlan::Dml(dml),
            outcome,
            target: target.table().to_owned(),
            table,
            partition_columns,
            token,
            counting,
            held: vec![],
        }
    }

    /// Whether rows that are there are changed.
    pub fn is_rewrite(&self) -> bool {
        !matches!(self.counting, Counting::Added)
    }

    /// What became of rows; none where they were added.
    pub fn changes(&self, committed: &Committed) -> Option<RowChanges> {
        match &self.counting {
            Counting::Added => None,
            _ if committed.replayed => Some(RowChanges::default()),
            Counting::Gone => {
                let deleted = committed.rows_removed.saturating_sub(committed.rows_added);
                Some(RowChanges { deleted, ..RowChanges::default() })
            }
            Counting::Tallied(tally) => Some(tally.changes()),
        }
    }

    /// The rows that the statement says it wrote.
    pub fn count(&self, committed: &Committed) -> u64 {
        self.changes(committed).map_or(committed.rows_added, |changes| changes.total())
    }
}

/// The provider that carries a write to its physical plan. It can't be read.
#[derive(Debug)]
struct WriteTarget {
    table: Table,
    schema: TableSchema,
    spec: WriteSpec,
    tally: Option<Tally>,
}

#[async_trait]
impl TableProvider for WriteTarget {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.schema.arrow())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn get_table_definition(&self) -> Option<&str> {
        None
    }

    fn get_logical_plan(&'_ self) -> Option<Cow<'_, LogicalPlan>> {
        None
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        _projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        Err(DataFusionError::Internal("a write's target is not read".to_owned()))
    }

    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        _op: InsertOp,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        let input = match &self.tally {
            Some(tally) => Arc::new(TallyExec::try_new(input, tally.clone())?),
            None => input,
        };
        plan_write(state, input, self.table.clone(), self.schema.clone(), self.spec.clone())
    }
}
