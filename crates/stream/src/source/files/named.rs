//! A scan of the stream's columns whose errors name the file: decoders know lines and columns, and of
//! a thousand files that helps nobody.

use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::physical_plan::{
    FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result as DFResult;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, ExecutionPlan};
use datafusion_datasource::morsel::Morselizer;
use object_store::ObjectStore;

use super::FilesSource;
use super::folder::Folder;
use super::morsel::NamedMorselizer;
use crate::Error;
use crate::source::StreamSource;
use crate::source::json::ExactColumns;

/// The error of a file that can't be read, or whose rows aren't the stream's.
pub(super) fn named(file: &str, cause: Error) -> Error {
    let text = format!(
        "{file} can't be read: {cause}; mend the file or move it out of the folder, then start the \
         query again"
    );
    Error::new(cause.kind(), text).with_source(cause)
}

/// The scan of files of a stream, under its columns, the errors named; another plan as it is.
pub(super) fn naming(scan: Arc<dyn ExecutionPlan>, stream: &FilesSource) -> Arc<dyn ExecutionPlan> {
    let files = scan.downcast_ref::<DataSourceExec>();
    let files = files.and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
    let Some(config) = files.cloned() else { return scan };
    let inner = Arc::clone(config.file_source());
    let (folder, schema) = (Arc::new(stream.folder.clone()), stream.schema().into());
    let source = NamedSource { inner, folder, schema };
    let config = FileScanConfigBuilder::from(config).with_source(Arc::new(source)).build();
    DataSourceExec::from_data_source(config)
}

/// A format's source, answering for it in all but its errors and the types of its columns.
#[derive(Clone)]
struct NamedSource {
    inner: Arc<dyn FileSource>,
    folder: Arc<Folder>,
    /// The stream's columns, which the format's source may read as texts.
    schema: TableSchema,
}

impl NamedSource {
    fn wrap(&self, inner: Arc<dyn FileSource>) -> Arc<dyn FileSource> {
        Arc::new(Self { inner, ..self.clone() })
    }

    /// The stream's columns that are read; none where the format's source gives them as they are.
    fn columns(&self) -> DFResult<Option<ExactColumns>> {
        let all = self.schema.file_schema();
        if self.inner.table_schema().file_schema() == all {
            return Ok(None);
        }
        let columns = match self.inner.projection() {
            Some(projection) => Arc::new(projection.project_schema(all)?),
            None => Arc::clone(all),
        };
        Ok(Some(ExactColumns::new(columns)))
    }
}

impl FileSource for NamedSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> DFResult<Arc<dyn FileOpener>> {
        self.inner.create_file_opener(store, config, partition)
    }

    fn create_morselizer(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> DFResult<Box<dyn Morselizer>> {
        let inner = self.inner.create_morselizer(store, config, partition)?;
        let (folder, columns) = (Arc::clone(&self.folder), self.columns()?.map(Arc::new));
        Ok(Box::new(NamedMorselizer { inner, folder, columns }))
    }

    fn table_schema(&self) -> &TableSchema {
        &self.schema
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
        self.inner.fmt_extra(t, f)
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
    ) -> DFResult<Option<FileScanConfig>> {
        // The answer keeps the config's source, which is this one.
        let min = repartition_file_min_size;
        self.inner.repartitioned(target_partitions, min, output_ordering, config)
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> DFResult<Option<Arc<dyn FileSource>>> {
        Ok(self.inner.try_pushdown_projection(projection)?.map(|inner| self.wrap(inner)))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DFResult<TreeNodeRecursion>,
    ) -> DFResult<TreeNodeRecursion> {
        self.inner.apply_expressions(f)
    }
}
