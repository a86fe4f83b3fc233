//! A store that counts its requests, and fails at the k-th: that one, or all from there on.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use object_store::memory::InMemory;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::*;
use partwise_testkit::Fault;

#[derive(Debug)]
pub struct CountingStore {
    store: Arc<InMemory>,
    requests: AtomicUsize,
    fails: Option<(Fault, usize)>,
}

impl CountingStore {
    pub fn new(store: &Arc<InMemory>) -> Self {
        Self { store: Arc::clone(store), requests: AtomicUsize::new(0), fails: None }
    }

    pub fn failing(store: &Arc<InMemory>, fault: Fault, at: usize) -> Self {
        Self { fails: Some((fault, at)), ..Self::new(store) }
    }

    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    fn counted(&self) -> Result<&InMemory> {
        let n = self.requests.fetch_add(1, Ordering::SeqCst);
        let fails = match self.fails {
            Some((Fault::Stop, at)) => n >= at,
            Some((Fault::Error, at)) => n == at,
            None => false,
        };
        if fails {
            return Err(Error::Generic {
                store: "counting",
                source: format!("fault at {n}").into(),
            });
        }
        Ok(&self.store)
    }
}

impl fmt::Display for CountingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counting({})", self.store)
    }
}

#[async_trait]
impl ObjectStore for CountingStore {
    async fn put_opts(&self, to: &Path, data: PutPayload, how: PutOptions) -> Result<PutResult> {
        self.counted()?.put_opts(to, data, how).await
    }
    async fn put_multipart_opts(
        &self,
        to: &Path,
        how: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.counted()?.put_multipart_opts(to, how).await
    }
    async fn get_opts(&self, from: &Path, how: GetOptions) -> Result<GetResult> {
        self.counted()?.get_opts(from, how).await
    }
    async fn get_ranges(&self, from: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.counted()?.get_ranges(from, ranges).await
    }
    fn delete_stream(
        &self,
        keys: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        match self.counted() {
            Ok(store) => store.delete_stream(keys),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }
    fn list(&self, below: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.counted() {
            Ok(store) => store.list(below),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }
    async fn list_with_delimiter(&self, below: Option<&Path>) -> Result<ListResult> {
        self.counted()?.list_with_delimiter(below).await
    }
    async fn copy_opts(&self, from: &Path, to: &Path, how: CopyOptions) -> Result<()> {
        self.counted()?.copy_opts(from, to, how).await
    }
}

#[async_trait]
impl MultipartStore for CountingStore {
    async fn create_multipart(&self, to: &Path) -> Result<MultipartId> {
        self.counted()?.create_multipart(to).await
    }
    async fn put_part(
        &self,
        to: &Path,
        id: &MultipartId,
        n: usize,
        data: PutPayload,
    ) -> Result<PartId> {
        self.counted()?.put_part(to, id, n, data).await
    }
    async fn complete_multipart(
        &self,
        to: &Path,
        id: &MultipartId,
        parts: Vec<PartId>,
    ) -> Result<PutResult> {
        self.counted()?.complete_multipart(to, id, parts).await
    }
    async fn abort_multipart(&self, to: &Path, id: &MultipartId) -> Result<()> {
        self.counted()?.abort_multipart(to, id).await
    }
}
