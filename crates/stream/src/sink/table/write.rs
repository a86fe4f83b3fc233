//! From a batch's rows to one commit.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, ScalarValue};
use datafusion::datasource::provider_as_source;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::collect;
use partwise_commit::{Coverage, Operation, TableSchema};
use partwise_table::config::PartwiseConfig;
use partwise_table::write::WriteSpec;
use partwise_table::{OpenOptions, PartwiseTable};

use super::{TableSink, claims};
use crate::plan::PlanTable;
use crate::sink::{self, SinkBatch, Written};
use crate::{Error, ErrorKind, Result};

/// Adds the rows.
pub(super) async fn append(sink: &TableSink, batch: &SinkBatch) -> Result<Written> {
    whole(sink, batch, Operation::Append).await
}

/// Puts the rows in the place of all there are.
pub(super) async fn replace(sink: &TableSink, batch: &SinkBatch) -> Result<Written> {
    whole(sink, batch, Operation::Overwrite(Coverage::Matching(vec![]))).await
}

async fn whole(sink: &TableSink, batch: &SinkBatch, operation: Operation) -> Result<Written> {
    let table = open(sink, &batch.state).await?;
    let schema = batch.rows.schema();
    let all = (0..schema.fields().len()).collect();
    let rows = PlanTable::new(Arc::clone(schema), all, batch.rows.as_plan()?);
    let rows = LogicalPlanBuilder::scan("batch", provider_as_source(Arc::new(rows)), None)?;
    let columns = by_name(table.table_schema(), schema, &sink.location.display())?;
    let rows = rows.project(columns)?.build()?;
    let spec = spec(&table, batch, operation)?;
    commit(&table, batch, spec, rows).await
}

/// The table as it is.
pub(super) async fn open(sink: &TableSink, state: &SessionState) -> Result<PartwiseTable> {
    let opened = PartwiseTable::open(sink.location.clone(), OpenOptions::default(), state).await?;
    opened.ok_or_else(|| {
        Error::refused(format!(
            "{} is gone while the query writes to it: start the query anew with a new CHECKPOINT",
            sink.location.display()
        ))
    })
}

/// What the commit of a batch is to be.
pub(super) fn spec(
    table: &PartwiseTable,
    batch: &SinkBatch,
    operation: Operation,
) -> Result<WriteSpec> {
    let config = PartwiseConfig::of(batch.state.config_options());
    let mut spec = WriteSpec::new(operation, &config);
    spec.max_shrink = None;
    spec.token = Some(claims::token(batch));
    spec.properties = table.properties().clone();
    spec.options = spec.options.with_properties(&spec.properties, table.table_schema())?;
    spec.statement = format!("batch {} of the query {}", batch.batch, batch.query.name);
    Ok(spec)
}

/// Writes rows, whose columns are the table's in order, in one commit.
pub(super) async fn commit(
    table: &PartwiseTable,
    batch: &SinkBatch,
    spec: WriteSpec,
    rows: LogicalPlan,
) -> Result<Written> {
    let outcome = spec.outcome.clone();
    let op = match spec.operation {
        Operation::Append => InsertOp::Append,
        _ => InsertOp::Overwrite,
    };
    let target: Arc<dyn TableProvider> = Arc::new(table.with_write(spec));
    let name = "sink";
    let plan = LogicalPlanBuilder::insert_into(rows, name, provider_as_source(target), op)?;
    let plan = batch.state.create_physical_plan(&plan.build()?).await?;
    if let Err(error) = collect(plan, batch.state.task_ctx()).await {
        let error = Error::from(error);
        return Err(match error.kind() {
            ErrorKind::Refused => checked(table, batch).await.err().unwrap_or(error),
            _ => error,
        });
    }
    match outcome.get() {
        Some(committed) if committed.replayed => Ok(Written::Already),
        Some(committed) => Ok(Written::Rows(committed.rows_added)),
        None => Err(Error::internal("the write ended without saying what it committed")),
    }
}

/// A refusal by the token, in words of streams.
async fn checked(table: &PartwiseTable, batch: &SinkBatch) -> Result<()> {
    claims::has(table.table(), batch).await.map(drop)
}

/// For each column of the table its place among the query's; none where the query lacks it.
///
/// # Errors
/// As those of [`sink::places`].
pub(super) fn places(
    table: &TableSchema,
    query: &SchemaRef,
    place: &str,
) -> Result<Vec<Option<usize>>> {
    sink::places(table.arrow(), query, &place, "ALTER TABLE .. ADD COLUMN")
}

/// The query's columns in the table's order.
fn by_name(table: &TableSchema, query: &SchemaRef, place: &str) -> Result<Vec<Expr>> {
    let columns = table.arrow().fields().iter().zip(places(table, query, place)?);
    let column = |(column, from): (&Arc<Field>, Option<usize>)| -> Result<Expr> {
        let value = match from {
            Some(from) => Expr::Column(Column::new(Some("batch"), query.field(from).name())),
            None => Expr::Literal(ScalarValue::try_new_null(column.data_type())?, None),
        };
        Ok(value.alias(column.name()))
    };
    columns.map(column).collect()
}
