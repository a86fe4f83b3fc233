//! Parquet footers, cached in the session's runtime under a file's path and identity.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use datafusion::common::HashMap;
use datafusion::execution::cache::cache_manager::{
    CachedFileMetadataEntry, FileMetadata, FileMetadataCache,
};
use datafusion::execution::runtime_env::RuntimeEnv;
use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::ObjectMeta;
use object_store::path::Path;
use parquet::arrow::async_reader::MetadataFetch;
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use partwise_commit::{Error, Identity, Location};

use super::open::{FileBytes, ScanFile};
use super::to_parquet;

/// How much of a file's end is read at once, in the hope that the footer is in it.
const LOCAL_TAIL_BYTES: usize = 64 * 1024;
const STORE_TAIL_BYTES: usize = 512 * 1024;

/// The cache that DataFusion keeps footers in.
pub(crate) type FooterCache = Arc<FileMetadataCache>;

/// Footers by file. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Footers {
    cache: Option<FooterCache>,
}

impl fmt::Debug for Footers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Footers").finish_non_exhaustive()
    }
}

impl Footers {
    /// Footers in the cache of this runtime.
    pub(crate) fn cached_in(runtime: &RuntimeEnv) -> Self {
        Self { cache: Some(runtime.cache_manager.get_file_metadata_cache()) }
    }

    /// Footers read anew each time.
    pub(crate) fn uncached() -> Self {
        Self { cache: None }
    }

    /// The footer of a file, with its page index if the policy asks for it and it has one.
    ///
    /// # Errors
    /// A file that isn't Parquet or isn't whole: kind `Corrupt`, named. One that is gone.
    pub(crate) async fn get(
        &self,
        bytes: &mut FileBytes,
        policy: PageIndexPolicy,
    ) -> parquet::errors::Result<Arc<ParquetMetaData>> {
        let file = bytes.file().clone();
        let known = self.look_up(&file);
        let complete = |footer: &ParquetMetaData| {
            policy == PageIndexPolicy::Skip
                || (footer.column_index().is_some() && footer.offset_index().is_some())
        };
        if let Some(footer) = known.as_ref().filter(|footer| complete(footer)) {
            return Ok(Arc::clone(footer));
        }
        let read = match known {
            Some(footer) => with_page_index(bytes, footer, policy).await,
            None => read_footer(bytes, policy).await,
        };
        let footer = Arc::new(read.map_err(|error| damaged(&file, error))?);
        self.remember(&file, Arc::clone(&footer));
        Ok(footer)
    }

    fn look_up(&self, file: &ScanFile) -> Option<Arc<ParquetMetaData>> {
        let entry = self.cache.as_ref()?.get(&cache_key(file))?;
        let cached = entry.file_metadata.as_any().downcast_ref::<CachedFooter>()?;
        (cached.identity == file.data_file().identity).then(|| Arc::clone(&cached.footer))
    }

    fn remember(&self, file: &ScanFile, footer: Arc<ParquetMetaData>) {
        let Some(cache) = &self.cache else { return };
        let key = cache_key(file);
        let identity = file.data_file().identity.clone();
        let meta = ObjectMeta {
            location: key.clone(),
            last_modified: modified(&identity),
            size: identity.size,
            e_tag: identity.etag.clone(),
            version: None,
        };
        let cached = Arc::new(CachedFooter { identity, footer });
        cache.put(&key, CachedFileMetadataEntry::new(meta, cached));
    }
}

/// Escaped as an object path, so that two names never share a key; apart from the keys of
/// DataFusion's own reader, whose entries carry no identity.
fn cache_key(file: &ScanFile) -> Path {
    Path::from(format!("partwise/{}", file.name()))
}

/// The time of change as a timestamp, 1970 where a store gives none.
pub(crate) fn modified(identity: &Identity) -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(identity.modified_ns.unwrap_or(0))
}

/// A footer and which file it is of.
struct CachedFooter {
    identity: Identity,
    footer: Arc<ParquetMetaData>,
}

impl FileMetadata for CachedFooter {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn memory_size(&self) -> usize {
        self.footer.memory_size()
    }

    fn extra_info(&self) -> HashMap<String, String> {
        let page_index = self.footer.column_index().is_some();
        HashMap::from([("page_index".to_owned(), page_index.to_string())])
    }
}

async fn read_footer(
    bytes: &mut FileBytes,
    policy: PageIndexPolicy,
) -> parquet::errors::Result<ParquetMetaData> {
    let tail = match bytes.file().table().location() {
        Location::Local { .. } => LOCAL_TAIL_BYTES,
        Location::Store { .. } => STORE_TAIL_BYTES,
    };
    let size = bytes.file().size();
    ParquetMetaDataReader::new()
        .with_prefetch_hint(Some(tail))
        .with_page_index_policy(policy)
        .load_and_finish(Fetch(bytes), size)
        .await
}

async fn with_page_index(
    bytes: &mut FileBytes,
    footer: Arc<ParquetMetaData>,
    policy: PageIndexPolicy,
) -> parquet::errors::Result<ParquetMetaData> {
    let mut reader = ParquetMetaDataReader::new_with_metadata(Arc::unwrap_or_clone(footer))
        .with_page_index_policy(policy);
    reader.load_page_index(Fetch(bytes)).await?;
    reader.finish()
}

struct Fetch<'a>(&'a mut FileBytes);

impl MetadataFetch for Fetch<'_> {
    fn fetch(&mut self, range: Range<u64>) -> BoxFuture<'_, parquet::errors::Result<Bytes>> {
        self.0.read(range).boxed()
    }
}

/// What the decoder says of a file that isn't whole names no file.
fn damaged(file: &ScanFile, error: ParquetError) -> ParquetError {
    if matches!(&error, ParquetError::External(cause) if cause.is::<Error>()) {
        return error;
    }
    let message = format!("{} is not a whole Parquet file", file.name());
    to_parquet(Error::corrupt(message).with_source(error))
}
