//! Writes the rows of one partition: one file after another.

use std::sync::Arc;

use datafusion::common::Result;
use partwise_commit::{PartitionKey, StagedFile};

use super::buffer::RowBuffer;
use super::file::PartitionFile;
use super::format::FileFormat;
use super::staging::OpenStaging;

/// What happens to the file in hand when the rows are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It waits for more rows.
    Keep,
    /// Its row group is closed, which frees its memory; the file waits for more.
    CloseRowGroup,
    /// It is finished; further rows make a new file.
    CloseFile,
}

/// The writer of one partition and its file in hand.
pub(super) struct PartitionWriter {
    key: PartitionKey,
    format: Arc<FileFormat>,
    file: Option<PartitionFile>,
}

impl PartitionWriter {
    pub(super) fn new(key: PartitionKey, format: Arc<FileFormat>) -> Self {
        Self { key, format, file: None }
    }

    /// Whether a file is in hand.
    pub(super) fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Memory of the file in hand.
    pub(super) fn memory_bytes(&self) -> usize {
        self.file.as_ref().map_or(0, PartitionFile::memory_bytes)
    }

    /// Encodes `rows`; returns the files that were finished on the way.
    pub(super) async fn write(
        &mut self,
        mut rows: RowBuffer,
        then: Then,
        staging: &OpenStaging,
    ) -> Result<Vec<StagedFile>> {
        let mut finished = Vec::new();
        while !rows.is_empty() {
            let mut file = match self.file.take() {
                Some(file) => file,
                None => PartitionFile::new(&self.format)?,
            };
            file.encode(rows.take_rows(file.room())).await?;
            if file.row_group_is_full() {
                file.close_row_group(staging, &self.key).await?;
            }
            if file.is_full() {
                finished.push(file.finish(staging, &self.key).await?);
            } else {
                self.file = Some(file);
            }
        }
        let Some(mut file) = self.file.take() else { return Ok(finished) };
        match then {
            Then::Keep => self.file = Some(file),
            Then::CloseRowGroup => {
                file.close_row_group(staging, &self.key).await?;
                self.file = Some(file);
            }
            Then::CloseFile => finished.push(file.finish(staging, &self.key).await?),
        }
        Ok(finished)
    }
}
