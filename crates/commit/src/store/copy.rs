//! Copies within a store: in one request up to the store's limit, above it in parts.

use object_store::multipart::PartId;
use object_store::path::Path as StorePath;
use object_store::{GetOptions, GetRange, ObjectStoreExt, PutPayload};

use super::keys::{StoreTable, parse};
use super::publish::no_such_upload;
use super::staging::OpenUpload;
use crate::backend::{from_json, to_json};
use crate::record::{FORMAT, TransactionId};
use crate::{Error, Result, names};

/// What one request copies at most: S3's limit, the smallest of the stores'.
pub(super) const COPY_LIMIT: u64 = 5 << 30;
/// The size of the parts of a larger copy, each of which is in memory for a moment.
pub(super) const COPY_PART_BYTES: u64 = 16 << 20;
/// How many parts an upload may have.
const MAX_PARTS: u64 = 10_000;

/// One copy: the object as it was found, and the key of the copy.
pub(super) struct ObjectCopy<'a> {
    pub(super) from: &'a StorePath,
    pub(super) to: &'a StorePath,
    pub(super) size: u64,
    /// The tag of what is to be copied, where it is known.
    pub(super) etag: Option<&'a str>,
    /// The transaction whose staging folder says that an upload is open.
    pub(super) txn: &'a TransactionId,
}

impl StoreTable {
    /// Copies an object; done too where it is gone or another by now. What is there then has its
    /// size.
    pub(super) async fn copy(&self, copy: &ObjectCopy<'_>) -> Result<()> {
        let ObjectCopy { from, to, size, .. } = copy;
        let copied = match *size > self.copy_limit {
            true => self.copy_in_parts(copy).await?,
            false => match self.store.copy(from, to).await {
                Ok(()) => true,
                Err(object_store::Error::NotFound { .. }) => false,
                Err(error) => return Err(Error::store("copy", from, error)),
            },
        };
        if !copied {
            return Ok(());
        }
        match self.head(to).await? {
            Some(copy) if copy.size == *size => Ok(()),
            _ => Err(Error::unavailable(format!("the copy {to} of {from} is not whole"))),
        }
    }

    /// False where the object isn't the one meant any more. Whoever comes after a crash ends the
    /// upload that is left open: a note in the staging folder tells of it.
    async fn copy_in_parts(&self, copy: &ObjectCopy<'_>) -> Result<bool> {
        let note = self.note(copy)?;
        self.end_noted(&note).await?;
        let upload = self.store.create_multipart(copy.to).await;
        let upload = upload.map_err(|error| Error::store("start an upload of", copy.to, error))?;
        let key = copy.to.as_ref().to_string();
        let open = OpenUpload { format: FORMAT, key, upload: upload.clone() };
        let noted = self.create(&note, to_json(&open)?).await;
        let copied = match noted {
            Ok(_) => self.copy_parts(copy, &upload).await,
            Err(error) => Err(error),
        };
        if !matches!(copied, Ok(true)) {
            self.abort_upload(copy.to, &upload).await;
        }
        if copied.is_ok() {
            self.delete(&note).await?;
        }
        copied
    }

    async fn copy_parts(&self, copy: &ObjectCopy<'_>, upload: &str) -> Result<bool> {
        let upload = upload.to_string();
        let part_bytes = self.copy_part_bytes.max(copy.size.div_ceil(MAX_PARTS));
        let mut parts: Vec<PartId> = Vec::new();
        let mut at = 0;
        while at < copy.size {
            let end = copy.size.min(at + part_bytes);
            let Some(bytes) = self.read_part(copy, at..end).await? else { return Ok(false) };
            let put = self.store.put_part(copy.to, &upload, parts.len(), bytes).await;
            parts.push(put.map_err(|error| Error::store("upload a part of", copy.to, error))?);
            at = end;
        }
        let completed = self.store.complete_multipart(copy.to, &upload, parts).await;
        completed.map(|_| true).map_err(|error| Error::store("complete", copy.to, error))
    }

    /// A range of the object, if it is still the one meant.
    async fn read_part(
        &self,
        copy: &ObjectCopy<'_>,
        range: std::ops::Range<u64>,
    ) -> Result<Option<PutPayload>> {
        use object_store::Error as E;
        let options = GetOptions::new()
            .with_range(Some(GetRange::Bounded(range)))
            .with_if_match(copy.etag.map(str::to_string));
        let found = match self.store.get_opts(copy.from, options).await {
            Ok(found) if found.meta.size == copy.size => found,
            Ok(_) | Err(E::NotFound { .. } | E::Precondition { .. }) => return Ok(None),
            Err(error) => return Err(Error::store("read", copy.from, error)),
        };
        let bytes = found.bytes().await.map_err(|error| Error::store("read", copy.from, error))?;
        Ok(Some(PutPayload::from(bytes)))
    }

    fn note(&self, copy: &ObjectCopy<'_>) -> Result<StorePath> {
        let below = copy.to.as_ref().strip_prefix(self.home.as_ref()).unwrap_or_default();
        let name = format!("{}.json", below.trim_start_matches('/'));
        parse(&names::join(self.staging(copy.txn)?.as_ref(), &name))
    }

    /// Ends the upload of an earlier attempt.
    async fn end_noted(&self, note: &StorePath) -> Result<()> {
        let Some((text, _)) = self.read(note).await? else { return Ok(()) };
        let open: OpenUpload = from_json(&text, note.as_ref())?;
        match self.store.abort_multipart(&parse(&open.key)?, &open.upload).await {
            Ok(()) => {}
            Err(error) if no_such_upload(&error) => {}
            Err(error) => return Err(Error::store("end an upload of", note, error)),
        }
        self.delete(note).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;
    use partwise_testkit::{Fault, Faults, FaultyStore, OpenUploads};

    use super::*;

    const TEXT: &[u8] = b"0123456789012345678901234";

    struct Bench {
        store: Arc<InMemory>,
        uploads: OpenUploads,
        txn: TransactionId,
        from: StorePath,
        to: StorePath,
    }

    impl Bench {
        async fn new() -> Self {
            let store = Arc::new(InMemory::new());
            let [from, to] = ["lake/t/p=a/x.parquet", "lake/_partwise/t/retained/2/p=a/x.parquet"]
                .map(|key| StorePath::parse(key).unwrap());
            store.put(&from, TEXT.into()).await.unwrap();
            let (uploads, txn) = (OpenUploads::default(), TransactionId::random());
            Self { store, uploads, txn, from, to }
        }

        /// A table whose store copies at most 10 bytes in one request.
        fn table(&self, faults: Faults) -> StoreTable {
            let store = FaultyStore::new(self.store.clone(), faults).noting(&self.uploads);
            let prefix = StorePath::parse("lake/t").unwrap();
            let table = StoreTable::resolve(Arc::new(store), &prefix).unwrap();
            StoreTable { copy_limit: 10, copy_part_bytes: 8, ..table }
        }

        async fn copy(&self, faults: Faults, etag: Option<&str>) -> Result<()> {
            let (from, to, txn) = (&self.from, &self.to, &self.txn);
            let copy = ObjectCopy { from, to, size: TEXT.len() as u64, etag, txn };
            self.table(faults).copy(&copy).await
        }

        async fn copied(&self) -> Option<Vec<u8>> {
            let found = self.store.get(&self.to).await.ok()?;
            Some(found.bytes().await.unwrap().to_vec())
        }

        fn nothing_is_left(&self) -> bool {
            self.uploads.all().is_empty()
        }
    }

    #[tokio::test]
    async fn above_the_limit_an_object_is_copied_in_parts() -> Result<()> {
        let bench = Bench::new().await;
        let faults = Faults::none();
        bench.copy(faults.clone(), None).await?;
        assert_eq!(bench.copied().await.as_deref(), Some(TEXT));
        let calls = faults.calls();
        assert_eq!(calls.iter().filter(|call| **call == "put_part").count(), 4);
        assert!(!calls.contains(&"copy") && bench.nothing_is_left());
        Ok(())
    }

    #[tokio::test]
    async fn up_to_the_limit_it_is_one_request() -> Result<()> {
        let bench = Bench::new().await;
        let faults = Faults::none();
        let table = StoreTable { copy_limit: TEXT.len() as u64, ..bench.table(faults.clone()) };
        let (from, to, txn) = (&bench.from, &bench.to, &bench.txn);
        table.copy(&ObjectCopy { from, to, size: TEXT.len() as u64, etag: None, txn }).await?;
        assert!(faults.calls().contains(&"copy"));
        assert_eq!(bench.copied().await.as_deref(), Some(TEXT));
        Ok(())
    }

    #[tokio::test]
    async fn another_object_of_that_key_is_not_copied() -> Result<()> {
        let bench = Bench::new().await;
        bench.copy(Faults::none(), Some("another")).await?;
        assert_eq!(bench.copied().await, None);
        assert!(bench.nothing_is_left());
        Ok(())
    }

    #[tokio::test]
    async fn a_copy_that_stops_at_any_request_is_made_again_and_leaves_nothing() -> Result<()> {
        for at in 0.. {
            let bench = Bench::new().await;
            let faults = Faults::at(Fault::Stop, at);
            let stopped = bench.copy(faults.clone(), None).await;
            if !faults.hit() {
                assert!(at > 8 && stopped.is_ok(), "{at}");
                return Ok(());
            }
            bench.copy(Faults::none(), None).await?;
            assert_eq!(bench.copied().await.as_deref(), Some(TEXT), "{at}");
            // The one whose id was lost with the process holds nothing.
            let open = bench.uploads.all();
            assert!(open.iter().all(|(_, upload)| !upload.has_parts), "{at}: {open:?}");
        }
        Ok(())
    }
}
