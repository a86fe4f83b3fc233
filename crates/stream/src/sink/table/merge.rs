//! Rows in the place of those with equal keys: the partitions they touch are read and replaced.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, JoinType, NullEquality};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use partwise_commit::{Coverage, Operation, TableSchema};
use partwise_table::write::RowCast;
use partwise_table::{PartwiseTable, ReadLog};

use super::TableSink;
use super::touched::Touched;
use super::write::{commit, open, places, spec};
use crate::Result;
use crate::sink::{SinkBatch, Written, count};

/// Writes a batch of changed groups.
pub(super) async fn update(sink: &TableSink, batch: &SinkBatch) -> Result<Written> {
    let table = open(sink, &batch.state).await?.with_log(ReadLog::default());
    let schema = table.table_schema().clone();
    let new = as_the_table(sink, batch, &schema).await?;
    let (changed, parts) = (count(&new), !schema.partition_columns().is_empty());
    let touched = if parts { Touched::by(&new, &schema)? } else { Touched::default() };
    let mut spec = match parts {
        true => spec(&table, batch, Operation::Overwrite(Coverage::Written))?,
        false => spec(&table, batch, Operation::Overwrite(Coverage::Matching(vec![])))?,
    };
    if parts {
        spec.scope = Some(touched.scope(&schema)?);
        spec.read_within = spec.scope.clone();
    }
    spec.read_version = Some(table.version().unwrap_or(0));
    spec.logs = vec![table.reads().clone()];
    let rows = merged(&table, new, parts.then_some(&touched), &batch.query.keys)?;
    // The commit's rows are those of whole partitions.
    Ok(match commit(&table, batch, spec, rows).await? {
        Written::Rows(_) => Written::Rows(changed),
        Written::Already => Written::Already,
    })
}

/// The batch's rows as the table has them.
async fn as_the_table(
    sink: &TableSink,
    batch: &SinkBatch,
    schema: &TableSchema,
) -> Result<Vec<RecordBatch>> {
    let given = batch.rows.schema();
    let places = places(schema, given, &sink.location.display())?;
    let columns = schema.arrow().fields().iter().zip(&places);
    let fields: Vec<Field> = columns
        .map(|(column, from)| match from {
            Some(from) => given.field(*from).clone(),
            None => column.as_ref().clone(),
        })
        .collect();
    let from = Arc::new(Schema::new(fields));
    let cast = RowCast::new(&from, Arc::clone(schema.arrow()))?;
    let mut rows = Vec::new();
    for batch in batch.rows.collect(&batch.state).await? {
        let column = |(from, field): (&Option<usize>, &Arc<Field>)| match from {
            Some(from) => Arc::clone(batch.column(*from)),
            None => new_null_array(field.data_type(), batch.num_rows()),
        };
        let columns = places.iter().zip(from.fields()).map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let ordered = RecordBatch::try_new_with_options(Arc::clone(&from), columns, &options)?;
        rows.push(cast.apply(&ordered)?);
    }
    Ok(rows)
}

/// The rows of the touched partitions without those of equal keys, and the new ones.
fn merged(
    table: &PartwiseTable,
    new: Vec<RecordBatch>,
    touched: Option<&Touched>,
    keys: &[String],
) -> Result<LogicalPlan> {
    // All nullable, as the table is read.
    let schema = table.schema();
    let nullable = |batch: RecordBatch| batch.with_schema(Arc::clone(&schema));
    let new = new.into_iter().map(nullable).collect::<Result<Vec<_>, _>>()?;
    let new = Arc::new(MemTable::try_new(Arc::clone(&schema), vec![new])?);
    let scan = |name: &str, table: Arc<dyn TableProvider>| {
        LogicalPlanBuilder::scan(name, provider_as_source(table), None)
    };
    let mut old = scan("old", Arc::new(table.whole_rows()))?;
    if let Some(touched) = touched {
        old = old.filter(touched.condition(table.table_schema(), "old")?)?;
    }
    let named = |relation: &str| -> Vec<Column> {
        let key = |key: &String| Column::new(Some(relation), spelled(&schema, key));
        keys.iter().map(key).collect()
    };
    let kept = scan("new", Arc::clone(&new) as _)?.join_detailed(
        old.build()?,
        JoinType::RightAnti,
        (named("new"), named("old")),
        None,
        NullEquality::NullEqualsNull,
    )?;
    Ok(kept.union(scan("new", new)?.build()?)?.build()?)
}

/// A column's name as the table spells it.
fn spelled(schema: &Schema, name: &str) -> String {
    let found = schema.fields().iter().find(|field| field.name().eq_ignore_ascii_case(name));
    found.map_or_else(|| name.to_owned(), |field| field.name().clone())
}
