//! Files that arrive in a folder, each read once.
//!
//! ```text
//! list   the folder -> files there, oldest first          (hidden and unfinished ones left out)
//! seen   those no batch has had yet -> at most max_files_per_trigger -> offsets
//! scan   offsets -> a plan over exactly these files, whose errors name the file
//! ```
//! A file is known by its path: write it under a hidden name (`_x`, `.x`) or elsewhere, then rename
//! it into the folder.

mod definition;
mod folder;
mod headers;
mod lines;
mod list;
mod morsel;
mod named;
mod scan;
mod seen;

pub use definition::{FileFormatName, FilesFactory};

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::datasource::file_format::FileFormat;
use datafusion::execution::context::SessionState;
use datafusion::physical_plan::ExecutionPlan;
use object_store::ObjectStore;
use serde_json::Value;

use super::{ReadRequest, Source, StreamSource};
use crate::{Error, Result};
use folder::Folder;
use headers::Csv;
use list::{FileOffsets, Listing, list};
use seen::Seen;

/// The files of a folder, of one format and one schema.
#[derive(Clone, Debug)]
pub struct FilesSource {
    folder: Folder,
    format_name: FileFormatName,
    format: Arc<dyn FileFormat>,
    schema: SchemaRef,
    max_files: Option<usize>,
    /// Of CSV files.
    csv: Option<Csv>,
}

#[async_trait]
impl StreamSource for FilesSource {
    fn describe(&self) -> String {
        let csv = match self.csv {
            Some(Csv { header: true, delimiter: b',' }) | None => String::new(),
            Some(Csv { header, delimiter }) => {
                format!(", header {header}, delimiter '{}'", char::from(delimiter))
            }
        };
        format!("FILES '{}' ({}{csv})", self.folder.url().as_str(), self.format_name.name())
    }

    fn folder(&self) -> Option<&Path> {
        self.folder.dir()
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    async fn reader(&self, state: &SessionState) -> Result<Box<dyn Source>> {
        let store = state.runtime_env().object_store(self.folder.url())?;
        Ok(Box::new(FilesReader { source: self.clone(), store, seen: Seen::default() }))
    }
}

/// One query's reader.
#[derive(Debug)]
struct FilesReader {
    source: FilesSource,
    store: Arc<dyn ObjectStore>,
    seen: Seen,
}

#[async_trait]
impl Source for FilesReader {
    async fn resume(&mut self, remembered: Option<Value>, since: Vec<Value>) -> Result<()> {
        self.seen = Seen::resume(remembered, since)?;
        Ok(())
    }

    async fn available_now(&mut self) -> Result<()> {
        let new = self.seen.is_new();
        let others = self.look().await?;
        if new && self.seen.wants_look() && others > 0 {
            return Err(self.nothing_to_read(others));
        }
        self.seen.close();
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<Value>> {
        if self.seen.wants_look() {
            self.look().await?;
        }
        self.seen.next(self.source.max_files)
    }

    async fn read(
        &self,
        offsets: &Value,
        request: ReadRequest<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let offsets = FileOffsets::of(offsets)?;
        if request.replayed {
            list::check_same(self.store.as_ref(), &self.source.folder, &offsets).await?;
        }
        scan::plan(&self.source, &offsets, request, self.store.as_ref()).await
    }

    fn remembered(&self) -> Value {
        self.seen.remembered()
    }
}

impl FilesReader {
    /// Looks into the folder; how many files there are that aren't the stream's.
    async fn look(&mut self) -> Result<usize> {
        let FilesSource { folder, format_name, .. } = &self.source;
        let Listing { files, others } = list(self.store.as_ref(), folder, *format_name).await?;
        self.seen.found(files, chrono::Utc::now().timestamp_millis());
        Ok(others)
    }

    /// Who asks for what is there and has named its files otherwise would be told that all is read.
    fn nothing_to_read(&self, others: usize) -> Error {
        let FilesSource { folder, format_name, .. } = &self.source;
        Error::invalid(format!(
            "{folder} holds files ({others}), but none to read: a stream of {} reads those whose names \
             end in {}; rename them, or correct the stream's format",
            format_name.name(),
            format_name.endings()
        ))
    }
}
