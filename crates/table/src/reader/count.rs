//! The rows of a file from its footer, for the commit protocol.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::execution::runtime_env::RuntimeEnv;
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;
use partwise_commit::{DataFile, Error, RowCounter, Table};

use super::footer::Footers;
use super::open::{FileBytes, ScanFile, ScanPartition};

/// Counts the rows of files that no record tells about.
#[derive(Clone, Debug)]
pub struct FooterRowCounter {
    footers: Footers,
}

impl FooterRowCounter {
    /// A counter that keeps the footers in the runtime's cache.
    pub fn new(runtime: &RuntimeEnv) -> Self {
        Self { footers: Footers::cached_in(runtime) }
    }

    /// A counter that keeps nothing.
    pub fn uncached() -> Self {
        Self { footers: Footers::uncached() }
    }
}

#[async_trait]
impl RowCounter for FooterRowCounter {
    async fn count(&self, table: &Table, file: &DataFile) -> partwise_commit::Result<u64> {
        let partition = Arc::new(ScanPartition::default());
        let file = ScanFile::new(table.clone(), file.clone(), partition);
        let mut bytes = FileBytes::new(file.clone());
        let footer = self.footers.get(&mut bytes, PageIndexPolicy::Skip).await;
        let footer = footer.map_err(|error| to_commit(&file, error))?;
        let rows = footer.file_metadata().num_rows();
        u64::try_from(rows)
            .map_err(|_| Error::corrupt(format!("{} says that it has {rows} rows", file.name())))
    }
}

/// The commit error that travelled in a Parquet error, or the Parquet error as one.
pub(crate) fn to_commit(file: &ScanFile, error: ParquetError) -> Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<Error>() {
            Ok(error) => *error,
            Err(cause) => {
                Error::unavailable(format!("{} can't be read", file.name())).with_source(cause)
            }
        },
        error => Error::corrupt(format!("{} is damaged", file.name())).with_source(error),
    }
}
