//! What `EXPLAIN ANALYZE` and a progress bar show of a write.

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, Gauge, MetricBuilder};
use partwise_commit::StagedFile;

/// The counters of one task.
#[derive(Clone, Debug)]
pub(super) struct WriteMetrics {
    rows_written: Count,
    files_written: Count,
    bytes_written: Count,
    /// Tasks that had to sort the rest of their input.
    pub(super) sorted_tasks: Count,
    /// The most files open at a time.
    pub(super) most_open_files: Gauge,
}

impl WriteMetrics {
    pub(super) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        Self {
            rows_written: count("rows_written"),
            files_written: count("files_written"),
            bytes_written: count("bytes_written"),
            sorted_tasks: count("sorted_tasks"),
            most_open_files: MetricBuilder::new(metrics).gauge("most_open_files", partition),
        }
    }

    /// Counts a finished file.
    pub(super) fn file_written(&self, file: &StagedFile) {
        self.rows_written.add(usize::try_from(file.rows).unwrap_or(usize::MAX));
        self.files_written.add(1);
        self.bytes_written.add(usize::try_from(file.bytes()).unwrap_or(usize::MAX));
    }
}
