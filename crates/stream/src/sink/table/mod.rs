//! `INTO TABLE`: each batch is one commit that carries the token (query, batch, digest).
//!
//! ```text
//! append    rows --------------------------------------------> append
//! complete  rows --------------------------------------------> overwrite, whole table
//! update    rows -> the partitions they touch -> rows there without equal keys
//!                                          \--- together -----> overwrite, exactly these partitions
//! ```
//! The table stays plain Parquet: any reader sees it rightly, and batch jobs write it too. A batch
//! that is in the log is skipped; the same batch with other input is an error.

mod claims;
mod merge;
mod touched;
mod write;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::execution::context::SessionContext;
use partwise_commit::{Change, Location, Operation, Table, TableSchema};
use partwise_table::FooterRowCounter;
use partwise_table::config::PartwiseConfig;
use partwise_table::write::{WriteOptions, table_types};

use super::{Sink, SinkBatch, SinkFactory, SinkQuery, Written, check_parts};
use crate::definition::{OutputMode, SinkDefinition};
use crate::{Error, ErrorKind, Result};

/// Times a batch is written again when another writer came between.
const CONFLICT_RETRIES: usize = 50;

/// Properties of a table that say nothing of how its files are written.
const TABLE_PROPERTIES: [&str; 2] = ["retention", "success_marker"];

/// A table of Partwise as a sink; it is made if it is missing.
#[derive(Clone, Debug)]
pub struct TableSink {
    location: Location,
    partitioned_by: Vec<String>,
    keys: Vec<String>,
    options: BTreeMap<String, String>,
}

impl TableSink {
    /// The table at a location.
    pub fn new(location: impl Into<Location>) -> Self {
        let (partitioned_by, keys, options) = (Vec::new(), Vec::new(), BTreeMap::new());
        Self { location: location.into(), partitioned_by, keys, options }
    }

    /// The partition columns, in the order of the directory levels; of a table that is there, they
    /// must be these.
    #[must_use]
    pub fn partition_by<N: Into<String>>(self, columns: impl IntoIterator<Item = N>) -> Self {
        Self { partitioned_by: columns.into_iter().map(Into::into).collect(), ..self }
    }

    /// The columns that tell rows apart, in place of the group columns.
    #[must_use]
    pub fn with_keys<N: Into<String>>(self, keys: impl IntoIterator<Item = N>) -> Self {
        Self { keys: keys.into_iter().map(Into::into).collect(), ..self }
    }

    /// An option of the table to be made, such as `compression`.
    #[must_use]
    pub fn option(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.insert(name.into(), value.into());
        self
    }

    fn table(&self) -> Table {
        Table::new(self.location.clone())
    }

    /// The schema of a table that is made for a query.
    fn new_schema(&self, query: &SinkQuery) -> Result<TableSchema> {
        let types = Arc::new(table_types(&query.schema)?);
        let schema = TableSchema::new(types, self.partitioned_by.clone())?;
        WriteOptions::from_config(&PartwiseConfig::default()).with_options(
            &self.options,
            &schema,
            &TABLE_PROPERTIES,
        )?;
        if schema.file_schema().fields().is_empty() {
            return Err(Error::invalid(
                "every column is a partition column, so the files would be empty: leave one out of \
                 PARTITIONED BY",
            ));
        }
        Ok(schema)
    }

    /// Makes the table, empty; the schema that it has.
    async fn make(&self, query: &SinkQuery, schema: TableSchema) -> Result<TableSchema> {
        let table = self.table();
        let transaction = table.begin(&schema, self.options.clone()).await?;
        let rows = FooterRowCounter::new(&Default::default());
        let change = Change {
            statement: format!("the query {}", query.name),
            ..Change::new(Operation::Create, vec![])
        };
        match transaction.commit(change, &rows).await {
            Ok(_) => Ok(schema),
            // Another query of the same start may have been first.
            Err(error) => match table.describe().await?.schema {
                Some(schema) => Ok(schema),
                None => Err(error.into()),
            },
        }
    }
}

/// Makes sinks of tables by their path: where a lake is known, `INTO TABLE name` has a factory that
/// finds the path.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableFactory;

#[async_trait]
impl SinkFactory for TableFactory {
    async fn sink(&self, _: &SessionContext, definition: &SinkDefinition) -> Result<Arc<dyn Sink>> {
        let Some(path) = &definition.target else {
            return Err(Error::invalid("INTO TABLE needs a table"));
        };
        Ok(Arc::new(TableSink {
            partitioned_by: definition.partitioned_by.clone(),
            keys: definition.keys.clone(),
            options: definition.options.clone(),
            ..TableSink::new(absolute(Path::new(path)))
        }))
    }
}

fn absolute(path: &Path) -> std::path::PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

#[async_trait]
impl Sink for TableSink {
    fn describe(&self) -> String {
        match &self.location {
            Location::Local { dir, .. } => format!("TABLE {}", absolute(dir).display()),
            other @ Location::Store { .. } => format!("TABLE {}", other.display()),
        }
    }

    /// Without the way to it: a lake that was moved still has the batches in the table's log.
    fn identity(&self) -> String {
        let place = self.describe();
        let name = place.trim_end_matches('/').rsplit('/').next().unwrap_or(&place);
        format!("TABLE {name}")
    }

    fn keys(&self) -> &[String] {
        &self.keys
    }

    async fn open(&self, query: &SinkQuery) -> Result<()> {
        let table = self.table();
        let there = table.describe().await?;
        claims::check(&table, query).await?;
        if let Some(schema) = there.schema {
            return self.check_columns(&schema, query);
        }
        if there.has_data {
            return Err(self.foreign());
        }
        let schema = self.new_schema(query)?;
        self.check_columns(&schema, query)?;
        let made = self.make(query, schema).await?;
        self.check_columns(&made, query)
    }

    async fn write(&self, batch: SinkBatch) -> Result<Written> {
        if claims::has(&self.table(), &batch).await? {
            return Ok(Written::Already);
        }
        let mut tries = 0;
        loop {
            match self.attempt(&batch).await {
                Err(error) if error.kind() == ErrorKind::Conflict && tries < CONFLICT_RETRIES => {
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    async fn lacks(&self, batch: &SinkBatch) -> Result<bool> {
        Ok(!claims::has(&self.table(), batch).await?)
    }
}

impl TableSink {
    async fn attempt(&self, batch: &SinkBatch) -> Result<Written> {
        match batch.query.mode {
            OutputMode::Append => write::append(self, batch).await,
            OutputMode::Complete => write::replace(self, batch).await,
            OutputMode::Update => merge::update(self, batch).await,
        }
    }

    fn foreign(&self) -> Error {
        Error::refused(format!(
            "{} holds files of another tool and no log of Partwise, which is what tells a batch that \
             is in: write to a new table, or make this one Partwise's with CREATE TABLE .. AS",
            self.location.display()
        ))
    }

    /// The table's columns are the query's, by name, and an update's partitions follow from its keys.
    fn check_columns(&self, schema: &TableSchema, query: &SinkQuery) -> Result<()> {
        let place = self.location.display();
        let parts: Vec<&str> =
            schema.partition_columns().iter().map(|column| column.name.as_str()).collect();
        check_parts(&parts, &self.partitioned_by, &place)?;
        write::places(schema, &query.schema, &place)?;
        if query.mode == OutputMode::Append && !self.keys.is_empty() {
            return Err(Error::invalid(
                "KEYS says which row a new one replaces, and what is appended replaces none: leave \
                 KEYS out; or, for the last row of each key, GROUP BY it with last_value(..) and \
                 OUTPUT MODE update",
            ));
        }
        if query.mode != OutputMode::Update {
            return Ok(());
        }
        if query.keys.is_empty() {
            return Err(Error::invalid(
                "OUTPUT MODE update replaces rows by their keys, and the query has no group columns: \
                 use complete, whose one row is the whole result",
            ));
        }
        let follows = |part: &str| query.fixed.iter().any(|fixed| fixed.eq_ignore_ascii_case(part));
        match parts.iter().find(|part| !follows(part)) {
            None => Ok(()),
            Some(part) => Err(Error::invalid(format!(
                "OUTPUT MODE update finds the row to replace by its keys ({}), and the partition \
                 column {part} doesn't follow from them: an older row could be in another \
                 partition. Compute {part} from the group columns",
                query.keys.join(", ")
            ))),
        }
    }
}
