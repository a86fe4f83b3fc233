//! A plan over exactly the files of a batch.

use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_plan::ExecutionPlan;
use object_store::ObjectStore;
use partwise_table::widening_adapters;

use super::lines::LinesSource;
use super::list::{FileOffsets, as_meta};
use super::named::naming;
use super::{FileFormatName, FilesSource, headers};
use crate::Result;
use crate::source::json::ExactColumns;
use crate::source::{ReadRequest, StreamSource};

pub(super) async fn plan(
    source: &FilesSource,
    offsets: &FileOffsets,
    request: ReadRequest<'_>,
    store: &dyn ObjectStore,
) -> Result<Arc<dyn ExecutionPlan>> {
    let files = offsets.files.iter().map(|file| Ok(PartitionedFile::from(as_meta(file)?)));
    let files = files.collect::<Result<Vec<_>>>()?;
    if let Some(csv) = source.csv.filter(|csv| csv.header) {
        headers::check(source, csv, store, &files).await?;
    }
    let tasks = request.state.config().target_partitions();
    let files_source = source.files_source();
    let config = FileScanConfigBuilder::new(source.folder.url().object_store(), files_source)
        .with_file_groups(FileGroup::new(files).split_files(tasks))
        // A task reads its own share of the files alone, so that a batch that is repeated comes in
        // the same order.
        .with_preserve_order(true)
        .with_expr_adapter(Some(widening_adapters()))
        .with_projection_indices(Some(request.projection.to_vec()))?
        .build();
    let state: &dyn Session = request.state;
    let scan = source.format.create_physical_plan(state, config).await?;
    Ok(naming(scan, source))
}

impl FilesSource {
    /// The source of the rows; of formats of text, numbers are texts.
    fn files_source(&self) -> Arc<dyn FileSource> {
        let as_text = || TableSchema::from(Arc::clone(ExactColumns::new(self.schema()).as_text()));
        match self.format_name {
            FileFormatName::Json => Arc::new(LinesSource::new(as_text())),
            FileFormatName::Csv => self.format.file_source(as_text()),
            FileFormatName::Parquet => self.format.file_source(self.schema().into()),
        }
    }
}
