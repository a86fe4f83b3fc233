//! Opening a table: from its log, as declared, or as found.

use std::sync::Arc;

use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::error::Result;
use partwise_commit::{
    AllPartitions, DataFile, Description, Error, Location, PartitionColumn, Table, TableSchema,
};

use super::{Opened, PartwiseTable};
use crate::error::external;
use crate::reader::{Footers, ScanFile, ScanPartition};
use crate::schema::{infer_file_schema, same_name};
use crate::value::partition_fields;

/// How to open a table.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The schema declared by the statement that names the table. It goes before the log's; a
    /// table that isn't there yet opens with it as an empty one.
    pub schema: Option<TableSchema>,
}

impl PartwiseTable {
    /// Opens the table at `location`; none if nothing is there and no schema is declared.
    ///
    /// The schema is the declared one, or the log's, or inferred: partition columns from the names
    /// of all directories, file columns from the footers of all files (a sample of them where
    /// there are more than a thousand).
    ///
    /// # Errors
    /// A damaged log or file, named; files whose types have nothing in common; a declaration whose
    /// partition columns aren't the log's.
    pub async fn open(
        location: Location,
        options: OpenOptions,
        session: &dyn Session,
    ) -> Result<Option<Self>> {
        let table = Table::new(location);
        let description = table.describe().await.map_err(external)?;
        let schema = match (&options.schema, &description.schema) {
            (Some(declared), pinned) => {
                same_partitioning(&table, declared, pinned.as_ref()).map_err(external)?;
                declared.clone()
            }
            (None, Some(pinned)) => pinned.clone(),
            (None, None) if !description.has_data => return Ok(None),
            (None, None) => {
                let footers = Footers::cached_in(session.runtime_env());
                inferred(&table, &footers).await.map_err(external)?
            }
        };
        let Description { version, properties, schema: pinned, .. } = description;
        Ok(Some(Self::new(table, schema, Opened { version, pinned, properties })))
    }
}

fn same_partitioning(
    table: &Table,
    declared: &TableSchema,
    pinned: Option<&TableSchema>,
) -> partwise_commit::Result<()> {
    let Some(pinned) = pinned else { return Ok(()) };
    let names = |schema: &TableSchema| {
        let names = schema.partition_columns().iter().map(|column| column.name.to_lowercase());
        names.collect::<Vec<_>>().join(", ")
    };
    let (wanted, found) = (names(declared), names(pinned));
    if wanted == found {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{} is partitioned by ({found}), not by ({wanted}): declare it as it is, or replace it",
        table.location().display()
    )))
}

impl PartwiseTable {
    /// The columns of the files that no record of the log tells of: what other tools have put in.
    ///
    /// # Errors
    /// Files whose types have nothing in common, a damaged file, named.
    pub async fn columns_of_others(&self, session: &dyn Session) -> Result<SchemaRef> {
        let footers = Footers::cached_in(session.runtime_env());
        let columns = self.parts.declared.partition_columns();
        let found = files_but(self.table(), columns, |file| file.version.is_some())
            .await
            .map_err(external)?;
        file_columns(&found, &footers, columns).await.map_err(external)
    }
}

/// File columns in the order of the files, partition columns behind them.
async fn inferred(table: &Table, footers: &Footers) -> partwise_commit::Result<TableSchema> {
    let columns = table.discover_partition_columns().await?;
    let files = files_but(table, &columns, |_| false).await?;
    with_partition_columns(&*file_columns(&files, footers, &columns).await?, &columns)
}

/// The files of the newest version but those.
async fn files_but(
    table: &Table,
    columns: &[PartitionColumn],
    but: fn(&DataFile) -> bool,
) -> partwise_commit::Result<Vec<ScanFile>> {
    let snapshot = table.snapshot(columns, &AllPartitions).await?;
    let partition = Arc::new(ScanPartition::default());
    let files = snapshot.partitions.into_iter().flat_map(|partition| partition.files);
    let files = files.filter(|file| !but(file));
    Ok(files.map(|file| ScanFile::new(table.clone(), file, Arc::clone(&partition))).collect())
}

async fn file_columns(
    files: &[ScanFile],
    footers: &Footers,
    columns: &[PartitionColumn],
) -> partwise_commit::Result<SchemaRef> {
    let is_partition_column =
        |name: &str| columns.iter().any(|column| same_name(&column.name, name));
    infer_file_schema(files, footers, &is_partition_column).await
}

fn with_partition_columns(
    file_schema: &Schema,
    columns: &[PartitionColumn],
) -> partwise_commit::Result<TableSchema> {
    let mut fields: Vec<FieldRef> = file_schema.fields().iter().cloned().collect();
    fields.extend(partition_fields(columns));
    let partition_by = columns.iter().map(|column| column.name.clone()).collect();
    TableSchema::new(Arc::new(Schema::new(fields)), partition_by)
}
