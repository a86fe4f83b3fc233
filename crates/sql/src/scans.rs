//! The scans of a plan: which tables of ours they read, and what they read of them.

use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use partwise_table::{PartwiseSource, PartwiseTable};

use crate::Result;

/// What all scans of a query read of our tables together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanTotals {
    /// Partitions that the scans selected.
    pub partitions: u64,
    /// Files that were opened.
    pub files: u64,
    /// Rows that were decoded, kept and dropped.
    pub rows: u64,
}

impl ScanTotals {
    /// The figures so far; none if the plan scans no table of ours.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
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
        let metrics = plan.metrics().unwrap_or_default();
        let sum = |name| metrics.sum_by_name(name).map_or(0, |v| v.as_usize() as u64);
        totals.partitions += source.facts().partitions.selected as u64;
        totals.files += sum("files_read");
        totals.rows += sum("rows_read");
    }
    for child in plan.children() {
        add(child, totals);
    }
}

/// The tables of ours that a query reads, subqueries included.
pub(crate) fn tables_of(plan: &LogicalPlan) -> Result<Vec<PartwiseTable>> {
    let mut tables = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(provider) = source_as_provider(&scan.source)
            && let Some(table) = provider.as_ref().downcast_ref::<PartwiseTable>()
        {
            tables.push(table.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(tables)
}

/// Whether two tables are one, by their real paths.
pub(crate) fn is_same(a: &PartwiseTable, b: &PartwiseTable) -> bool {
    let real = |table: &PartwiseTable| {
        let shown = table.location().display();
        std::fs::canonicalize(&shown).map_or(shown, |path| path.display().to_string())
    };
    real(a) == real(b)
}

/// Whether the scans of one statement saw different versions of a table: it has to be planned
/// again.
pub(crate) fn is_torn(tables: &[PartwiseTable]) -> bool {
    tables.iter().any(|table| table.reads().is_torn())
}
