//! From a scan's request to its plan.

use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::config::TableParquetOptions;
use datafusion::common::stats::Precision;
use datafusion::common::{Statistics, ToDFSchema};
use datafusion::datasource::physical_plan::{FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::{collect_columns, conjunction, reassign_expr_columns};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion_datasource::PartitionedFile;
use partwise_commit::{AllPartitions, PartitionSelector, Snapshot};

use super::bounds::may_match;
use super::files::{balanced_groups, partition_groups, partitioned_files};
use super::{CountTotals, FilterUse, classify};
use crate::config::PartwiseConfig;
use crate::error::external;
use crate::predicate::PartitionPredicate;
use crate::provider::TableParts;
use crate::reader::{Footers, PartwiseReaderFactory, ScanFile};
use crate::source::{PartwiseSource, ScanCounters, ScanFacts, Seen, Selected};

/// What DataFusion asks of a scan; columns by their declared position.
pub(crate) struct ScanRequest<'a> {
    pub(crate) projection: Option<&'a Vec<usize>>,
    pub(crate) filters: &'a [Expr],
    pub(crate) limit: Option<usize>,
}

/// Plans a scan of a table: takes its snapshot, lists nothing that the filters rule out.
///
/// # Errors
/// Whatever the snapshot finds wrong; a filter over partition columns that fails on their values.
pub(crate) async fn plan_scan(
    parts: &TableParts,
    session: &dyn Session,
    request: ScanRequest<'_>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let filters = Filters::new(parts, session, request.filters)?;
    let projection = request.projection.cloned();
    let projection = projection.unwrap_or_else(|| (0..parts.schema.fields().len()).collect());
    if PartwiseConfig::of(session.config_options()).prune {
        let predicate = PartitionPredicate::new(parts.partition_columns(), &filters.all)?;
        let predicate = Some(Arc::new(predicate));
        let scan = Scan { parts, session, predicate, filters: filters.all };
        return scan.plan(&projection, request.limit).await;
    }
    // Everything is read and the filters that were declared exact are asked above the scan.
    let scan = Scan { parts, session, predicate: None, filters: Vec::new() };
    match conjunction_of(filters.exact) {
        None => scan.plan(&projection, request.limit).await,
        Some(filter) => filtered(&scan, &projection, filter).await,
    }
}

/// The request's filters over the table's columns in declared order.
pub(super) struct Filters {
    /// All that say something before the query runs.
    pub(super) all: Vec<Arc<dyn PhysicalExpr>>,
    /// Those over partition columns alone, which DataFusion doesn't ask again.
    exact: Vec<Arc<dyn PhysicalExpr>>,
}

impl Filters {
    pub(super) fn new(parts: &TableParts, session: &dyn Session, filters: &[Expr]) -> Result<Self> {
        let schema = Arc::clone(&parts.schema).to_dfschema()?;
        let (mut all, mut exact) = (Vec::new(), Vec::new());
        for filter in filters {
            let filter_use = classify(filter, &|name| parts.is_partition_column(name))?;
            if filter_use == FilterUse::Above {
                continue;
            }
            let physical = session.create_physical_expr(filter.clone(), &schema)?;
            // DataFusion drops a condition without columns once it was handed on.
            if filter_use == FilterUse::Partition || filter.column_refs().is_empty() {
                exact.push(Arc::clone(&physical));
            }
            all.push(physical);
        }
        Ok(Self { all, exact })
    }
}

fn conjunction_of(filters: Vec<Arc<dyn PhysicalExpr>>) -> Option<Arc<dyn PhysicalExpr>> {
    (!filters.is_empty()).then(|| conjunction(filters))
}

/// A scan of everything the filter and the projection need, the filter, the projection.
async fn filtered(
    scan: &Scan<'_>,
    projection: &[usize],
    filter: Arc<dyn PhysicalExpr>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut needed = projection.to_vec();
    for column in collect_columns(&filter) {
        if !needed.contains(&column.index()) {
            needed.push(column.index());
        }
    }
    let input = scan.plan(&needed, None).await?;
    let filter = reassign_expr_columns(filter, &input.schema())?;
    let filtered: Arc<dyn ExecutionPlan> = Arc::new(FilterExec::try_new(filter, input)?);
    if needed.len() == projection.len() {
        return Ok(filtered);
    }
    let schema = filtered.schema();
    let kept = (0..projection.len()).map(|index| {
        let name = schema.field(index).name();
        (Arc::new(Column::new(name, index)) as Arc<dyn PhysicalExpr>, name.clone())
    });
    Ok(Arc::new(ProjectionExec::try_new(kept.collect::<Vec<_>>(), filtered)?))
}

pub(super) struct Scan<'a> {
    pub(super) parts: &'a TableParts,
    pub(super) session: &'a dyn Session,
    /// None where nothing is to be ruled out.
    pub(super) predicate: Option<Arc<PartitionPredicate>>,
    /// What files may be ruled out by.
    pub(super) filters: Vec<Arc<dyn PhysicalExpr>>,
}

impl Scan<'_> {
    async fn plan(
        &self,
        projection: &[usize],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let snapshot = self.snapshot().await?;
        self.parts.check_schema(snapshot.version).await.map_err(external)?;
        let facts = self.facts(&snapshot).await?;
        self.parts.log.note(snapshot.version, &snapshot.warnings);
        let files = partitioned_files(
            &self.parts.table,
            self.parts.partition_columns(),
            snapshot.partitions,
        )?;
        let seen = self.seen(files.iter().filter_map(|f| f.extension::<ScanFile>().cloned()));
        self.parts.log.note_seen(seen.clone());
        let files = self.not_ruled_out(files);
        let statistics = self.statistics(&files);
        let kept = Selected { selected: files.len(), ..facts.files };
        let source = self.source(Arc::new(ScanFacts { seen, files: kept, ..facts }));
        let at_once = self.session.config().target_partitions();
        let groups = match self.parts.reads_all() {
            true => balanced_groups(files, at_once),
            // What asks for given partitions writes each of them anew, in the order there is.
            false => partition_groups(files, at_once),
        };
        let config =
            FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), Arc::new(source))
                .with_file_groups(groups)
                .with_projection_indices(Some(self.parts.scan_projection(projection)))?
                .with_limit(limit)
                .with_statistics(statistics)
                .with_expr_adapter(Some(Arc::new(self.parts.adapters())))
                .build();
        Ok(DataSourceExec::from_data_source(config))
    }

    pub(super) async fn snapshot(&self) -> Result<Snapshot> {
        let Some(predicate) = &self.predicate else {
            return self.parts.snapshot(&AllPartitions).await.map_err(external);
        };
        let snapshot = self.parts.snapshot(predicate.as_ref()).await.map_err(external)?;
        only_selected(snapshot, predicate)
    }

    pub(super) async fn facts(&self, snapshot: &Snapshot) -> Result<ScanFacts> {
        let partitions = snapshot.partitions.len();
        let files = snapshot.partitions.iter().map(|partition| partition.files.len()).sum();
        let everything = self.predicate.as_ref().is_none_or(|p| p.selects_everything());
        let everything = everything && self.parts.reads_all();
        let (all_partitions, all_files) = if everything {
            (Some(partitions), Some(files))
        } else if self.session.config().get_extension::<CountTotals>().is_some() {
            let whole = self.parts.whole_snapshot(&AllPartitions).await;
            let totals = whole.map_err(external)?.totals();
            (usize::try_from(totals.partitions).ok(), usize::try_from(totals.files).ok())
        } else {
            (None, None)
        };
        Ok(ScanFacts {
            location: self.parts.table.location().clone(),
            partition_filters: self
                .predicate
                .as_ref()
                .map_or_else(Vec::new, |predicate| predicate.rendered()),
            partitions: Selected { selected: partitions, total: all_partitions },
            files: Selected { selected: files, total: all_files },
            prune: self.predicate.is_some(),
            version: snapshot.version,
            seen: None,
        })
    }

    pub(super) fn seen(&self, files: impl Iterator<Item = ScanFile>) -> Option<Arc<Seen>> {
        let parts = self.parts;
        parts.past.is_none().then(|| {
            let location = parts.table.location().clone();
            let columns = parts.partition_columns();
            Arc::new(Seen::new(location, columns, self.predicate.clone(), files.collect()))
        })
    }

    /// Those whose records don't tell that no row of theirs matches.
    fn not_ruled_out(&self, mut files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        let parts = self.parts;
        let kept = may_match(&self.filters, &parts.schema, parts.partition_columns(), &files);
        if let Some(kept) = kept {
            let mut kept = kept.into_iter();
            files.retain(|_| kept.next().unwrap_or(true));
        }
        files
    }

    fn source(&self, facts: Arc<ScanFacts>) -> PartwiseSource {
        let runtime = self.session.runtime_env();
        let counters = ScanCounters::new(facts.pruned());
        let readers =
            PartwiseReaderFactory::new(Footers::cached_in(runtime), Arc::clone(&counters));
        let parquet = ParquetSource::new(self.parts.scan_schema.clone())
            .with_table_parquet_options(self.options())
            .with_parquet_file_reader_factory(Arc::new(readers));
        PartwiseSource::new(parquet, facts, counters)
    }

    /// The session's Parquet options; INT96 is read as microseconds, which don't wrap.
    fn options(&self) -> TableParquetOptions {
        let global = self.session.config_options().execution.parquet.clone();
        let mut options = TableParquetOptions { global, ..TableParquetOptions::default() };
        options.global.coerce_int96 = Some("us".to_owned());
        options
    }

    /// Sizes for the planner's choices, never for answers: inexact.
    fn statistics(&self, files: &[PartitionedFile]) -> Statistics {
        let found = || files.iter().filter_map(|file| file.extension::<ScanFile>());
        let rows: Option<u64> = found().map(|file| file.data_file().rows).sum();
        let bytes: u64 = found().map(ScanFile::size).sum();
        let inexact = |count: u64| Precision::Inexact(usize::try_from(count).unwrap_or(usize::MAX));
        let mut statistics = Statistics::new_unknown(self.parts.scan_schema.table_schema());
        statistics.num_rows = rows.map_or(Precision::Absent, inexact);
        statistics.total_byte_size = inexact(bytes);
        statistics
    }
}

/// The lister may leave a partition in that a record put back; what the filters rule out goes.
fn only_selected(mut snapshot: Snapshot, predicate: &PartitionPredicate) -> Result<Snapshot> {
    if predicate.selects_everything() {
        return Ok(snapshot);
    }
    let keys: Vec<_> = snapshot.partitions.iter().map(|p| p.key.values().to_vec()).collect();
    let mut kept = predicate.select(&keys).map_err(external)?.into_iter();
    snapshot.partitions.retain(|_| kept.next().unwrap_or(true));
    Ok(snapshot)
}
