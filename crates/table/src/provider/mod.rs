//! A Partwise table as DataFusion sees it.

mod at;
mod footers;
mod insert;
mod log;
mod open;
mod parts;

pub use footers::FileFooter;
pub use log::ReadLog;
pub use open::OpenOptions;
pub(crate) use parts::TableParts;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::DFSchemaRef;
use datafusion::datasource::TableProvider;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::dml::{InsertOp, MergeIntoClause};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use partwise_commit::{Error, Location, Table, TableSchema};

use crate::counts::counts_schema;
use crate::error::external;
use crate::predicate::PartitionKeys;
use crate::scan::{ScanRequest, classify, plan_counts, plan_scan};
use crate::write::WriteSpec;

/// A directory of Parquet files as a table. Cheap to clone; the clones of one statement share the
/// log of what was read.
#[derive(Clone, Debug)]
pub struct PartwiseTable {
    parts: Arc<TableParts>,
    opened: Arc<Opened>,
    write: Option<Arc<WriteSpec>>,
    reading: Reading,
}

/// What the rows of a scan are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reading {
    /// The table's.
    #[default]
    Rows,
    /// One for each partition, with the number of its rows.
    Partitions,
}

/// What was found when the table was opened.
#[derive(Debug, Default)]
struct Opened {
    version: Option<u64>,
    /// The schema of the log at that version.
    pinned: Option<TableSchema>,
    properties: BTreeMap<String, String>,
}

impl PartwiseTable {
    fn new(table: Table, schema: TableSchema, opened: Opened) -> Self {
        let parts = Arc::new(TableParts::new(table, schema, opened.version, opened.pinned.clone()));
        Self { parts, opened: Arc::new(opened), write: None, reading: Reading::Rows }
    }

    /// Where the table is.
    pub fn location(&self) -> &Location {
        self.parts.table.location()
    }

    /// The commit protocol's handle on it.
    pub fn table(&self) -> &Table {
        &self.parts.table
    }

    /// Its columns in declared order, with the nullability declared, and its partition columns.
    pub fn table_schema(&self) -> &TableSchema {
        &self.parts.declared
    }

    /// The version published when it was opened; none for a tree without a log of ours.
    pub fn version(&self) -> Option<u64> {
        self.opened.version
    }

    /// The properties in its log.
    pub fn properties(&self) -> &BTreeMap<String, String> {
        &self.opened.properties
    }

    /// The table as the target of a write: `insert_into` does what `spec` says, whatever its own
    /// operation is.
    pub fn with_write(&self, spec: WriteSpec) -> Self {
        Self { write: Some(Arc::new(spec)), ..self.clone() }
    }

    /// The table for one more statement: what its scans read goes to `log`.
    pub fn with_log(&self, log: ReadLog) -> Self {
        let parts = Arc::new(self.parts.with_log(log));
        Self { parts, ..self.clone() }
    }

    /// The table with these partitions alone.
    pub fn of_partitions(&self, keys: PartitionKeys) -> Self {
        let parts = Arc::new(self.parts.as_ref().clone().of_partitions(keys));
        Self { parts, ..self.clone() }
    }

    /// The table whose rows are read to be written anew: a file that has a column which the table
    /// doesn't have is an error, as its values would be lost.
    pub fn whole_rows(&self) -> Self {
        let parts = Arc::new(self.parts.as_ref().clone().whole_rows());
        Self { parts, ..self.clone() }
    }

    /// The table read by its partitions: their values, and the number of their rows.
    pub(crate) fn by_partition(&self) -> Self {
        Self { reading: Reading::Partitions, ..self.clone() }
    }

    pub(crate) fn is_by_partition(&self) -> bool {
        self.reading == Reading::Partitions
    }

    /// What its scans have read so far: versions, and what was passed over.
    pub fn reads(&self) -> &ReadLog {
        &self.parts.log
    }
}

#[async_trait]
impl TableProvider for PartwiseTable {
    /// All columns in declared order, all nullable: other tools' files may lack one.
    fn schema(&self) -> SchemaRef {
        match self.reading {
            Reading::Rows => Arc::clone(&self.parts.schema),
            Reading::Partitions => counts_schema(self.parts.partition_columns()),
        }
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let is_partition_column = |name: &str| self.parts.is_partition_column(name);
        filters.iter().map(|filter| Ok(classify(filter, &is_partition_column)?.into())).collect()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let request = ScanRequest { projection, filters, limit };
        match self.reading {
            Reading::Rows => plan_scan(&self.parts, state, request).await,
            Reading::Partitions => plan_counts(&self.parts, state, request).await,
        }
    }

    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        insert_op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.plan_insert(state, input, insert_op)
    }

    async fn delete_from(
        &self,
        _state: &dyn Session,
        _filters: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(self.statement_only("DELETE FROM"))
    }

    async fn update(
        &self,
        _state: &dyn Session,
        _assignments: Vec<(String, Expr)>,
        _filters: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(self.statement_only("UPDATE"))
    }

    async fn truncate(&self, _state: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        Err(self.statement_only("TRUNCATE TABLE"))
    }

    async fn merge_into(
        &self,
        _state: &dyn Session,
        _source: Arc<dyn ExecutionPlan>,
        _merge_schema: DFSchemaRef,
        _on: Expr,
        _clauses: Vec<MergeIntoClause>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(self.statement_only("MERGE INTO"))
    }
}

impl PartwiseTable {
    /// DataFusion hands a provider an empty filter list, which means every row, for conditions
    /// that it can't express as filters: nothing is changed from here.
    fn statement_only(&self, statement: &str) -> DataFusionError {
        external(Error::unsupported(format!(
            "{statement} on {} can't be run by DataFusion's planner, which loses conditions on the \
             way: run the statement through Partwise (PartwiseContext::sql, partwise::sql, or the \
             partwise command)",
            self.location().display()
        )))
    }
}
