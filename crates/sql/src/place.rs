//! Where a statement's path or address leads: a directory of this machine, or a prefix of a store.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::execution::context::SessionState;
use datafusion::execution::object_store::ObjectStoreUrl;
use partwise_commit::{Location, StoreAddress, TableStore, is_address, is_store_option};

use crate::{Error, Lake, Result};

/// The stores that a session has opened, by their bucket's address. Part of its configuration.
#[derive(Default)]
pub(crate) struct Stores(Mutex<HashMap<String, Arc<dyn TableStore>>>);

impl Stores {
    /// The bucket's client: opened with these options, or as it was opened last in this session.
    fn open(
        &self,
        address: &StoreAddress,
        options: &BTreeMap<String, String>,
    ) -> Result<Arc<dyn TableStore>> {
        let mut stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (true, Some(open)) = (options.is_empty(), stores.get(&address.bucket())) {
            return Ok(Arc::clone(open));
        }
        let store = address.open(options)?;
        stores.insert(address.bucket(), Arc::clone(&store));
        Ok(store)
    }
}

/// Where a path or an address leads. Options of stores open the store.
///
/// # Errors
/// An address that is none, options that don't fit, a path that can't be made absolute.
pub(crate) fn location(
    state: &SessionState,
    path: &str,
    options: &BTreeMap<String, String>,
) -> Result<Location> {
    if is_address(path) {
        let address = StoreAddress::parse(path)?;
        let store = open(state, &address, options)?;
        return Ok(Location::store(store, address.prefix().clone()));
    }
    if let Some(option) = options.keys().next() {
        return Err(Error::invalid(format!(
            "the option {option} is one of an object store, and {path} is a path of this machine"
        )));
    }
    let path = path.strip_prefix("file://").unwrap_or(path);
    let absolute = std::path::absolute(path)
        .map_err(|e| Error::invalid(format!("LOCATION '{path}' is not a path: {e}")))?;
    Ok(Location::local(absolute))
}

/// A location that a program gave as a path, which may be an address.
///
/// # Errors
/// As [`location`].
pub(crate) fn resolved(state: &SessionState, location: Location) -> Result<Location> {
    match &location {
        Location::Local { dir, .. } => match dir.to_str() {
            Some(path) if is_address(path) => self::location(state, path, &BTreeMap::new()),
            _ => Ok(location),
        },
        Location::Store { .. } => Ok(location),
    }
}

/// A lake that was named by a path, which may be an address; settings are the environment's.
///
/// # Errors
/// A lake that is a file; an address that is none.
pub(crate) fn lake(lake: Lake) -> Result<Lake> {
    let Lake::Directory(dir) = &lake else { return Ok(lake) };
    if let Some(address) = dir.to_str().filter(|path| is_address(path)) {
        let address = StoreAddress::parse(address)?;
        let store = address.open(&BTreeMap::new())?;
        return Ok(Lake::Store { store, prefix: address.prefix().clone() });
    }
    match dir.exists() && !dir.is_dir() {
        true => Err(Error::invalid(format!("the lake {} is not a directory", dir.display()))),
        false => Ok(lake),
    }
}

/// Makes the bucket of an address known to DataFusion's own readers and writers.
///
/// # Errors
/// As [`location`].
pub(crate) fn register(
    state: &SessionState,
    path: &str,
    options: &BTreeMap<String, String>,
) -> Result<()> {
    let address = StoreAddress::parse(path)?;
    let store = open(state, &address, options)?;
    let bucket = ObjectStoreUrl::parse(address.bucket())?;
    state.runtime_env().register_object_store(bucket.as_ref(), store);
    Ok(())
}

/// Whether an address names files by a pattern or an extension, rather than a directory.
pub(crate) fn names_files(address: &str) -> bool {
    let last = address.rsplit('/').next().unwrap_or_default();
    address.contains(['*', '?', '[']) || Path::new(last).extension().is_some()
}

/// A statement's options, those of the store apart; the value is asked for once.
pub(crate) fn split_options<'a, V: 'a>(
    options: impl IntoIterator<Item = &'a (String, V)>,
    text: impl Fn(&V) -> String,
) -> (BTreeMap<String, String>, Vec<(String, String)>) {
    let named = options.into_iter().map(|(name, value)| (name.clone(), text(value)));
    let (stores, rest): (Vec<_>, Vec<_>) = named.partition(|(name, _)| is_store_option(name));
    (stores.into_iter().collect(), rest)
}

fn open(
    state: &SessionState,
    address: &StoreAddress,
    options: &BTreeMap<String, String>,
) -> Result<Arc<dyn TableStore>> {
    match state.config().get_extension::<Stores>() {
        Some(stores) => stores.open(address, options),
        None => Ok(address.open(options)?),
    }
}
