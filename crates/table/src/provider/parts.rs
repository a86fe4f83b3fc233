//! What a table is made of, as its scans need it.

use std::sync::Arc;

use arrow::datatypes::{Field, SchemaRef};
use partwise_commit::{
    At, Error, PartitionColumn, PartitionSelector, Snapshot, Table, TableSchema,
};

use super::ReadLog;
use crate::predicate::{PartitionKeys, Within};
use crate::schema::{WideningAdapterFactory, nullable, same_name};
use crate::value::partition_fields;

/// A table's handle and its schemas.
#[derive(Clone, Debug)]
pub(crate) struct TableParts {
    pub(crate) table: Table,
    pub(crate) declared: TableSchema,
    /// Declared order, all nullable: what queries see.
    pub(crate) schema: SchemaRef,
    /// File columns first, partition columns last: what DataFusion's file scan works on.
    pub(crate) scan_schema: datafusion_datasource::TableSchema,
    /// Where each declared column stands in the scan's schema.
    scan_index: Vec<usize>,
    pub(crate) log: ReadLog,
    /// The version the table was opened at, and the schema of its log there.
    opened: (Option<u64>, Option<TableSchema>),
    /// The version of the past that is read; none: the newest.
    pub(crate) past: Option<u64>,
    /// The only partitions that are read; none: all.
    only: Option<PartitionKeys>,
    /// Rows are read to be written anew.
    whole_rows: bool,
}

impl TableParts {
    pub(crate) fn new(
        table: Table,
        declared: TableSchema,
        version: Option<u64>,
        pinned: Option<TableSchema>,
    ) -> Self {
        let scan_schema =
            datafusion_datasource::TableSchema::builder(nullable(declared.file_schema()))
                .with_table_partition_cols(partition_fields(declared.partition_columns()))
                .build();
        let scan_index = scan_index(&declared);
        Self {
            table,
            schema: nullable(declared.arrow()),
            scan_schema,
            scan_index,
            declared,
            log: ReadLog::default(),
            opened: (version, pinned),
            past: None,
            only: None,
            whole_rows: false,
        }
    }

    /// The same, read at a version.
    pub(crate) fn pinned(self, version: u64) -> Self {
        Self { past: Some(version), ..self }
    }

    /// The same, of which these partitions alone are read.
    pub(crate) fn of_partitions(self, keys: PartitionKeys) -> Self {
        Self { only: Some(keys), ..self }
    }

    /// The same, whose rows are written anew: a file with a column that the table doesn't have is an
    /// error.
    pub(crate) fn whole_rows(self) -> Self {
        Self { whole_rows: true, ..self }
    }

    /// What reads each file's columns as the table's.
    pub(crate) fn adapters(&self) -> WideningAdapterFactory {
        let names = || self.partition_columns().iter().map(|column| column.name.clone()).collect();
        WideningAdapterFactory { whole_rows: self.whole_rows.then(names) }
    }

    /// Whether all partitions are read that there are.
    pub(crate) fn reads_all(&self) -> bool {
        self.only.is_none()
    }

    /// The files of the partitions that are read and that `selector` selects, at the version that is
    /// read.
    pub(crate) async fn snapshot(
        &self,
        selector: &dyn PartitionSelector,
    ) -> partwise_commit::Result<Snapshot> {
        let Some(keys) = &self.only else { return self.whole_snapshot(selector).await };
        let mut snapshot = self.whole_snapshot(&Within { keys, selector }).await?;
        // The lister may leave a partition in that a record put back.
        snapshot.partitions.retain(|partition| keys.holds(partition.key.values()));
        Ok(snapshot)
    }

    /// The files of all partitions that `selector` selects, at the version that is read.
    pub(crate) async fn whole_snapshot(
        &self,
        selector: &dyn PartitionSelector,
    ) -> partwise_commit::Result<Snapshot> {
        let columns = self.partition_columns();
        match self.past {
            Some(version) => self.table.snapshot_at(At::Version(version), columns, selector).await,
            None => self.table.snapshot(columns, selector).await,
        }
    }

    /// Makes sure that a snapshot can be read as the schema that the statement was planned with:
    /// columns that were added since aren't seen.
    ///
    /// # Errors
    /// `Conflict` where the table was replaced or altered to other columns since it was opened.
    pub(crate) async fn check_schema(&self, version: Option<u64>) -> partwise_commit::Result<()> {
        let (opened, pinned) = &self.opened;
        if version == *opened {
            return Ok(());
        }
        let now = match version {
            Some(version) => self.table.schema_of(version).await?,
            None => None,
        };
        let same = match (pinned, &now) {
            (Some(pinned), Some(now)) => extends(now, pinned),
            // The first write to a tree of another tool pins what was inferred.
            (None, Some(now)) => now.partition_columns() == self.partition_columns(),
            (None, None) => true,
            (Some(_), None) => false,
        };
        match same {
            true => Ok(()),
            false => Err(Error::conflict(format!(
                "{} was replaced or altered to other columns since the statement was planned: run it \
                 again, and make a view or prepared statement over it anew",
                self.table.location().display()
            ))),
        }
    }

    pub(crate) fn with_log(&self, log: ReadLog) -> Self {
        Self { log, ..self.clone() }
    }

    pub(crate) fn partition_columns(&self) -> &[PartitionColumn] {
        self.declared.partition_columns()
    }

    pub(crate) fn is_partition_column(&self, name: &str) -> bool {
        self.partition_columns().iter().any(|column| same_name(&column.name, name))
    }

    /// Declared positions as positions in the scan's schema.
    pub(crate) fn scan_projection(&self, declared: &[usize]) -> Vec<usize> {
        declared.iter().map(|&index| self.scan_index[index]).collect()
    }
}

/// Whether a table has all the columns that it had, as they were.
fn extends(now: &TableSchema, before: &TableSchema) -> bool {
    let there = |field: &Arc<Field>| {
        now.arrow().fields().iter().any(|other| {
            same_name(other.name(), field.name()) && other.data_type() == field.data_type()
        })
    };
    now.partition_columns() == before.partition_columns()
        && before.arrow().fields().iter().all(there)
}

/// Partition columns stand behind the file columns, in the order of the levels.
fn scan_index(declared: &TableSchema) -> Vec<usize> {
    let file_columns = declared.file_schema().fields().len();
    let mut next_file_column = 0..;
    (0..declared.arrow().fields().len())
        .map(|index| {
            let level = declared.partition_indices().iter().position(|&at| at == index);
            match level {
                Some(level) => file_columns + level,
                None => next_file_column.next().unwrap_or(file_columns),
            }
        })
        .collect()
}
