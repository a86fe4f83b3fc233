//! The scan's own figures in EXPLAIN ANALYZE, printed exactly.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::physical_plan::metrics::{
    CustomMetricValue, ExecutionPlanMetricsSet, Metric, MetricType, MetricValue,
};

use crate::reader::ScanFile;

/// A count that is printed as it is: 77033, where DataFusion's own prints 77.03 K.
#[derive(Debug, Default)]
pub struct ExactCount {
    value: AtomicUsize,
}

impl ExactCount {
    fn add(&self, more: usize) {
        self.value.fetch_add(more, Ordering::Relaxed);
    }

    fn take_one(&self) {
        self.value.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Display for ExactCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_usize().fmt(f)
    }
}

impl CustomMetricValue for ExactCount {
    fn new_empty(&self) -> Arc<dyn CustomMetricValue> {
        Arc::new(Self::default())
    }

    fn aggregate(&self, other: Arc<dyn CustomMetricValue>) {
        self.add(other.as_usize());
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_usize(&self) -> usize {
        self.value.load(Ordering::Relaxed)
    }

    fn is_eq(&self, other: &Arc<dyn CustomMetricValue>) -> bool {
        other.as_any().is::<Self>() && other.as_usize() == self.as_usize()
    }
}

/// What one scan read and skipped, over all its tasks.
#[derive(Debug, Default)]
pub(crate) struct ScanCounters {
    files_read: Arc<ExactCount>,
    rows_read: Arc<ExactCount>,
    partitions_pruned: Arc<ExactCount>,
    /// Rows dropped by the row filter that `rows_read` holds already.
    dropped: AtomicUsize,
}

impl ScanCounters {
    /// Counters of a scan whose planning left `pruned` partitions out.
    pub(crate) fn new(pruned: usize) -> Arc<Self> {
        let counters = Self::default();
        counters.partitions_pruned.add(pruned);
        Arc::new(counters)
    }

    /// Adds the figures to the metrics of a plan node.
    pub(crate) fn register(&self, metrics: &ExecutionPlanMetricsSet) {
        for (name, count) in [
            ("files_read", &self.files_read),
            ("rows_read", &self.rows_read),
            ("partitions_pruned", &self.partitions_pruned),
        ] {
            let value =
                MetricValue::Custom { name: Cow::Borrowed(name), value: Arc::clone(count) as _ };
            metrics.register(Arc::new(Metric::new(value, None).with_type(MetricType::Summary)));
        }
    }

    /// A file, or a range of it, is looked into.
    pub(crate) fn file_read(&self, file: &ScanFile) {
        if file.mark_read() {
            self.files_read.add(1);
            if file.partition().mark_read() {
                self.partitions_pruned.take_one();
            }
        }
    }

    /// A file, or a range of it, is skipped because of its partition's values.
    pub(crate) fn file_skipped(&self, file: &ScanFile) {
        if file.partition().mark_skipped() {
            self.partitions_pruned.add(1);
        }
    }

    /// Rows came out of the decoder.
    pub(crate) fn rows_kept(&self, rows: usize) {
        self.rows_read.add(rows);
    }

    /// The Parquet source counts the rows that its row filter dropped, over all tasks.
    pub(crate) fn rows_dropped(&self, metrics: &ExecutionPlanMetricsSet) {
        let total = metrics.clone_inner().sum_by_name("pushdown_rows_pruned");
        let total = total.map_or(0, |value| value.as_usize());
        let counted = self.dropped.fetch_max(total, Ordering::Relaxed);
        self.rows_read.add(total.saturating_sub(counted));
    }
}
