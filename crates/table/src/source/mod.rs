//! The file source of a scan: DataFusion's Parquet source, with what we know of partitions added.
//!
//! ```text
//!   DataSourceExec -> FileScanConfig -> PartwiseSource -> ParquetSource
//!                                         |  EXPLAIN: PartitionFilters, PushedFilters, n/m
//!                                         |  morsels: files skipped at run time, rows counted,
//!                                         |           damage named
//! ```
//! Everything else is the Parquet source's answer, wrapped again where it hands back a source.

mod explain;
mod facts;
mod metrics;
mod morsel;
mod runtime;
mod seen;

pub use facts::{ScanFacts, Selected, read_version, scan_facts};
pub(crate) use metrics::ScanCounters;
pub use seen::Seen;

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::physical_plan::{
    FileOpener, FileScanConfig, FileSource, ParquetSource,
};
use datafusion::error::Result;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, SortOrderPushdownResult};
use datafusion_datasource::morsel::Morselizer;
use datafusion_datasource::{PartitionedFile, TableSchema};
use object_store::ObjectStore;

use morsel::PartwiseMorselizer;
use runtime::RuntimeFilter;

use crate::predicate::{Conclusion, keeps_rows, sound};

/// The Parquet source of one scan of a Partwise table.
#[derive(Clone)]
pub struct PartwiseSource {
    inner: Arc<dyn FileSource>,
    facts: Arc<ScanFacts>,
    counters: Arc<ScanCounters>,
}

impl PartwiseSource {
    /// Wraps the Parquet source of a scan; the counters join its metrics.
    pub(crate) fn new(
        inner: ParquetSource,
        facts: Arc<ScanFacts>,
        counters: Arc<ScanCounters>,
    ) -> Self {
        counters.register(inner.metrics());
        Self { inner: Arc::new(inner), facts, counters }
    }

    /// What the scan selected and why.
    pub fn facts(&self) -> &ScanFacts {
        &self.facts
    }

    /// The Parquet source as it reads: with a filter of which statistics tell the truth.
    fn sound(&self) -> Arc<dyn FileSource> {
        let parquet = self.inner.downcast_ref::<ParquetSource>();
        let (Some(parquet), Some(filter)) = (parquet, self.inner.filter()) else {
            return Arc::clone(&self.inner);
        };
        // With a row filter, a limit is taken from row groups that match as a whole.
        let conclusion = match parquet.table_parquet_options().global.pushdown_filters {
            true => Conclusion::NoRowOrEvery,
            false => Conclusion::NoRow,
        };
        let schema = self.inner.table_schema().table_schema();
        Arc::new(parquet.with_predicate(sound(&filter, schema, conclusion)))
    }

    fn wrap(&self, inner: Arc<dyn FileSource>) -> Arc<dyn FileSource> {
        Arc::new(Self { inner, ..self.clone() })
    }
}

impl FileSource for PartwiseSource {
    fn create_file_opener(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        self.sound().create_file_opener(object_store, base_config, partition)
    }

    fn create_morselizer(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Box<dyn Morselizer>> {
        let inner = self.sound().create_morselizer(object_store, base_config, partition)?;
        let runtime = RuntimeFilter::new(self.inner.filter(), self.inner.table_schema());
        Ok(Box::new(PartwiseMorselizer::new(
            inner,
            runtime,
            Arc::clone(&self.counters),
            self.inner.metrics().clone(),
        )))
    }

    fn table_schema(&self) -> &TableSchema {
        self.inner.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        self.wrap(self.inner.with_batch_size(batch_size))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.inner.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.inner.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.inner.metrics()
    }

    fn file_type(&self) -> &str {
        self.inner.file_type()
    }

    fn fmt_extra(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        explain::fmt(&self.facts, self.inner.as_ref(), t, f)
    }

    fn supports_repartitioning(&self) -> bool {
        self.inner.supports_repartitioning()
    }

    fn repartitioned(
        &self,
        target_partitions: usize,
        repartition_file_min_size: usize,
        output_ordering: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        // The answer keeps the config's source, which is this one.
        self.inner.repartitioned(
            target_partitions,
            repartition_file_min_size,
            output_ordering,
            config,
        )
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        if !self.facts.prune {
            let above = vec![PushedDown::No; filters.len()];
            return Ok(FilterPushdownPropagation::with_parent_pushdown_result(above));
        }
        let late = config.execution.parquet.pushdown_filters;
        let schema = self.inner.table_schema().table_schema();
        let taken: Vec<bool> =
            filters.iter().map(|filter| !late || keeps_rows(filter, schema)).collect();
        let offered = filters.into_iter().zip(&taken).filter_map(|(f, taken)| taken.then_some(f));
        let pushed = self.inner.try_pushdown_filters(offered.collect(), config)?;
        let mut answers = pushed.filters.into_iter();
        let answer = |taken: bool| taken.then(|| answers.next()).flatten();
        Ok(FilterPushdownPropagation {
            filters: taken.into_iter().map(answer).map(|a| a.unwrap_or(PushedDown::No)).collect(),
            updated_node: pushed.updated_node.map(|inner| self.wrap(inner)),
        })
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        eq_properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        let pushed = self.inner.try_pushdown_sort(order, eq_properties)?;
        Ok(pushed.map(|inner| self.wrap(inner)))
    }

    fn reorder_files(&self, files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        self.inner.reorder_files(files)
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        Ok(self.inner.try_pushdown_projection(projection)?.map(|inner| self.wrap(inner)))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.inner.apply_expressions(f)
    }
}
