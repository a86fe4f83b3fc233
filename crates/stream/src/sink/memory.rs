//! Rows in memory, as a table to query: for development and tests.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result as DFResult;
use datafusion::datasource::TableType;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;

use super::{Sink, SinkBatch, SinkFactory, SinkQuery, Written, count, under};
use crate::definition::{Clause, OutputMode, SinkDefinition};
use crate::{Error, Result};

/// Rows of a query in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemorySink {
    held: Arc<Mutex<Held>>,
    name: String,
    keys: Vec<String>,
}

#[derive(Debug, Default)]
struct Held {
    schema: Option<SchemaRef>,
    rows: Vec<RecordBatch>,
    /// The query's id, its last batch, and that batch's digest.
    last: Option<(String, u64, String)>,
}

impl MemorySink {
    /// An empty one, for one query.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The columns that tell rows apart, in place of the group columns.
    #[must_use]
    pub fn with_keys(self, keys: Vec<String>) -> Self {
        Self { keys, ..self }
    }

    /// The rows, as they are now.
    pub fn rows(&self) -> Vec<RecordBatch> {
        self.locked().rows.clone()
    }

    /// The rows as a table; its columns are known once the query has started.
    pub fn provider(&self) -> Option<Arc<dyn TableProvider>> {
        let schema = self.locked().schema.clone()?;
        Some(Arc::new(MemoryRows { schema, sink: self.clone() }))
    }

    /// Each change is one assignment: whole after any panic.
    fn locked(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes memory sinks, each a table of the session: `INTO MEMORY name`.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryFactory;

#[async_trait]
impl SinkFactory for MemoryFactory {
    async fn sink(
        &self,
        session: &SessionContext,
        definition: &SinkDefinition,
    ) -> Result<Arc<dyn Sink>> {
        let Some(name) = &definition.target else {
            return Err(Error::invalid("INTO MEMORY needs a name to query the rows by"));
        };
        definition.refuse(&[Clause::PartitionedBy, Clause::Options])?;
        let keys = definition.keys.clone();
        if !session.table_exist(name.as_str())? {
            return Ok(Arc::new(MemorySink::new(name.clone()).with_keys(keys)));
        }
        let there = session.table_provider(name.as_str()).await?;
        match there.as_ref().downcast_ref::<MemoryRows>() {
            Some(found) => Ok(Arc::new(found.sink.clone().with_keys(keys))),
            None => {
                Err(Error::invalid(format!("there is a table {name} already: take another name")))
            }
        }
    }
}

#[async_trait]
impl Sink for MemorySink {
    fn describe(&self) -> String {
        format!("MEMORY {}", self.name)
    }

    fn keys(&self) -> &[String] {
        &self.keys
    }

    fn table(&self) -> Option<Arc<dyn TableProvider>> {
        self.provider()
    }

    async fn open(&self, query: &SinkQuery) -> Result<()> {
        let mut held = self.locked();
        let has = held.last.as_ref().map(|(id, batch, _)| (id.as_str(), *batch));
        let complete = query.mode == OutputMode::Complete;
        match (has, &query.delivered) {
            (Some((id, _)), _) if id != query.id => Err(Error::refused(format!(
                "MEMORY {} holds rows of another query: take another name",
                self.name
            ))),
            (has, Some((batch, _))) if !complete && has.is_none_or(|(_, last)| last < *batch) => {
                Err(Error::refused(format!(
                    "MEMORY {} lacks the batches up to {batch} that {} has delivered: they went with \
                     the process that held them. Start the query anew with a new CHECKPOINT, or \
                     write INTO TABLE, which lasts",
                    self.name, query.name
                )))
            }
            _ => {
                held.schema = Some(Arc::clone(&query.schema));
                Ok(())
            }
        }
    }

    async fn write(&self, batch: SinkBatch) -> Result<Written> {
        let new = under(&batch.query.schema, batch.rows.collect(&batch.state).await?)?;
        let written = count(&new);
        let mut held = self.locked();
        if let Some((_, last, digest)) = &held.last {
            if *last == batch.batch && *digest != batch.digest {
                return Err(Error::refused(format!(
                    "MEMORY {} has batch {last} with other input",
                    self.name
                )));
            }
            if *last >= batch.batch {
                return Ok(Written::Already);
            }
        }
        match batch.query.mode {
            OutputMode::Append => held.rows.extend(new),
            OutputMode::Complete => held.rows = new,
            OutputMode::Update => held.rows = upserted(&held.rows, new, &batch.query)?,
        }
        held.last = Some((batch.query.id.clone(), batch.batch, batch.digest));
        Ok(Written::Rows(written))
    }
}

/// The rows with those of `new` in the place of rows with equal keys.
fn upserted(
    old: &[RecordBatch],
    new: Vec<RecordBatch>,
    query: &SinkQuery,
) -> Result<Vec<RecordBatch>> {
    let places: Vec<usize> =
        query.keys.iter().map(|key| query.schema.index_of(key)).collect::<Result<_, _>>()?;
    let fields = places.iter().map(|at| query.schema.field(*at).data_type().clone());
    let converter = RowConverter::new(fields.map(SortField::new).collect())?;
    let keys = |rows: &RecordBatch| -> Result<Vec<OwnedRow>> {
        let columns: Vec<_> = places.iter().map(|at| Arc::clone(rows.column(*at))).collect();
        Ok(converter.convert_columns(&columns)?.iter().map(|row| row.owned()).collect())
    };
    let mut replaced = HashSet::new();
    for rows in &new {
        replaced.extend(keys(rows)?);
    }
    let mut all = Vec::with_capacity(old.len() + new.len());
    for rows in old {
        let kept: BooleanArray =
            keys(rows)?.iter().map(|key| Some(!replaced.contains(key))).collect();
        all.push(filter_record_batch(rows, &kept)?);
    }
    all.extend(new);
    all.retain(|rows| rows.num_rows() > 0);
    Ok(all)
}

/// The rows of a sink as a table.
#[derive(Debug)]
struct MemoryRows {
    schema: SchemaRef,
    sink: MemorySink,
}

#[async_trait]
impl TableProvider for MemoryRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        let (rows, schema) = ([self.sink.rows()], Arc::clone(&self.schema));
        Ok(MemorySourceConfig::try_new_exec(&rows, schema, projection.cloned())?)
    }
}
