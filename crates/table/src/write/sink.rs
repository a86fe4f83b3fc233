//! [`PartitionSink`]: commits what the tasks have staged.
//!
//! ```text
//! begin -> (tasks write) -> manifest complete? -> commit -> outcome, row count
//!   \_________ any failure, or the future dropped: the staged files are swept
//! ```

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::datasource::sink::DataSink;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures::StreamExt;
use partwise_commit::{Change, Coverage, Operation, StagedFile, Table, TableSchema, Turn};

use super::encode::join_error;
use super::manifest::{Manifest, manifest_schema};
use super::spec::WriteSpec;
use super::staged_write::write_parts;
use super::staging::{Running, StagingCell};
use crate::error::external;
use crate::reader::FooterRowCounter;

/// Takes the manifest of a [`StagedWriteExec`](super::staged_write::StagedWriteExec) and makes its
/// files the table's next version.
#[derive(Debug)]
pub struct PartitionSink {
    table: Table,
    schema: TableSchema,
    spec: WriteSpec,
    staging: Arc<StagingCell>,
    manifest_schema: SchemaRef,
}

impl PartitionSink {
    pub(super) fn new(
        table: Table,
        schema: TableSchema,
        spec: WriteSpec,
        staging: Arc<StagingCell>,
    ) -> Self {
        Self { table, schema, spec, staging, manifest_schema: manifest_schema() }
    }

    /// What the write is to do.
    pub fn spec(&self) -> &WriteSpec {
        &self.spec
    }

    /// In a task of its own: a statement given up in the middle of it gets its transaction all the
    /// same, and drops it, which sweeps.
    async fn begin(&self) -> Result<Running> {
        let (table, schema) = (self.table.clone(), self.schema.clone());
        let properties = self.spec.properties.clone();
        let begun = tokio::spawn(async move { table.begin(&schema, properties).await });
        let transaction = begun.await.map_err(join_error)?.map_err(external)?;
        Ok(self.staging.begin(transaction))
    }

    async fn commit(
        &self,
        files: Vec<StagedFile>,
        running: &mut Running,
        context: &TaskContext,
    ) -> Result<u64> {
        let turn = context.session_config().get_extension::<Turn>();
        let turn = turn.map(|turn| turn.as_ref().clone());
        let change = Change { turn, ..self.spec.change(self.table.location(), files) };
        let transaction = running.take()?;
        let rows = FooterRowCounter::new(&context.runtime_env());
        if let Some(told) = &self.spec.preview {
            let preview = transaction.preview(&change, &rows).await;
            transaction.abort().await;
            told.set(preview.map_err(external)?);
            return Ok(0);
        }
        let committed = transaction.commit(change, &rows).await.map_err(external)?;
        let rows = committed.rows_added;
        self.spec.outcome.set(committed);
        Ok(rows)
    }

    /// What an overwrite covers, as EXPLAIN names it.
    fn scope(&self) -> Option<String> {
        if let Some(scope) = &self.spec.scope {
            return Some(scope.text().to_owned());
        }
        match &self.spec.operation {
            Operation::Overwrite(Coverage::Written) => Some("partitions written".to_owned()),
            Operation::Overwrite(Coverage::Matching(values)) if values.is_empty() => {
                Some("whole table".to_owned())
            }
            Operation::Overwrite(Coverage::Matching(values)) => {
                let columns = self.schema.partition_columns();
                let parts = values.iter().filter_map(|(index, value)| {
                    let column = columns.get(*index)?;
                    let text = column.ty.format(value).unwrap_or_else(|| "NULL".to_owned());
                    Some(format!("{}={text}", column.name))
                });
                Some(parts.collect::<Vec<_>>().join("/"))
            }
            _ => None,
        }
    }
}

async fn collect(mut data: SendableRecordBatchStream) -> Result<Vec<StagedFile>> {
    let mut manifest = Manifest::default();
    while let Some(batch) = data.next().await {
        manifest.add(&batch?)?;
    }
    manifest.files()
}

#[async_trait]
impl DataSink for PartitionSink {
    fn schema(&self) -> &SchemaRef {
        &self.manifest_schema
    }

    async fn write_all(
        &self,
        data: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        let mut running = self.begin().await?;
        match collect(data).await {
            Ok(files) => self.commit(files, &mut running, context).await,
            Err(error) => {
                running.abort().await;
                Err(error)
            }
        }
    }
}

impl DisplayAs for PartitionSink {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let columns = self.schema.partition_columns().iter();
        let columns: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
        let mut parts = vec![
            ("target", self.table.location().display()),
            ("mode", self.spec.mode().to_owned()),
        ];
        parts.extend(self.scope().map(|scope| ("scope", scope)));
        if !self.spec.constants.is_empty() {
            let constants = self.spec.constants.iter();
            let constants: Vec<String> =
                constants.map(|(name, value)| format!("{name}={value}")).collect();
            parts.push(("constants", format!("[{}]", constants.join(", "))));
        }
        parts.push(("partition_by", format!("[{}]", columns.join(", "))));
        write_parts(f, format, "PartitionSink: ", &parts)
    }
}
