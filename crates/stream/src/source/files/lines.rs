//! JSON files, an object a line, whose columns of text take numbers and truth values too:
//! DataFusion's own source doesn't.

use std::sync::Arc;

use arrow::json::reader::Decoder as ArrowDecoder;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::common::internal_datafusion_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileOpenFuture, FileOpener, FileScanConfig, FileSource,
};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result as DFResult};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::apply_expression_roots;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_datasource::boundary_stream::AlignedBoundaryStream;
use datafusion_datasource::decoder::{Decoder, DecoderDeserializer, deserialize_stream};
use futures::{StreamExt, TryStreamExt};
use object_store::{ObjectStore, ObjectStoreExt};

use crate::source::json::ExactColumns;

/// Bytes of a file's first object, whose names for the columns are looked at.
const LONGEST_OBJECT: u64 = 64 * 1024;

/// The source of a scan, of [`ExactColumns::as_text`].
#[derive(Clone)]
pub(super) struct LinesSource {
    schema: TableSchema,
    projection: SplitProjection,
    batch_size: usize,
    metrics: ExecutionPlanMetricsSet,
}

impl LinesSource {
    pub fn new(schema: TableSchema) -> Self {
        let projection = SplitProjection::unprojected(&schema);
        Self { schema, projection, batch_size: 8_192, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl FileSource for LinesSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        _config: &FileScanConfig,
        _partition: usize,
    ) -> DFResult<Arc<dyn FileOpener>> {
        let columns = Arc::new(self.schema.file_schema().project(&self.projection.file_indices)?);
        let opener = LinesOpener { columns, batch_size: self.batch_size, store };
        let file_schema = self.schema.file_schema();
        ProjectionOpener::try_new(self.projection.clone(), Arc::new(opener), file_schema)
    }

    fn table_schema(&self) -> &TableSchema {
        &self.schema
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(Self { batch_size, ..self.clone() })
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection.source)
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> DFResult<Option<Arc<dyn FileSource>>> {
        let merged = self.projection.source.try_merge(projection)?;
        let projection = SplitProjection::new(self.schema.file_schema(), &merged);
        Ok(Some(Arc::new(Self { projection, ..self.clone() })))
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        "json"
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DFResult<TreeNodeRecursion>,
    ) -> DFResult<TreeNodeRecursion> {
        apply_expression_roots(self.projection.source.iter(), f)
    }
}

/// Opens a file, or its lines that begin within a range.
struct LinesOpener {
    columns: SchemaRef,
    batch_size: usize,
    store: Arc<dyn ObjectStore>,
}

impl FileOpener for LinesOpener {
    fn open(&self, file: PartitionedFile) -> DFResult<FileOpenFuture> {
        let columns = ExactColumns::new(Arc::clone(&self.columns));
        let (store, batch_size) = (Arc::clone(&self.store), self.batch_size);
        let size = file.object_meta.size;
        let (start, end) = match &file.range {
            None => (0, size),
            Some(range) => (byte(range.start)?, byte(range.end)?),
        };
        Ok(Box::pin(async move {
            let path = file.object_meta.location;
            let first = store.get_range(&path, 0..size.min(LONGEST_OBJECT)).await?;
            let decoder = LinesDecoder(columns.spelled_as(&first).decoder(batch_size)?);
            let bytes = AlignedBoundaryStream::new(store, path, start, end, size, b'\n').await?;
            let bytes = bytes.map_err(DataFusionError::from).fuse();
            let rows = deserialize_stream(bytes, DecoderDeserializer::new(decoder));
            Ok(rows.map_err(DataFusionError::from).boxed())
        }))
    }
}

fn byte(at: i64) -> DFResult<u64> {
    u64::try_from(at).map_err(|_| internal_datafusion_err!("a range of a file from byte {at}"))
}

/// A decoder of arrow's as DataFusion drives it.
#[derive(Debug)]
struct LinesDecoder(ArrowDecoder);

impl Decoder for LinesDecoder {
    fn decode(&mut self, bytes: &[u8]) -> Result<usize, ArrowError> {
        self.0.decode(bytes)
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        self.0.flush()
    }

    fn can_flush_early(&self) -> bool {
        false
    }
}
