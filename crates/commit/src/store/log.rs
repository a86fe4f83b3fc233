//! The log on a store: records by put-if-absent, `published` by conditional update.

use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use futures::future::try_join_all;
use futures::{StreamExt, TryFutureExt};
use object_store::PutMode;
use serde::{Deserialize, Serialize};

use super::copy::ObjectCopy;
use super::keys::{Read, StoreTable, identity, parse};
use super::pause::Pause;
use crate::backend::{Logged, Look, Meta, Published, Slot, from_json, to_json};
use crate::cache::{Cache, RECORD_BYTES_REMEMBERED};
use crate::location::TableStore;
use crate::record::{FORMAT, Outcome, Record, TransactionId};
use crate::{Error, Result, names};

/// How often a put of unknown outcome is repeated.
const PUTS: u32 = 6;
/// How often `published` is read again because somebody else moved it, or nobody answered, and for
/// how long.
const MOVES: usize = 100;
const MOVING: Duration = Duration::from_secs(60);

/// Records by their key in a store. They are asked for again each time, with the tag of what is
/// known: a store answers "not modified" without the content.
static RECORDS: LazyLock<Cache<(usize, String), KnownRecord>> =
    LazyLock::new(|| Cache::new(RECORD_BYTES_REMEMBERED));

#[derive(Clone)]
struct KnownRecord {
    store: Weak<dyn TableStore>,
    tag: String,
    record: Arc<Record>,
}

/// What trimming leaves of a record: the slot is never free again.
#[derive(Serialize, Deserialize)]
struct Stub {
    format: u32,
    stub: bool,
    version: u64,
    transaction: TransactionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
}

impl StoreTable {
    fn record_key(&self, version: u64) -> Result<object_store::path::Path> {
        self.in_log(&names::join(names::LOG, &names::record(version)))
    }

    pub(super) async fn look_now(&self) -> Result<Look> {
        let meta_key = self.in_log(names::TABLE)?;
        let published_key = self.in_log(names::PUBLISHED)?;
        let success_key = self.live(names::SUCCESS)?;
        // A store that refuses says why in its answer to a GET or a LIST, never to a HEAD: those
        // come first, whichever answer is there first.
        let (meta, published, exists, success) = futures::join!(
            self.read(&meta_key),
            self.read(&published_key),
            self.any_object(),
            self.head(&success_key),
        );
        let (meta, published, exists, success) = (meta?, published?, exists?, success?);
        let meta: Option<Meta> =
            meta.map(|(text, _)| from_json(&text, meta_key.as_ref())).transpose()?;
        let published: Option<Published> =
            published.map(|(text, _)| from_json(&text, published_key.as_ref())).transpose()?;
        let marked = match &meta {
            Some(meta) => self.head(&self.live(&names::marker(&meta.table))?).await?.is_some(),
            None => false,
        };
        Ok(Look { exists, success: success.is_some(), meta, marked, published })
    }

    async fn any_object(&self) -> Result<bool> {
        match self.store.list(Some(&self.prefix)).next().await {
            None => Ok(false),
            Some(Ok(_)) => Ok(true),
            Some(Err(error)) => Err(Error::store("list", &self.prefix, error)),
        }
    }

    pub(super) async fn read_record(&self, version: u64) -> Result<Option<Slot>> {
        let key = self.record_key(version)?;
        let known = self.known_record(&key);
        let tag = known.as_ref().map(|known| known.tag.clone());
        match (self.read_unless(&key, tag).await?, known) {
            (Read::Missing, _) => Ok(None),
            (Read::Same, Some(known)) => Ok(Some(Slot::Record(known.record))),
            (Read::Same, None) => Err(Error::internal(format!("{key} is as it never was"))),
            (Read::Found(text, found), _) => {
                let slot = parse_slot(&text, key.as_ref())?;
                if let (Slot::Record(record), Some(tag)) = (&slot, found.e_tag) {
                    self.remember_record(&key, tag, record, text.len());
                }
                Ok(Some(slot))
            }
        }
    }

    fn known_record(&self, key: &object_store::path::Path) -> Option<KnownRecord> {
        let known = RECORDS.get(&self.cache_key(key))?;
        std::ptr::addr_eq(known.store.as_ptr(), Arc::as_ptr(&self.store)).then_some(known)
    }

    fn remember_record(
        &self,
        key: &object_store::path::Path,
        tag: String,
        record: &Arc<Record>,
        bytes: usize,
    ) {
        let (store, record) = (Arc::downgrade(&self.store), Arc::clone(record));
        RECORDS.put(self.cache_key(key), KnownRecord { store, tag, record }, bytes);
    }

    /// Where the store is in memory, and the key. As long as it is remembered, no other store can
    /// come to be in its place.
    fn cache_key(&self, key: &object_store::path::Path) -> (usize, String) {
        (Arc::as_ptr(&self.store).cast::<()>().addr(), key.to_string())
    }

    pub(super) async fn list_records(&self) -> Result<Vec<u64>> {
        let found = self.list_below(&self.in_log(names::LOG)?).await?;
        let version = |key: &object_store::path::Path| names::record_version(key.filename()?);
        let mut versions: Vec<u64> = found.iter().filter_map(|o| version(&o.location)).collect();
        versions.sort_unstable();
        Ok(versions)
    }

    pub(super) async fn put_meta(&self, meta: &Meta) -> Result<Meta> {
        let key = self.in_log(names::TABLE)?;
        if self.create(&key, to_json(meta)?).await? {
            return Ok(meta.clone());
        }
        match self.read(&key).await? {
            Some((text, _)) => from_json(&text, key.as_ref()),
            None => Err(Error::conflict(format!("{key} was removed just now: try again"))),
        }
    }

    /// Creates a version's record. A put that fails without saying whether it landed is repeated
    /// until the version holds some record: one read settles nothing.
    pub(super) async fn create_record(&self, record: &Record) -> Result<Logged> {
        let key = self.record_key(record.version)?;
        let content = to_json(record)?;
        let mut pause = Pause::new();
        let mut last = None;
        for _ in 0..PUTS {
            match self.put(&key, content.clone(), PutMode::Create).await {
                Ok(_) => return Ok(Logged::Won),
                Err(object_store::Error::AlreadyExists { .. }) => {
                    return self.who_won(record).await;
                }
                Err(error) if last.is_none() && is_definite(&error) => {
                    return Err(Error::store("create", &key, error));
                }
                Err(error) => last = Some(error),
            }
            pause.wait().await;
        }
        let error = match last {
            Some(error) => Error::store("create", &key, error),
            None => Error::unavailable(format!("can't create {key}")),
        };
        Ok(Logged::Unknown(error))
    }

    /// Whose record a version holds: our own transaction id means that an earlier put of ours
    /// landed.
    async fn who_won(&self, record: &Record) -> Result<Logged> {
        let found = match self.read_record(record.version).await {
            Ok(Some(Slot::Record(found))) => found.transaction.clone(),
            Ok(Some(Slot::Stub { transaction })) => transaction,
            Ok(None) => {
                let key = self.record_key(record.version)?;
                return Ok(Logged::Unknown(Error::unavailable(format!("{key} was removed"))));
            }
            Err(error) => return Ok(Logged::Unknown(error)),
        };
        Ok(if found == record.transaction { Logged::Won } else { Logged::Lost })
    }

    /// Moves `published` up to `version`; the outcome that it, or the record after it, gives.
    pub(super) async fn move_published(&self, version: u64, outcome: Outcome) -> Result<Outcome> {
        let key = self.in_log(names::PUBLISHED)?;
        let wanted = to_json(&Published::new(version, outcome.clone()))?;
        let mut pause = Pause::new();
        let mut last = None;
        for _ in 0..MOVES {
            let mode = match self.read(&key).await? {
                None => PutMode::Create,
                Some((text, found)) => {
                    let published: Published = from_json(&text, key.as_ref())?;
                    if published.version >= version {
                        return self.settled_outcome(version, published).await;
                    }
                    PutMode::Update(found)
                }
            };
            match self.put(&key, wanted.clone(), mode).await {
                Ok(_) => return Ok(outcome),
                Err(
                    object_store::Error::AlreadyExists { .. }
                    | object_store::Error::Precondition { .. },
                ) => {}
                Err(error) if is_definite(&error) => {
                    return Err(Error::store("update", &key, error));
                }
                // Whether it landed is seen at the next read.
                Err(error) => last = Some(error),
            }
            if pause.elapsed() > MOVING {
                break;
            }
            pause.wait().await;
        }
        Err(match last {
            Some(error) => Error::store("update", &key, error),
            None => {
                Error::unavailable(format!("{key} is updated by others all the time: try again"))
            }
        })
    }

    async fn settled_outcome(&self, version: u64, published: Published) -> Result<Outcome> {
        if published.version == version {
            return Ok(published.outcome);
        }
        let next = self.read_record(version + 1).await?.and_then(Slot::into_record);
        next.and_then(|record| record.previous.clone()).ok_or_else(|| {
            Error::unavailable(format!(
                "version {version} of {}/{} was finished long ago by another writer: look at the \
                 table's history",
                self.store, self.prefix
            ))
        })
    }

    pub(super) async fn replace_by_stub(&self, version: u64) -> Result<()> {
        let key = self.record_key(version)?;
        let Some((text, found)) = self.read(&key).await? else { return Ok(()) };
        let Slot::Record(record) = parse_slot(&text, key.as_ref())? else { return Ok(()) };
        let next = self.read_record(version + 1).await?.and_then(Slot::into_record);
        let stub = Stub {
            format: FORMAT,
            stub: true,
            version,
            transaction: record.transaction.clone(),
            outcome: next.and_then(|next| next.previous.clone()),
        };
        match self.put(&key, to_json(&stub)?, PutMode::Update(found)).await {
            // Somebody else trims too.
            Ok(_) | Err(object_store::Error::Precondition { .. }) => Ok(()),
            Err(error) => Err(Error::store("trim", &key, error)),
        }
    }

    /// Copies the log of an earlier life away under its id; `table.json` goes last.
    pub(super) async fn set_log_aside(&self, id: &str) -> Result<()> {
        let (parent, name) = names::split(self.home.as_ref());
        let aside = names::join(parent, &names::set_aside(name, id));
        let mut last = Vec::new();
        for object in self.list_below(&self.home).await? {
            let path = object.location.as_ref().strip_prefix(self.home.as_ref());
            let path = path.and_then(|path| path.strip_prefix('/')).unwrap_or_default();
            // Open uploads of writers that are at work now.
            if path.starts_with(names::STAGING) {
                continue;
            }
            let to = parse(&names::join(&aside, path))?;
            if path == names::TABLE {
                last.push((object.location, to));
            } else {
                self.move_object(&object.location, &to).await?;
            }
        }
        let moves = last.iter().map(|(from, to)| self.move_object(from, to));
        try_join_all(moves).map_ok(|_| ()).await
    }

    async fn move_object(
        &self,
        from: &object_store::path::Path,
        to: &object_store::path::Path,
    ) -> Result<()> {
        let Some(found) = self.head(from).await? else { return Ok(()) };
        let (found, txn) = (identity(&found), TransactionId::random());
        let (size, etag) = (found.size, found.etag.as_deref());
        self.copy(&ObjectCopy { from, to, size, etag, txn: &txn }).await?;
        self.delete(from).await
    }

    /// Removes log and data; `table.json` first, so that a crash half-way leaves no table of ours
    /// that looks whole.
    pub(super) async fn remove_table(&self) -> Result<()> {
        self.delete(&self.in_log(names::TABLE)?).await?;
        self.delete_below(&self.prefix).await?;
        self.delete_below(&self.home).await
    }
}

fn parse_slot(text: &[u8], shown: &str) -> Result<Slot> {
    match from_json::<Record>(text, shown) {
        Ok(record) => Ok(Slot::Record(Arc::new(record))),
        // What a stub lacks of a record is seen at once; it is small.
        Err(error) => match serde_json::from_slice::<Stub>(text) {
            Ok(stub) if stub.stub => Ok(Slot::Stub { transaction: stub.transaction }),
            _ => Err(error),
        },
    }
}

/// Whether an error says for certain that nothing was written.
fn is_definite(error: &object_store::Error) -> bool {
    use object_store::Error as E;
    matches!(
        error,
        E::InvalidPath { .. }
            | E::NotSupported { .. }
            | E::NotImplemented { .. }
            | E::PermissionDenied { .. }
            | E::Unauthenticated { .. }
            | E::UnknownConfigurationKey { .. }
    )
}
