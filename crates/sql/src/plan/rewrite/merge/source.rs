//! The rows of a source: read once, numbered, and held in memory.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt64Array};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Column, TableReference};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use futures::StreamExt;

use super::super::reading::Reading;
use super::pairs::Bits;
use crate::{Error, Result};

/// The column with a row's number; none where an outer join has no row of the source.
pub const NUMBER: &str = "__partwise_source_row";

/// The name of the held table in plans.
const HELD: &str = "source";

/// The rows of a source.
pub struct Source {
    names: Vec<(Option<TableReference>, String)>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Source {
    /// Runs the source's query.
    ///
    /// # Errors
    /// A query that fails; one whose rows don't fit into the session's memory.
    pub async fn collect(reading: &mut Reading<'_>, plan: LogicalPlan) -> Result<Self> {
        let names = plan.schema().iter();
        let names: Vec<_> =
            names.map(|(qualifier, field)| (qualifier.cloned(), field.name().clone())).collect();
        refuse_twins(&names)?;
        let pool = &reading.state().runtime_env().memory_pool;
        let held = MemoryConsumer::new("rows of the source").register(pool);
        let mut rows = reading.run(plan).await?;
        let mut schema = numbered(&rows.stream.schema());
        let (mut batches, mut next) = (Vec::new(), 0);
        while let Some(batch) = rows.stream.next().await {
            let batch = batch?;
            schema = numbered(&batch.schema());
            held.try_grow(batch.get_array_memory_size())?;
            let numbers = next..next + batch.num_rows() as u64;
            next = numbers.end;
            let mut columns = batch.columns().to_vec();
            columns.push(Arc::new(UInt64Array::from_iter_values(numbers)) as ArrayRef);
            batches.push(RecordBatch::try_new(Arc::clone(&schema), columns)?);
        }
        reading.hold(held);
        Ok(Self { names, schema, batches })
    }

    /// The rows, their columns named as the source's query names them, and behind them their number.
    ///
    /// # Errors
    /// None that rows once read can give.
    pub fn rows(&self) -> Result<LogicalPlan> {
        self.plan(self.batches.clone())
    }

    /// The rows whose numbers aren't among these; none if there are none.
    ///
    /// # Errors
    /// None that rows once read can give.
    pub fn rows_but(&self, matched: &Bits) -> Result<Option<LogicalPlan>> {
        let (mut batches, mut number) = (Vec::new(), 0);
        for batch in &self.batches {
            let numbers = number..number + batch.num_rows() as u64;
            number = numbers.end;
            let open: BooleanArray = numbers.map(|n| Some(!matched.holds(n))).collect();
            if open.true_count() > 0 {
                batches.push(filter_record_batch(batch, &open)?);
            }
        }
        (!batches.is_empty()).then(|| self.plan(batches)).transpose()
    }

    fn plan(&self, batches: Vec<RecordBatch>) -> Result<LogicalPlan> {
        let table = MemTable::try_new(Arc::clone(&self.schema), vec![batches])?;
        let source = provider_as_source(Arc::new(table));
        let column = |name: &str| Expr::Column(Column::new(Some(HELD), name));
        let mut columns: Vec<Expr> = self
            .names
            .iter()
            .enumerate()
            .map(|(n, (qualifier, name))| {
                column(&format!("c{n}")).alias_qualified(qualifier.clone(), name)
            })
            .collect();
        columns.push(column(NUMBER).alias(NUMBER));
        let rows = LogicalPlanBuilder::scan(HELD, source, None)?.project(columns)?;
        Ok(rows.build()?)
    }
}

/// Two columns of one name can't be told apart.
fn refuse_twins(names: &[(Option<TableReference>, String)]) -> Result<()> {
    let mut seen = HashSet::new();
    // DataFusion tells a second one in a subquery apart by a number: `id:1`.
    let plain = |name: &str| match name.rsplit_once(':') {
        Some((name, number)) if number.parse::<u32>().is_ok() => name.to_owned(),
        _ => name.to_owned(),
    };
    let plain = names.iter().map(|(qualifier, name)| (qualifier, plain(name)));
    match plain.into_iter().find(|name| !seen.insert(name.clone())) {
        None => Ok(()),
        Some((_, twin)) => Err(Error::invalid(format!(
            "the source has two columns {twin}: give one of them another name, SELECT .. AS .."
        ))),
    }
}

/// Names that can't be taken for others, nullable, and the number.
fn numbered(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().enumerate();
    let mut fields: Vec<Field> = fields
        .map(|(n, field)| Field::new(format!("c{n}"), field.data_type().clone(), true))
        .collect();
    fields.push(Field::new(NUMBER, DataType::UInt64, false));
    Arc::new(Schema::new(fields))
}
