//! A table as a program looks at it: partitions, files, history, rows.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::dataframe::DataFrame;
use datafusion::execution::context::SessionContext;
use datafusion::execution::runtime_env::RuntimeEnv;
use partwise_commit::{
    AllPartitions, DataFile, Location, PartitionColumn, PartitionKey, Record, RowCounter,
};
use partwise_table::{FooterRowCounter, PartwiseTable};

use super::PartitionValues;
use crate::{Result, path_table};

/// A directory of Parquet files as a table, opened once and asked often. Cheap to clone.
///
/// What it says and what its scans read is the table as it is when they are asked: a commit, or what
/// another tool puts there, is seen by the next call. Its columns are those there were when it was
/// opened; a scan of a table that was replaced with other columns since is a
/// [`Conflict`](crate::ErrorKind::Conflict): open it again.
///
/// ```
/// use partwise::datafusion::prelude::*;
/// use partwise::{Table, WritePartitioned};
///
/// # #[tokio::main]
/// # async fn main() -> partwise::Result<()> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("lake/report");
/// # let session = SessionContext::new();
/// # let rows = session.sql("SELECT 7 AS zone, '2024-01' AS month UNION ALL SELECT 8, '2024-02'").await?;
/// # rows.write_partitioned(&path).partition_by(["month"]).save().await?;
/// let table = Table::open(path).await?;
/// for partition in table.partitions().await? {
///     println!("{}: {} rows in {} files", partition.values, partition.rows, partition.files);
/// }
/// let january = table.dataframe()?.filter(col("month").eq(lit("2024-01")))?;
/// assert_eq!(january.count().await?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Table {
    session: SessionContext,
    provider: PartwiseTable,
}

/// A partition of a table.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Partition {
    /// Its values; empty for a table without partition columns.
    pub values: PartitionValues,
    /// Its directory, relative to the table.
    pub path: String,
    /// Its rows.
    pub rows: u64,
    /// Its data files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The last commit that touched it; none if the log doesn't tell.
    pub version: Option<u64>,
    pub(crate) key: PartitionKey,
}

/// A data file of a table.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct File {
    /// The values of its partition.
    pub values: PartitionValues,
    /// Its path, relative to the table.
    pub path: String,
    /// Its rows.
    pub rows: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it was last changed, where the file system tells.
    pub modified: Option<SystemTime>,
}

impl Table {
    /// Opens the table in a directory, with a session of its own.
    ///
    /// # Errors
    /// Nothing there, or a file, or a folder of tables; a damaged log or file, named.
    pub async fn open(location: impl Into<Location>) -> Result<Self> {
        Self::open_in(&SessionContext::new(), location).await
    }

    /// Opens the table in a directory; its frames run in `session`, with its settings and memory.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_in(session: &SessionContext, location: impl Into<Location>) -> Result<Self> {
        let provider = path_table::open_table(location.into(), &session.state()).await?;
        Ok(Self { session: session.clone(), provider })
    }

    /// All columns in declared order, partition columns included.
    pub fn schema(&self) -> SchemaRef {
        self.provider.schema()
    }

    /// The partition columns in the order of the directory levels.
    pub fn partition_columns(&self) -> &[PartitionColumn] {
        self.provider.table_schema().partition_columns()
    }

    /// The newest version that readers see; none for a tree without a log of ours.
    ///
    /// # Errors
    /// A damaged log; a disk that can't be read.
    pub async fn version(&self) -> Result<Option<u64>> {
        Ok(self.provider.table().describe().await?.version)
    }

    /// The partitions that hold rows, in the order of their values; of a table without partition
    /// columns, one.
    ///
    /// # Errors
    /// A table or a file that can't be read.
    pub async fn partitions(&self) -> Result<Vec<Partition>> {
        partitions_of(&self.session.runtime_env(), &self.provider).await
    }

    /// The data files, partition by partition.
    ///
    /// # Errors
    /// A table or a file that can't be read.
    pub async fn files(&self) -> Result<Vec<File>> {
        let columns = self.partition_columns();
        let snapshot = self.provider.table().snapshot(columns, &AllPartitions).await?;
        let counter = FooterRowCounter::new(&self.session.runtime_env());
        let mut files = Vec::new();
        for partition in snapshot.partitions {
            let values = PartitionValues::new(columns, &partition.key)?;
            for file in partition.files {
                let rows = rows_of(&counter, &self.provider, &file).await?;
                files.push(File::new(values.clone(), file, rows));
            }
        }
        Ok(files)
    }

    /// What the commits did, newest first, as far back as the log goes; empty for a tree without a
    /// log of ours.
    ///
    /// # Errors
    /// A damaged log; a disk that can't be read.
    pub async fn history(&self) -> Result<Vec<Record>> {
        Ok(self.provider.table().records().await?)
    }

    /// The version that a job's run made last; none if the log holds none. What waits for tonight's
    /// data asks this.
    ///
    /// # Errors
    /// As [`history`](Self::history).
    pub async fn version_of(&self, job: &str, run: u64) -> Result<Option<u64>> {
        let of_run = |record: &&Record| {
            record.token.as_ref().is_some_and(|token| token.job == job && token.run == run)
        };
        Ok(self.history().await?.iter().find(of_run).map(|record| record.version))
    }

    /// The rows, as a frame to filter: filters on partition columns select directories before any
    /// file is opened.
    ///
    /// # Errors
    /// None that an open table gives.
    pub fn dataframe(&self) -> Result<DataFrame> {
        Ok(self.session.read_table(self.provider())?)
    }

    /// The table for the catalog of any DataFusion session.
    pub fn provider(&self) -> Arc<dyn TableProvider> {
        Arc::new(self.provider.clone())
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({})", self.provider.location().display())
    }
}

impl File {
    fn new(values: PartitionValues, file: DataFile, rows: u64) -> Self {
        let since = |ns: i64| u64::try_from(ns).ok().map(Duration::from_nanos);
        let modified = file.identity.modified_ns.and_then(since).map(|since| UNIX_EPOCH + since);
        Self { values, path: file.path, rows, bytes: file.identity.size, modified }
    }
}

/// The partitions of a table, as it is now.
///
/// # Errors
/// A table or a file that can't be read.
pub(crate) async fn partitions_of(
    runtime: &Arc<RuntimeEnv>,
    table: &PartwiseTable,
) -> Result<Vec<Partition>> {
    let columns = table.table_schema().partition_columns();
    let snapshot = table.table().snapshot(columns, &AllPartitions).await?;
    let versions = last_versions(table).await?;
    let counter = FooterRowCounter::new(runtime);
    let mut partitions = Vec::with_capacity(snapshot.partitions.len());
    for found in snapshot.partitions.into_iter().filter(|found| !found.files.is_empty()) {
        let mut rows = 0;
        for file in &found.files {
            rows += rows_of(&counter, table, file).await?;
        }
        partitions.push(Partition {
            values: PartitionValues::new(columns, &found.key)?,
            path: found.path,
            rows,
            files: found.files.len() as u64,
            bytes: found.files.iter().map(|file| file.identity.size).sum(),
            version: versions.get(&found.key).copied(),
            key: found.key,
        });
    }
    Ok(partitions)
}

async fn rows_of(
    counter: &FooterRowCounter,
    table: &PartwiseTable,
    file: &DataFile,
) -> Result<u64> {
    Ok(match file.rows {
        Some(rows) => rows,
        None => counter.count(table.table(), file).await?,
    })
}

/// The last commit that touched each partition, as far back as the log goes.
async fn last_versions(table: &PartwiseTable) -> Result<HashMap<PartitionKey, u64>> {
    let mut versions = HashMap::new();
    for record in table.table().records().await? {
        for partition in record.partitions {
            versions.entry(partition.key).or_insert(record.version);
        }
    }
    Ok(versions)
}
