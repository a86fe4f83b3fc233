//! How far a statement has come, for whoever watches it run.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::stats::Precision;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use partwise_table::PartwiseSource;

/// What a running statement has read and written so far; every figure only grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Rows decoded by the scans.
    pub rows_read: u64,
    /// All rows that the scans will decode; none where that isn't known before they have.
    pub rows_total: Option<u64>,
    /// Files opened by the scans of our tables.
    pub files_read: u64,
    /// Files that the scans selected.
    pub files_selected: u64,
    /// Partitions that the scans selected.
    pub partitions: u64,
    /// All rows that will be written; none where that isn't known before they are.
    pub rows_to_write: Option<u64>,
    /// Rows in files that are written whole.
    pub rows_written: u64,
    /// Files that are written whole.
    pub files_written: u64,
    /// Bytes of those files.
    pub bytes_written: u64,
}

/// The node of a plan that writes our files.
const WRITER: &str = "StagedWriteExec";

impl Progress {
    /// The figures of a plan, as of now.
    pub(crate) fn of(plan: &dyn ExecutionPlan) -> Self {
        let mut progress = Self { rows_total: Some(0), ..Self::default() };
        progress.add(plan);
        progress.rows_total = progress.rows_total.filter(|&total| total > 0);
        progress
    }

    fn add(&mut self, plan: &dyn ExecutionPlan) {
        if let Some(exec) = plan.downcast_ref::<DataSourceExec>()
            && let Some(config) = exec.data_source().downcast_ref::<FileScanConfig>()
        {
            self.add_scan(plan, config);
        }
        if plan.name() == WRITER {
            self.rows_written += sum(plan, "rows_written");
            self.files_written += sum(plan, "files_written");
            self.bytes_written += sum(plan, "bytes_written");
            self.rows_to_write = plan.children().first().and_then(|rows| exact_rows(rows.as_ref()));
        }
        for child in plan.children() {
            self.add(child.as_ref());
        }
    }
}

impl Progress {
    fn add_scan(&mut self, plan: &dyn ExecutionPlan, config: &FileScanConfig) {
        self.rows_total = self.rows_total.zip(all_rows(config)).map(|(a, b)| a + b);
        let Some(source) = config.file_source().downcast_ref::<PartwiseSource>() else {
            // DataFusion's own: of its files it only tells the rows that came out.
            self.rows_read += sum(plan, "output_rows");
            return;
        };
        self.rows_read += sum(plan, "rows_read");
        self.files_read += sum(plan, "files_read");
        self.files_selected += source.facts().files.selected as u64;
        self.partitions += source.facts().partitions.selected as u64;
    }
}

/// The rows that a scan decodes in the end: those its log or its footers count, unless a filter or
/// a limit lets it pass over some.
fn all_rows(config: &FileScanConfig) -> Option<u64> {
    if config.limit.is_some() || config.file_source().filter().is_some() {
        return None;
    }
    config.statistics().num_rows.get_value().map(|&rows| rows as u64)
}

/// The rows that a plan gives, where its sources count them and nothing in it drops or adds any.
fn exact_rows(plan: &dyn ExecutionPlan) -> Option<u64> {
    let statistics = StatisticsContext::new().compute(plan, &StatisticsArgs::new()).ok()?;
    match statistics.num_rows {
        Precision::Exact(rows) => Some(rows as u64),
        Precision::Inexact(_) | Precision::Absent => None,
    }
}

/// The sum of a metric over the tasks of a node. DataFusion's `sum_by_name` passes over metrics
/// with a type of their own, which those of our scans have.
pub(crate) fn sum(plan: &dyn ExecutionPlan, name: &str) -> u64 {
    let metrics = plan.metrics().unwrap_or_default();
    let sum = metrics.sum(|metric| metric.value().name() == name);
    sum.map_or(0, |value| value.as_usize() as u64)
}

/// The plan of the write that runs in a session.
#[derive(Clone, Default)]
pub(crate) struct Running(Arc<Mutex<Option<Arc<dyn ExecutionPlan>>>>);

impl Running {
    /// Shows a plan to the watchers until what is returned is dropped.
    pub fn show(&self, plan: &Arc<dyn ExecutionPlan>) -> Shown {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(plan));
        Shown(self.clone(), Arc::clone(plan))
    }

    /// The figures of the plan that is shown.
    pub fn progress(&self) -> Option<Progress> {
        let plan = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        plan.map(|plan| Progress::of(plan.as_ref()))
    }

    /// Ends the show of a plan, unless another has taken its place: a cancelled write may end
    /// after the next has begun.
    fn end(&self, plan: &Arc<dyn ExecutionPlan>) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.take_if(|shown| Arc::ptr_eq(shown, plan));
    }
}

/// Keeps a plan shown.
pub(crate) struct Shown(Running, Arc<dyn ExecutionPlan>);

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.end(&self.1);
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::Schema;
    use datafusion::physical_plan::empty::EmptyExec;

    use super::*;

    #[test]
    fn a_write_that_ends_late_leaves_the_next_ones_figures() {
        let plan = || Arc::new(EmptyExec::new(Arc::new(Schema::empty()))) as Arc<dyn ExecutionPlan>;
        let running = Running::default();
        let cancelled = running.show(&plan());
        let next = running.show(&plan());
        drop(cancelled);
        assert!(running.progress().is_some());
        drop(next);
        assert!(running.progress().is_none());
    }
}
