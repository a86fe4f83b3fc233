//! What a store has to offer to be written: puts that create once, and conditional updates.

use std::sync::{Arc, LazyLock, Weak};

use object_store::path::Path as StorePath;
use object_store::{Error as E, PutMode, PutResult, UpdateVersion};

use super::keys::StoreTable;
use crate::cache::Cache;
use crate::location::TableStore;
use crate::{Error, Result};

/// How many stores that were found sound are remembered.
const STORES_REMEMBERED: usize = 1000;

/// Sound stores by where they are in memory: as long as one is remembered, no other can come to be
/// in its place.
static SOUND: LazyLock<Cache<usize, Weak<dyn TableStore>>> =
    LazyLock::new(|| Cache::new(STORES_REMEMBERED));

impl StoreTable {
    /// Creates `key`, which stays, and finds out once per store what writing needs of it.
    pub(super) async fn probe(&self, key: &StorePath) -> Result<()> {
        let made = match self.put(key, Vec::new(), PutMode::Create).await {
            Ok(made) => made,
            Err(E::NotImplemented { .. } | E::NotSupported { .. }) => return Err(self.no_create()),
            Err(error) => return Err(Error::store("create", key, error)),
        };
        if self.is_known_sound() {
            return Ok(());
        }
        match self.put(key, Vec::new(), PutMode::Create).await {
            Err(E::AlreadyExists { .. }) => {}
            Ok(_) => return Err(self.no_create()),
            Err(error) => return Err(Error::store("create", key, error)),
        }
        self.probe_update(key, made).await?;
        SOUND.put(self.address(), Arc::downgrade(&self.store), 1);
        Ok(())
    }

    /// The first update finds what was made, the second one doesn't any more.
    async fn probe_update(&self, key: &StorePath, made: PutResult) -> Result<()> {
        let version = UpdateVersion { e_tag: made.e_tag, version: made.version };
        if version.e_tag.is_none() && version.version.is_none() {
            return Err(self.no_update());
        }
        for _ in 0..2 {
            let mode = PutMode::Update(version.clone());
            match self.put(key, b"\n".to_vec(), mode).await {
                Ok(_) => {}
                // Also of one that was repeated on its way, having landed: it is conditional.
                Err(E::Precondition { .. } | E::AlreadyExists { .. }) => return Ok(()),
                Err(E::NotImplemented { .. } | E::NotSupported { .. }) => {
                    return Err(self.no_update());
                }
                Err(error) => return Err(Error::store("update", key, error)),
            }
        }
        Err(self.no_update())
    }

    fn is_known_sound(&self) -> bool {
        let known = SOUND.get(&self.address());
        known.is_some_and(|known| std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(&self.store)))
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.store).cast::<()>().addr()
    }

    fn no_create(&self) -> Error {
        self.read_only("it doesn't refuse to create an object twice (put-if-absent)")
    }

    fn no_update(&self) -> Error {
        self.read_only("it has no conditional update (put-if-match)")
    }

    fn read_only(&self, why: &str) -> Error {
        Error::unsupported(format!(
            "{}/{} is read-only for partwise: of its store, {why}; copy the table to a store that has \
             both, or to a local disk",
            self.store, self.prefix
        ))
    }
}
