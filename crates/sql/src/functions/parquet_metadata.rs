//! `parquet_metadata('table or path')`: what the footers say, a row per column of each row group.
//!
//! The columns are named as in datafusion-cli's function, which takes the path of one file; here a
//! table, a directory or a glob will do as well.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{DataFusionError, Result as DFResult};
use datafusion::datasource::listing::{ListingTable, ListingTableUrl};
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::logical_expr::Expr;
use datafusion::parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use object_store::ObjectStoreExt;
use partwise_table::{FileFooter, PartwiseTable};

use super::call;
use super::gathered::{Gather, Gathered};
use crate::files_table::FilesTable;
use crate::{Error, Result};

/// The function.
#[derive(Debug)]
pub(super) struct ParquetMetadata;

impl TableFunctionImpl for ParquetMetadata {
    fn call_with_args(&self, args: TableFunctionArgs) -> DFResult<Arc<dyn TableProvider>> {
        let usage = || {
            Error::invalid(
                "parquet_metadata takes the name of a table or a path: parquet_metadata('report')",
            )
        };
        let name = match args.exprs() {
            [Expr::Literal(name, _)] => call::text(name).ok_or_else(usage)?.to_owned(),
            [Expr::Column(column)] => column.name.clone(),
            _ => return Err(usage().into()),
        };
        let table = call::table(call::state_of(&args)?, &name)?;
        Ok(Arc::new(Gathered::new(Footers { table, name }, schema())))
    }
}

/// The footers of one table or path, read when they are asked for.
#[derive(Debug)]
struct Footers {
    table: Arc<dyn TableProvider>,
    name: String,
}

#[async_trait]
impl Gather for Footers {
    async fn columns(&self, session: &dyn Session) -> Result<Vec<ArrayRef>> {
        Ok(columns(&self.footers(session).await?))
    }
}

impl Footers {
    async fn footers(&self, session: &dyn Session) -> Result<Vec<FileFooter>> {
        if let Some(table) = self.table.downcast_ref::<PartwiseTable>() {
            return Ok(table.footers(session).await?);
        }
        match listing(self.table.as_ref()) {
            Some(files) => footers_of(files.table_paths(), session).await,
            None => Err(Error::invalid(format!("{} is not made of files", self.name))),
        }
    }
}

/// The files of a table that isn't ours.
fn listing(table: &dyn TableProvider) -> Option<&ListingTable> {
    let found = table.downcast_ref::<FilesTable>().map(FilesTable::listing);
    found.or_else(|| table.downcast_ref::<ListingTable>())
}

/// The footers of single files.
async fn footers_of(files: &[ListingTableUrl], session: &dyn Session) -> Result<Vec<FileFooter>> {
    let mut found = Vec::with_capacity(files.len());
    for file in files {
        let store = session.runtime_env().object_store(file)?;
        let meta = store.head(file.prefix()).await.map_err(DataFusionError::from)?;
        let footer = DFParquetMetadata::new(store.as_ref(), &meta).fetch_metadata().await?;
        found.push(FileFooter { name: format!("/{}", meta.location), footer });
    }
    Ok(found)
}

/// A column of a row group of a file.
struct Chunk<'a> {
    file: &'a str,
    row_group: (usize, &'a RowGroupMetaData),
    column: (usize, &'a ColumnChunkMetaData),
}

/// How a column of the result is filled.
enum Fill {
    Text(fn(&Chunk) -> String),
    Number(fn(&Chunk) -> Option<i64>),
}

const COLUMNS: [(&str, Fill); 13] = [
    ("filename", Fill::Text(|c| c.file.to_owned())),
    ("row_group_id", Fill::Number(|c| i64::try_from(c.row_group.0).ok())),
    ("row_group_num_rows", Fill::Number(|c| Some(c.row_group.1.num_rows()))),
    ("row_group_bytes", Fill::Number(|c| Some(c.row_group.1.total_byte_size()))),
    ("column_id", Fill::Number(|c| i64::try_from(c.column.0).ok())),
    ("path_in_schema", Fill::Text(|c| c.column.1.column_path().string())),
    ("type", Fill::Text(|c| c.column.1.column_type().to_string())),
    ("num_values", Fill::Number(|c| Some(c.column.1.num_values()))),
    ("stats_null_count", Fill::Number(null_count)),
    ("compression", Fill::Text(|c| format!("{:?}", c.column.1.compression_codec()))),
    ("encodings", Fill::Text(encodings)),
    ("total_compressed_size", Fill::Number(|c| Some(c.column.1.compressed_size()))),
    ("total_uncompressed_size", Fill::Number(|c| Some(c.column.1.uncompressed_size()))),
];

fn null_count(chunk: &Chunk) -> Option<i64> {
    let nulls = chunk.column.1.statistics()?.null_count_opt()?;
    i64::try_from(nulls).ok()
}

fn encodings(chunk: &Chunk) -> String {
    let encodings = chunk.column.1.encodings().map(|encoding| format!("{encoding:?}"));
    encodings.collect::<Vec<_>>().join(", ")
}

fn schema() -> SchemaRef {
    let field = |(name, fill): &(&str, Fill)| match fill {
        Fill::Text(_) => Field::new(*name, DataType::Utf8, false),
        Fill::Number(_) => Field::new(*name, DataType::Int64, true),
    };
    Arc::new(Schema::new(COLUMNS.iter().map(field).collect::<Vec<_>>()))
}

fn columns(files: &[FileFooter]) -> Vec<ArrayRef> {
    let chunks: Vec<Chunk> = files.iter().flat_map(chunks).collect();
    let array = |(_, fill): &(&str, Fill)| -> ArrayRef {
        match fill {
            Fill::Text(text) => Arc::new(StringArray::from_iter_values(chunks.iter().map(text))),
            Fill::Number(number) => Arc::new(chunks.iter().map(number).collect::<Int64Array>()),
        }
    };
    COLUMNS.iter().map(array).collect()
}

fn chunks(file: &FileFooter) -> impl Iterator<Item = Chunk<'_>> {
    file.footer.row_groups().iter().enumerate().flat_map(move |row_group| {
        let columns = row_group.1.columns().iter().enumerate();
        columns.map(move |column| Chunk { file: &file.name, row_group, column })
    })
}
