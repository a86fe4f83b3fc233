//! An object store that fails at chosen requests.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt, TryStreamExt};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::*;
use partwise_commit::TableStore;

use crate::faults::{Fault, Faults};

/// Wraps any store. Every request is counted; clones share count and faults.
#[derive(Clone)]
pub struct FaultyStore {
    store: Arc<dyn TableStore>,
    faults: Faults,
    late: Arc<Mutex<Vec<Late>>>,
    uploads: OpenUploads,
    lacks: Vec<Lack>,
}

/// What a store can't do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// It replaces what a put should only create.
    CreateOnce,
    /// It says that it has no such put.
    CreateRefused,
    /// It replaces whatever is there where a put names what it is to replace.
    Update,
    /// It says that it has no such put.
    UpdateRefused,
}

/// The uploads that were started through stores that share this, and neither completed nor aborted.
#[derive(Clone, Debug, Default)]
pub struct OpenUploads(Arc<Mutex<BTreeMap<MultipartId, OpenUpload>>>);

/// An open upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenUpload {
    /// The key that it is for.
    pub key: Path,
    /// Whether it holds anything.
    pub has_parts: bool,
}

impl OpenUploads {
    /// All of them with their ids, as a rule of a bucket sees them.
    pub fn all(&self) -> Vec<(MultipartId, OpenUpload)> {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.iter().map(|(id, key)| (id.clone(), key.clone())).collect()
    }

    /// Makes these the open ones: those of a store that is forked.
    pub fn reset(&self, open: &[(MultipartId, OpenUpload)]) {
        let open = open.iter().cloned().collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = open;
    }

    fn started(&self, id: &MultipartId, key: Path) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.clone(), OpenUpload { key, has_parts: false });
    }

    fn has_part(&self, id: &MultipartId) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.entry(id.clone()).and_modify(|upload| upload.has_parts = true);
    }

    fn ended(&self, id: &MultipartId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

/// A request whose effect is still to come.
struct Late {
    due: usize,
    request: BoxFuture<'static, ()>,
}

impl FaultyStore {
    /// `store` failing as told.
    pub fn new(store: Arc<dyn TableStore>, faults: Faults) -> Self {
        let (late, uploads, lacks) = (Arc::default(), OpenUploads::default(), Vec::new());
        Self { store, faults, late, uploads, lacks }
    }

    /// The same of a store that can't do this.
    pub fn lacking(mut self, lack: Lack) -> Self {
        self.lacks.push(lack);
        self
    }

    /// How a put is done by a store that lacks something.
    fn done_here(&self, mode: PutMode) -> Result<PutMode> {
        let lacks = |lack| self.lacks.contains(&lack);
        let refused = match mode {
            PutMode::Create if lacks(Lack::CreateOnce) => return Ok(PutMode::Overwrite),
            PutMode::Update(_) if lacks(Lack::Update) => return Ok(PutMode::Overwrite),
            PutMode::Create => lacks(Lack::CreateRefused),
            PutMode::Update(_) => lacks(Lack::UpdateRefused),
            PutMode::Overwrite => false,
        };
        if !refused {
            return Ok(mode);
        }
        let (operation, implementer) = ("put".to_string(), self.to_string());
        Err(Error::NotImplemented { operation, implementer })
    }

    /// The same, its uploads noted in `uploads`.
    pub fn noting(mut self, uploads: &OpenUploads) -> Self {
        self.uploads = uploads.clone();
        self
    }

    /// The faults, which tell what was asked.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Lets everything land that is still to come.
    pub async fn settle(&self) {
        self.land(usize::MAX).await;
    }

    async fn land(&self, now: usize) {
        let due: Vec<Late> = {
            let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
            late.extract_if(.., |late| late.due <= now).collect()
        };
        for late in due {
            late.request.await;
        }
    }

    async fn arrive(&self, name: &'static str, key: &Path) -> (usize, Option<Fault>) {
        if let Some(gate) = self.faults.gate(name, key.as_ref()) {
            gate.passed().await;
        }
        let (n, fault) = self.faults.call(name, key.to_string());
        if fault != Some(Fault::Stop) {
            self.land(n).await;
        }
        (n, fault)
    }

    /// A request that changes something.
    async fn write<T: Send + 'static>(
        &self,
        name: &'static str,
        key: &Path,
        request: impl FnOnce(Arc<dyn TableStore>) -> BoxFuture<'static, Result<T>>,
    ) -> Result<T> {
        let (n, fault) = self.arrive(name, key).await;
        let store = Arc::clone(&self.store);
        match fault {
            None => return request(store).await,
            Some(Fault::Landed) => drop(request(store).await?),
            Some(Fault::Late(after)) => {
                let late = Late { due: n + after, request: request(store).map(drop).boxed() };
                self.late.lock().unwrap_or_else(PoisonError::into_inner).push(late);
            }
            Some(_) => {}
        }
        Err(failure(fault, name, key))
    }

    /// A request that only reads: half of what it answers is told apart by the caller.
    async fn read(&self, name: &'static str, key: &Path) -> Result<bool> {
        match self.arrive(name, key).await.1 {
            None => Ok(true),
            Some(Fault::Partial) => Ok(false),
            fault => Err(failure(fault, name, key)),
        }
    }
}

fn failure(fault: Option<Fault>, name: &str, key: &Path) -> Error {
    let source: Box<dyn std::error::Error + Send + Sync> = match fault {
        Some(Fault::Timeout | Fault::Late(_)) => {
            let text = format!("timeout at {name} {key}");
            Box::new(std::io::Error::new(std::io::ErrorKind::TimedOut, text))
        }
        _ => format!("fault at {name} {key}").into(),
    };
    Error::Generic { store: "faulty", source }
}

/// The first half of an answer, then the end of the connection.
async fn cut(found: GetResult, key: Path) -> Result<GetResult> {
    let (meta, range, attributes) =
        (found.meta.clone(), found.range.clone(), found.attributes.clone());
    let bytes = found.bytes().await?;
    let half = bytes.slice(..bytes.len() / 2);
    let parts = [Ok(half), Err(failure(None, "body of", &key))];
    let payload = GetResultPayload::Stream(stream::iter(parts).boxed());
    Ok(GetResult { payload, meta, range, attributes })
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultyStore({})", self.store)
    }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Faulty({})", self.store)
    }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(
        &self,
        to: &Path,
        data: PutPayload,
        mut how: PutOptions,
    ) -> Result<PutResult> {
        how.mode = self.done_here(how.mode)?;
        let key = to.clone();
        let put = |store: Arc<dyn TableStore>| {
            async move { store.put_opts(&key, data, how).await }.boxed()
        };
        self.write("put", to, put).await
    }
    async fn put_multipart_opts(
        &self,
        to: &Path,
        how: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let key = to.clone();
        let start = |store: Arc<dyn TableStore>| {
            async move { store.put_multipart_opts(&key, how).await }.boxed()
        };
        self.write("put_multipart", to, start).await
    }
    async fn get_opts(&self, from: &Path, how: GetOptions) -> Result<GetResult> {
        let name = if how.head { "head" } else { "get" };
        let whole = self.read(name, from).await?;
        let found = self.store.get_opts(from, how).await?;
        if whole { Ok(found) } else { cut(found, from.clone()).await }
    }
    async fn get_ranges(&self, from: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if self.read("get_ranges", from).await? {
            return self.store.get_ranges(from, ranges).await;
        }
        Err(failure(None, "get_ranges", from))
    }
    fn delete_stream(
        &self,
        keys: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let this = self.clone();
        keys.and_then(move |key| {
            let this = this.clone();
            async move {
                let deleted = key.clone();
                let delete = |store: Arc<dyn TableStore>| {
                    async move { store.delete(&deleted).await }.boxed()
                };
                this.write("delete", &key, delete).await.map(|()| key)
            }
        })
        .boxed()
    }
    fn list(&self, below: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (this, below) = (self.clone(), below.cloned());
        let listed = async move {
            let key = below.clone().unwrap_or_default();
            let whole = this.read("list", &key).await?;
            let found = this.store.list(below.as_ref());
            if whole {
                return Ok::<_, Error>(found);
            }
            let mut found: Vec<_> = found.collect().await;
            found.truncate(found.len() / 2);
            found.push(Err(failure(None, "list", &key)));
            Ok(stream::iter(found).boxed())
        };
        stream::once(listed).try_flatten().boxed()
    }
    async fn list_with_delimiter(&self, below: Option<&Path>) -> Result<ListResult> {
        let key = below.cloned().unwrap_or_default();
        if self.read("list_with_delimiter", &key).await? {
            return self.store.list_with_delimiter(below).await;
        }
        Err(failure(None, "list_with_delimiter", &key))
    }
    async fn copy_opts(&self, from: &Path, to: &Path, how: CopyOptions) -> Result<()> {
        let (source, target) = (from.clone(), to.clone());
        let copy = |store: Arc<dyn TableStore>| {
            async move { store.copy_opts(&source, &target, how).await }.boxed()
        };
        self.write("copy", to, copy).await
    }
}

#[async_trait]
impl MultipartStore for FaultyStore {
    async fn create_multipart(&self, to: &Path) -> Result<MultipartId> {
        let (key, uploads) = (to.clone(), self.uploads.clone());
        let create = |store: Arc<dyn TableStore>| {
            async move {
                let id = store.create_multipart(&key).await?;
                uploads.started(&id, key);
                Ok(id)
            }
            .boxed()
        };
        self.write("create_multipart", to, create).await
    }
    async fn put_part(
        &self,
        to: &Path,
        id: &MultipartId,
        n: usize,
        data: PutPayload,
    ) -> Result<PartId> {
        let (key, id, uploads) = (to.clone(), id.clone(), self.uploads.clone());
        let put = |store: Arc<dyn TableStore>| {
            async move {
                let part = store.put_part(&key, &id, n, data).await?;
                uploads.has_part(&id);
                Ok(part)
            }
            .boxed()
        };
        self.write("put_part", to, put).await
    }
    async fn complete_multipart(
        &self,
        to: &Path,
        id: &MultipartId,
        parts: Vec<PartId>,
    ) -> Result<PutResult> {
        let (key, id, uploads) = (to.clone(), id.clone(), self.uploads.clone());
        let complete = |store: Arc<dyn TableStore>| {
            async move {
                let done = store.complete_multipart(&key, &id, parts).await?;
                uploads.ended(&id);
                Ok(done)
            }
            .boxed()
        };
        self.write("complete_multipart", to, complete).await
    }
    async fn abort_multipart(&self, to: &Path, id: &MultipartId) -> Result<()> {
        let (key, id, uploads) = (to.clone(), id.clone(), self.uploads.clone());
        let abort = |store: Arc<dyn TableStore>| {
            async move {
                store.abort_multipart(&key, &id).await?;
                uploads.ended(&id);
                Ok(())
            }
            .boxed()
        };
        self.write("abort_multipart", to, abort).await
    }
}
