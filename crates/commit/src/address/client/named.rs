//! A client that goes by its bucket's address and keeps its secrets out of its errors.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path as StorePath;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartId,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, RenameOptions, Result,
};

use super::words::Shown;

/// A client with the address it is named by.
pub(super) struct NamedStore<T> {
    client: T,
    shown: Arc<Shown>,
}

impl<T> NamedStore<T> {
    pub(super) fn new(client: T, address: String, secrets: Vec<String>) -> Self {
        Self { client, shown: Arc::new(Shown { address, secrets }) }
    }

    fn clean<V>(&self, result: Result<V>) -> Result<V> {
        result.map_err(|error| clean(error, &self.shown))
    }
}

impl<T> fmt::Display for NamedStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown.address)
    }
}

impl<T> fmt::Debug for NamedStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NamedStore({})", self.shown.address)
    }
}

/// An error in words, which shows none of the secrets; what callers tell errors apart by stays.
fn clean(error: Error, shown: &Shown) -> Error {
    let words = |text: &dyn fmt::Display| shown.words(&text.to_string()).into();
    match error {
        Error::Generic { store, source } => Error::Generic { store, source: words(&source) },
        Error::NotSupported { source } => Error::NotSupported { source: words(&source) },
        Error::NotFound { path, source } => Error::NotFound { path, source: words(&source) },
        Error::AlreadyExists { path, source } => {
            Error::AlreadyExists { path, source: words(&source) }
        }
        Error::Precondition { path, source } => {
            Error::Precondition { path, source: words(&source) }
        }
        Error::NotModified { path, source } => Error::NotModified { path, source: words(&source) },
        Error::PermissionDenied { path, source } => {
            Error::PermissionDenied { path, source: words(&source) }
        }
        Error::Unauthenticated { path, source } => {
            Error::Unauthenticated { path, source: words(&source) }
        }
        other => other,
    }
}

#[async_trait]
impl<T: ObjectStore> ObjectStore for NamedStore<T> {
    async fn put_opts(
        &self,
        location: &StorePath,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        self.clean(self.client.put_opts(location, payload, opts).await)
    }

    async fn put_multipart_opts(
        &self,
        location: &StorePath,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.clean(self.client.put_multipart_opts(location, opts).await)
    }

    async fn get_opts(&self, location: &StorePath, options: GetOptions) -> Result<GetResult> {
        let mut found = self.clean(self.client.get_opts(location, options).await)?;
        found.payload = match found.payload {
            GetResultPayload::Stream(bytes) => {
                let shown = Arc::clone(&self.shown);
                let bytes = bytes.map(move |part| part.map_err(|e| clean(e, &shown)));
                GetResultPayload::Stream(bytes.boxed())
            }
            other => other,
        };
        Ok(found)
    }

    async fn get_ranges(&self, location: &StorePath, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.clean(self.client.get_ranges(location, ranges).await)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<StorePath>>,
    ) -> BoxStream<'static, Result<StorePath>> {
        let shown = Arc::clone(&self.shown);
        let deleted = self.client.delete_stream(locations);
        deleted.map(move |path| path.map_err(|e| clean(e, &shown))).boxed()
    }

    fn list(&self, prefix: Option<&StorePath>) -> BoxStream<'static, Result<ObjectMeta>> {
        let shown = Arc::clone(&self.shown);
        let listed = self.client.list(prefix);
        listed.map(move |meta| meta.map_err(|e| clean(e, &shown))).boxed()
    }

    fn list_with_offset(
        &self,
        prefix: Option<&StorePath>,
        offset: &StorePath,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let shown = Arc::clone(&self.shown);
        let listed = self.client.list_with_offset(prefix, offset);
        listed.map(move |meta| meta.map_err(|e| clean(e, &shown))).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&StorePath>) -> Result<ListResult> {
        self.clean(self.client.list_with_delimiter(prefix).await)
    }

    async fn copy_opts(
        &self,
        from: &StorePath,
        to: &StorePath,
        options: CopyOptions,
    ) -> Result<()> {
        self.clean(self.client.copy_opts(from, to, options).await)
    }

    async fn rename_opts(
        &self,
        from: &StorePath,
        to: &StorePath,
        options: RenameOptions,
    ) -> Result<()> {
        self.clean(self.client.rename_opts(from, to, options).await)
    }
}

#[async_trait]
impl<T: MultipartStore> MultipartStore for NamedStore<T> {
    async fn create_multipart(&self, path: &StorePath) -> Result<MultipartId> {
        self.clean(self.client.create_multipart(path).await)
    }

    async fn put_part(
        &self,
        path: &StorePath,
        id: &MultipartId,
        part_idx: usize,
        data: PutPayload,
    ) -> Result<PartId> {
        self.clean(self.client.put_part(path, id, part_idx, data).await)
    }

    async fn complete_multipart(
        &self,
        path: &StorePath,
        id: &MultipartId,
        parts: Vec<PartId>,
    ) -> Result<PutResult> {
        self.clean(self.client.complete_multipart(path, id, parts).await)
    }

    async fn abort_multipart(&self, path: &StorePath, id: &MultipartId) -> Result<()> {
        self.clean(self.client.abort_multipart(path, id).await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_apart_with_its_secret_hidden() {
        let shown = Shown { address: "s3://b".to_owned(), secrets: vec!["hush".to_owned()] };
        let error = Error::Precondition { path: "k".into(), source: "?sig=hush".into() };
        let cleaned = clean(error, &shown);
        assert!(matches!(cleaned, Error::Precondition { .. }));
        assert!(cleaned.to_string().ends_with("s3://b: ?sig=***"), "{cleaned}");
    }
}
