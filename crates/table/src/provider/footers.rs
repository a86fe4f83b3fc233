//! The Parquet footers of a table's files.

use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::error::Result;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use partwise_commit::AllPartitions;

use super::PartwiseTable;
use crate::error::external;
use crate::reader::{FileBytes, Footers, ScanFile, ScanPartition, to_commit};

/// A data file and its footer.
#[derive(Clone, Debug)]
pub struct FileFooter {
    /// The table's location and the path in it.
    pub name: String,
    /// What the footer says.
    pub footer: Arc<ParquetMetaData>,
}

impl PartwiseTable {
    /// The footers of all files at the newest published version, by partition and path.
    ///
    /// # Errors
    /// A table that can't be listed; a file that isn't whole, named.
    pub async fn footers(&self, session: &dyn Session) -> Result<Vec<FileFooter>> {
        let columns = self.table_schema().partition_columns();
        let snapshot = self.table().snapshot(columns, &AllPartitions).await.map_err(external)?;
        let footers = Footers::cached_in(session.runtime_env());
        let partition = Arc::new(ScanPartition::default());
        let mut found = Vec::new();
        for file in snapshot.partitions.into_iter().flat_map(|partition| partition.files) {
            let file = ScanFile::new(self.table().clone(), file, Arc::clone(&partition));
            let mut bytes = FileBytes::new(file.clone());
            let footer = footers.get(&mut bytes, PageIndexPolicy::Skip).await;
            let footer = footer.map_err(|error| external(to_commit(&file, error)))?;
            found.push(FileFooter { name: file.name(), footer });
        }
        Ok(found)
    }
}
