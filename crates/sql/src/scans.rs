//! The scans of a plan: which tables of ours they read, and what they read of them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::listing::{ListingTable, ListingTableUrl};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use partwise_commit::{Location, Reads, Table};
use partwise_table::{PartitionCountsExec, PartwiseSource, PartwiseTable, ReadLog};

use crate::Result;
use crate::files_table::FilesTable;
use crate::progress::sum;

/// What all scans of a query read of our tables together.
///
/// ```
/// use std::sync::Arc;
///
/// use partwise::datafusion::physical_plan::collect;
/// use partwise::datafusion::prelude::*;
/// use partwise::{ScanTotals, Table, WritePartitioned};
///
/// # #[tokio::main]
/// # async fn main() -> partwise::Result<()> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("lake/trips");
/// # let session = SessionContext::new();
/// # let rows = session.sql("SELECT value AS fare, value % 7 AS day FROM generate_series(1, 70)").await?;
/// # rows.write_partitioned(&path).partition_by(["day"]).save().await?;
/// let trips = Table::open_in(&session, path).await?;
/// let day = trips.dataframe()?.filter(col("day").eq(lit(3)))?;
/// let plan = day.create_physical_plan().await?;
/// collect(Arc::clone(&plan), session.task_ctx()).await?;
/// let read = ScanTotals::of(&plan).expect("a scan of a table");
/// assert_eq!((read.partitions, read.files, read.rows), (1, 1, 10));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanTotals {
    /// Scans of our tables; a table that is mentioned twice may be scanned twice.
    pub scans: u64,
    /// Partitions that the scans selected, counted once for each scan.
    pub partitions: u64,
    /// Files that were opened.
    pub files: u64,
    /// Rows that were decoded, kept and dropped.
    pub rows: u64,
}

impl ScanTotals {
    /// The figures of a plan so far, final once it has run; none if it scans no table of ours.
    pub fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let mut totals = None;
        add(plan, &mut totals);
        totals
    }
}

fn add(plan: &Arc<dyn ExecutionPlan>, totals: &mut Option<ScanTotals>) {
    if let Some(exec) = plan.downcast_ref::<DataSourceExec>()
        && let Some(config) = exec.data_source().downcast_ref::<FileScanConfig>()
        && let Some(source) = config.file_source().downcast_ref::<PartwiseSource>()
    {
        let totals = totals.get_or_insert_default();
        totals.scans += 1;
        totals.partitions += source.facts().partitions.selected as u64;
        totals.files += sum(plan.as_ref(), "files_read");
        totals.rows += sum(plan.as_ref(), "rows_read");
    }
    if let Some(counts) = plan.downcast_ref::<PartitionCountsExec>() {
        let totals = totals.get_or_insert_default();
        totals.partitions += counts.facts().partitions.selected as u64;
        totals.files += sum(plan.as_ref(), "files_read");
    }
    for child in plan.children() {
        add(child, totals);
    }
}

/// The tables of ours that a query reads, subqueries included.
pub(crate) fn tables_of(plan: &LogicalPlan) -> Result<Vec<PartwiseTable>> {
    let mut tables = Vec::new();
    each_provider(plan, &mut |provider| {
        tables.extend(provider.downcast_ref::<PartwiseTable>().cloned());
    })?;
    Ok(tables)
}

fn each_provider(plan: &LogicalPlan, visit: &mut dyn FnMut(&dyn TableProvider)) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(provider) = source_as_provider(&scan.source)
        {
            visit(provider.as_ref());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// The version of `target` that a query reads, 0 without a log; none if it doesn't read it.
///
/// It is read under whatever name: another table's, a view's, a link's, a directory or a file in
/// it. What is read later than this is at least as new.
pub(crate) async fn version_read(plan: &LogicalPlan, target: &Table) -> Result<Option<u64>> {
    let written = real_path(&target.location().display());
    let reads = paths_of(plan)?.iter().any(|read| {
        let read = real_path(read);
        read.starts_with(&written) || written.starts_with(&read)
    });
    match reads {
        true => Ok(Some(target.describe().await?.version.unwrap_or(0))),
        false => Ok(None),
    }
}

/// What the patterns in a query found of the files of the table at `target`.
pub(crate) fn files_read(plan: &LogicalPlan, target: &Location) -> Result<Vec<Arc<dyn Reads>>> {
    let mut reads = Vec::new();
    each_provider(plan, &mut |provider| {
        reads.extend(provider.downcast_ref::<FilesTable>().map(|files| files.of_target(target)));
    })?;
    Ok(reads)
}

/// Where the tables and files that a query reads lie, subqueries included.
fn paths_of(plan: &LogicalPlan) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    each_provider(plan, &mut |provider| {
        if let Some(table) = provider.downcast_ref::<PartwiseTable>() {
            // What was stays as it was, whoever commits.
            paths.extend((!table.is_past()).then(|| table.location().display()));
        } else if let Some(files) = provider.downcast_ref::<ListingTable>() {
            paths.extend(files.table_paths().iter().map(local_path));
        } else if let Some(files) = provider.downcast_ref::<FilesTable>() {
            paths.extend(files.listing().table_paths().iter().map(local_path));
        }
    })?;
    Ok(paths)
}

fn local_path(url: &ListingTableUrl) -> String {
    let path = url.get_url().to_file_path();
    path.map_or_else(|()| url.as_str().to_owned(), |path| path.display().to_string())
}

/// Links resolved, where there is such a path on the disk.
fn real_path(shown: &str) -> PathBuf {
    std::fs::canonicalize(shown).unwrap_or_else(|_| PathBuf::from(shown))
}

/// The plan as that of a statement of its own: its scans of one table share a read log that nobody
/// else has written to, whenever and however often the table was opened. A version of the past is
/// a table of its own.
pub(crate) fn with_new_logs(plan: LogicalPlan) -> Result<LogicalPlan> {
    with_logs(plan, &mut ReadLogs::default())
}

/// What the plans of one statement read, by table.
#[derive(Debug, Default)]
pub(crate) struct ReadLogs(HashMap<(PathBuf, Option<u64>), ReadLog>);

impl ReadLogs {
    /// All of them.
    pub fn all(&self) -> Vec<ReadLog> {
        self.0.values().cloned().collect()
    }

    /// Whether a table was seen at different versions.
    pub fn is_torn(&self) -> bool {
        self.0.values().any(ReadLog::is_torn)
    }
}

/// The plan as one of several of a statement, which share a read log for each table.
pub(crate) fn with_logs(plan: LogicalPlan, logs: &mut ReadLogs) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|node| {
        let table = table_of(&node);
        Ok(match (node, table) {
            (LogicalPlan::TableScan(mut scan), Some(table)) => {
                let past = table.version().filter(|_| table.is_past());
                let log = logs.0.entry((real_path(&table.location().display()), past)).or_default();
                scan.source = provider_as_source(Arc::new(table.with_log(log.clone())));
                Transformed::yes(LogicalPlan::TableScan(scan))
            }
            (node, _) => Transformed::no(node),
        })
    })?;
    Ok(plan.data)
}

/// A plan whose scans of the table at a place read its rows to write them anew.
pub(crate) fn of_whole_rows(plan: LogicalPlan, target: &Location) -> Result<LogicalPlan> {
    let target = target.display();
    let plan = plan.transform_up(|node| {
        let table = table_of(&node).filter(|table| table.location().display() == target);
        Ok(match (node, table) {
            (LogicalPlan::TableScan(mut scan), Some(table)) => {
                scan.source = provider_as_source(Arc::new(table.whole_rows()));
                Transformed::yes(LogicalPlan::TableScan(scan))
            }
            (node, _) => Transformed::no(node),
        })
    })?;
    Ok(plan.data)
}

/// The table of ours that a node scans.
pub(crate) fn table_of(node: &LogicalPlan) -> Option<PartwiseTable> {
    let LogicalPlan::TableScan(scan) = node else { return None };
    let provider = source_as_provider(&scan.source).ok()?;
    provider.as_ref().downcast_ref::<PartwiseTable>().cloned()
}

/// Whether the scans of one statement saw different versions of a table: it has to be planned
/// again.
pub(crate) fn is_torn(tables: &[PartwiseTable]) -> bool {
    tables.iter().any(|table| table.reads().is_torn())
}
