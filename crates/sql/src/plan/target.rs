//! What a `Dml` node targets: the table and what the statement does to it.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result as DFResult, TableReference};
use datafusion::datasource::{TableType, provider_as_source};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::dml::{DmlStatement, InsertOp};
use datafusion::logical_expr::{Expr, LogicalPlan, WriteOp};
use datafusion::physical_plan::ExecutionPlan;
use partwise_commit::{PartitionColumn, Table, TableSchema, Token};
use partwise_table::write::plan_write;
use partwise_table::write::spec::{Outcome, WriteSpec};

use super::order::Ordered;
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
        let outcome = spec.outcome.clone();
        let token = spec.token.clone();
        let partition_columns = schema.partition_columns().to_vec();
        let overwrite = !matches!(spec.operation, partwise_commit::Operation::Append);
        let op = if overwrite { InsertOp::Overwrite } else { InsertOp::Append };
        let provider = WriteTarget { table: table.clone(), schema, spec };
        let dml = DmlStatement::new(
            target.clone(),
            provider_as_source(Arc::new(provider)),
            WriteOp::Insert(op),
            Arc::new(plan),
        );
        Ok(Self {
            plan: LogicalPlan::Dml(dml),
            outcome,
            target: target.table().to_owned(),
            table,
            partition_columns,
            token,
        })
    }
}

/// The provider that carries a write to its physical plan. It can't be read.
#[derive(Debug)]
struct WriteTarget {
    table: Table,
    schema: TableSchema,
    spec: WriteSpec,
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
        plan_write(state, input, self.table.clone(), self.schema.clone(), self.spec.clone())
    }
}
