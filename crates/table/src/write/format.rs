//! What all files of a write have in common: schema, encoding, limits.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use parquet::arrow::arrow_writer::ArrowRowGroupWriterFactory;
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, TypePtr};

use super::options::WriteOptions;

/// The version that files name as their maker.
const CREATED_BY: &str = concat!("partwise version ", env!("CARGO_PKG_VERSION"));

/// Schema, encoding and limits of the files of one write. Made once, shared by all its files.
#[derive(Debug)]
pub(super) struct FileFormat {
    schema: SchemaRef,
    root: TypePtr,
    properties: WriterPropertiesPtr,
    suffix: &'static str,
    /// The most rows of a row group.
    pub(super) row_group_rows: usize,
    /// The most rows of a file.
    pub(super) max_rows_per_file: u64,
    /// The size at which a file is closed.
    pub(super) target_file_bytes: u64,
}

impl FileFormat {
    /// # Errors
    /// A type that Parquet doesn't have.
    pub(super) fn new(schema: &SchemaRef, options: &WriteOptions) -> Result<Self> {
        let descriptor = ArrowSchemaConverter::new().convert(schema)?;
        let mut properties = writer_properties(&descriptor, options);
        add_encoded_arrow_schema_to_metadata(schema, &mut properties);
        Ok(Self {
            schema: Arc::clone(schema),
            root: descriptor.root_schema_ptr(),
            properties: Arc::new(properties),
            suffix: options.compression.file_suffix(),
            row_group_rows: options.row_group_rows,
            max_rows_per_file: options.max_rows_per_file.map_or(u64::MAX, |rows| rows as u64),
            target_file_bytes: options.target_file_bytes,
        })
    }

    /// The columns of the files.
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How the files' names end.
    pub(super) fn suffix(&self) -> &'static str {
        self.suffix
    }

    /// Starts a file in memory.
    pub(super) fn start(
        &self,
    ) -> Result<(SerializedFileWriter<Vec<u8>>, ArrowRowGroupWriterFactory)> {
        let (root, properties) = (Arc::clone(&self.root), Arc::clone(&self.properties));
        let writer = SerializedFileWriter::new(Vec::new(), root, properties)?;
        let factory = ArrowRowGroupWriterFactory::new(&writer, Arc::clone(&self.schema));
        Ok((writer, factory))
    }
}

fn writer_properties(descriptor: &SchemaDescriptor, options: &WriteOptions) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_compression(options.compression.parquet())
        .set_max_row_group_row_count(Some(options.row_group_rows));
    for path in leaf_paths(descriptor) {
        let name = path.parts().first().map(String::as_str).unwrap_or_default();
        if let Some(codec) = options.column_compression.get(name) {
            builder = builder.set_column_compression(path.clone(), codec.parquet());
        }
        if options.bloom_filters.iter().any(|column| column == name) {
            builder = builder.set_column_bloom_filter_enabled(path.clone(), true);
        }
    }
    builder.set_sorting_columns(sorting_columns(descriptor, options)).build()
}

fn leaf_paths(descriptor: &SchemaDescriptor) -> impl Iterator<Item = ColumnPath> + '_ {
    descriptor.columns().iter().map(|column| column.path().clone())
}

fn sorting_columns(
    descriptor: &SchemaDescriptor,
    options: &WriteOptions,
) -> Option<Vec<SortingColumn>> {
    let columns = options.sort_by.iter().map_while(|sort| {
        let leaf = leaf_paths(descriptor).position(|path| path.parts() == [sort.name.clone()])?;
        Some(SortingColumn {
            column_idx: i32::try_from(leaf).ok()?,
            descending: sort.descending,
            nulls_first: sort.nulls_first,
        })
    });
    let columns: Vec<SortingColumn> = columns.collect();
    (!columns.is_empty()).then_some(columns)
}
