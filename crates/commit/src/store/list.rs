//! Listings of a store.

use futures::StreamExt;
use object_store::ObjectMeta;

use super::at_once;
use super::keys::{StoreTable, identity};
use crate::backend::{Files, FoundFile, Names};
use crate::{Error, Result, names};

impl StoreTable {
    pub(super) async fn names_of(&self, dirs: Vec<String>) -> Result<Vec<Names>> {
        at_once(dirs.iter().map(|dir| self.names_in(dir)).collect()).await
    }

    async fn names_in(&self, dir: &str) -> Result<Names> {
        let key = self.live(dir)?;
        let found = self.store.list_with_delimiter(Some(&key)).await;
        let found = found.map_err(|error| Error::store("list", &key, error))?;
        let visible =
            |name: Option<&str>| name.filter(|name| !names::is_hidden(name)).map(str::to_string);
        let dirs = found.common_prefixes.iter().filter_map(|key| visible(key.filename()));
        let files = found.objects.iter().filter_map(|object| visible(object.location.filename()));
        Ok(Names { dirs: dirs.collect(), files: files.collect(), odd: Vec::new() })
    }

    pub(super) async fn files_of(&self, dirs: Vec<String>) -> Result<Vec<Files>> {
        at_once(dirs.iter().map(|dir| self.files_in(dir)).collect()).await
    }

    async fn files_in(&self, dir: &str) -> Result<Files> {
        let mut files = Files::default();
        for object in self.list_below(&self.live(dir)?).await? {
            let Some(path) = self.visible_path(dir, &object) else { continue };
            if !names::is_data(names::split(&path).1) {
                files.strays.push(path);
            } else if object.size == 0 {
                files.empty.push(path);
            } else {
                let modified_ms = Some(object.last_modified.timestamp_millis());
                files.files.push(FoundFile { path, identity: identity(&object), modified_ms });
            }
        }
        Ok(files)
    }

    /// An object's path relative to the table, none if a name of it below `dir` is hidden.
    fn visible_path(&self, dir: &str, object: &ObjectMeta) -> Option<String> {
        let path = object.location.as_ref().strip_prefix(self.prefix.as_ref())?;
        let path = path.strip_prefix('/')?;
        let below = path.strip_prefix(dir)?;
        let hidden = below.split('/').any(names::is_hidden);
        (!hidden).then(|| path.to_string())
    }

    /// Whether a visible data object is there.
    pub(super) async fn any_data(&self) -> Result<bool> {
        let mut objects = self.store.list(Some(&self.prefix));
        while let Some(object) = objects.next().await {
            let object = object.map_err(|error| Error::store("list", &self.prefix, error))?;
            let path = self.visible_path("", &object);
            if path.is_some_and(|path| names::is_data(names::split(&path).1)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The versions that have retained objects, ascending.
    pub(super) async fn list_retained(&self) -> Result<Vec<u64>> {
        let key = self.in_log(names::RETAINED)?;
        let found = self.store.list_with_delimiter(Some(&key)).await;
        let found = found.map_err(|error| Error::store("list", &key, error))?;
        let version = |key: &object_store::path::Path| key.filename()?.parse().ok();
        let mut versions: Vec<u64> = found.common_prefixes.iter().filter_map(version).collect();
        versions.sort_unstable();
        Ok(versions)
    }
}
