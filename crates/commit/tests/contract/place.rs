//! A place that holds a lake, and what another tool does there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path as StorePath;
use object_store::{ObjectStore, ObjectStoreExt};
use partwise_commit::{Location, Table};
use partwise_testkit::{Faults, FaultyDisk, FaultyStore};
use tempfile::TempDir;

pub enum Place {
    Local(TempDir),
    Memory(Arc<InMemory>),
    #[cfg(feature = "aws")]
    S3(crate::s3::Bucket),
}

impl Place {
    pub fn local() -> Self {
        Self::Local(tempfile::tempdir().unwrap())
    }

    pub fn memory() -> Self {
        Self::Memory(Arc::new(InMemory::new()))
    }

    pub fn location(&self, name: &str) -> Location {
        match self {
            Self::Local(lake) => Location::local(lake.path().join(name)),
            Self::Memory(store) => {
                let store: Arc<InMemory> = Arc::clone(store);
                Location::store(store, StorePath::parse(format!("lake/{name}")).unwrap())
            }
            #[cfg(feature = "aws")]
            Self::S3(bucket) => Location::store(bucket.store.clone(), bucket.key(name)),
        }
    }

    /// The table on a disk or store that fails as told.
    pub fn failing(&self, faults: Faults) -> Table {
        Table::new(match self.location("report") {
            Location::Local { dir, .. } => {
                Location::Local { disk: Arc::new(FaultyDisk::with(faults)), dir }
            }
            Location::Store { store, prefix } => {
                Location::store(Arc::new(FaultyStore::new(store, faults)), prefix)
            }
        })
    }

    /// The store and the key of a path; none of a local place.
    fn object(&self, path: &str) -> Option<(&dyn ObjectStore, StorePath)> {
        match self {
            Self::Local(_) => None,
            Self::Memory(store) => Some((store.as_ref(), Self::key(path))),
            #[cfg(feature = "aws")]
            Self::S3(bucket) => Some((bucket.store.as_ref(), bucket.key(path))),
        }
    }

    pub fn table(&self) -> Table {
        Table::new(self.location("report"))
    }

    /// Whether each call of it goes over a network.
    pub fn is_remote(&self) -> bool {
        !matches!(self, Self::Local(_) | Self::Memory(_))
    }

    /// An empty one of the same kind.
    pub fn another(&self) -> Self {
        match self {
            Self::Local(_) => Self::local(),
            Self::Memory(_) => Self::memory(),
            #[cfg(feature = "aws")]
            Self::S3(bucket) => Self::S3(bucket.another()),
        }
    }

    /// The same lake once more, with the times of its files. Of a local place.
    pub fn copy(&self) -> Self {
        let Self::Local(lake) = self else { panic!("a local place") };
        let copy = quick_dir();
        copy_tree(lake.path(), copy.path());
        Self::Local(copy)
    }

    /// The same lake once more. Of a memory place.
    pub fn fork(&self) -> Self {
        let Self::Memory(store) = self else { panic!("a memory place") };
        Self::Memory(Arc::new(store.fork()))
    }

    fn path(lake: &TempDir, path: &str) -> PathBuf {
        lake.path().join(path)
    }

    fn key(path: &str) -> StorePath {
        StorePath::parse(format!("lake/{path}")).unwrap()
    }

    /// What another tool writes, relative to the lake; its directories are made.
    pub async fn put(&self, path: &str, text: &str) {
        match self {
            Self::Local(lake) => {
                let path = Self::path(lake, path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            _ => {
                let (store, key) = self.object(path).unwrap();
                store.put(&key, text.to_string().into()).await.unwrap();
            }
        }
    }

    pub async fn text(&self, path: &str) -> String {
        match self {
            Self::Local(lake) => std::fs::read_to_string(Self::path(lake, path)).unwrap(),
            _ => {
                let (store, key) = self.object(path).unwrap();
                let found = store.get(&key).await.unwrap().bytes().await.unwrap();
                String::from_utf8(found.to_vec()).unwrap()
            }
        }
    }

    /// Makes the record of a version so many hours older.
    pub async fn date_back(&self, version: u64, hours: i64) {
        let path = format!("_partwise/report/log/{version:020}.json");
        let mut record: serde_json::Value = serde_json::from_str(&self.text(&path).await).unwrap();
        let time_ms = record["time_ms"].as_i64().unwrap() - hours * 3_600_000;
        record["time_ms"] = time_ms.into();
        self.put(&path, &record.to_string()).await;
    }

    pub async fn remove(&self, path: &str) {
        match self {
            Self::Local(lake) => std::fs::remove_file(Self::path(lake, path)).unwrap(),
            _ => {
                let (store, key) = self.object(path).unwrap();
                store.delete(&key).await.unwrap();
            }
        }
    }

    /// Every file below a path of the lake, relative to the lake, sorted.
    pub async fn files(&self, below: &str) -> Vec<String> {
        let mut found = match self {
            Self::Local(lake) => {
                let mut found = Vec::new();
                let mut dirs = vec![Self::path(lake, below)];
                while let Some(dir) = dirs.pop() {
                    let Ok(entries) = std::fs::read_dir(&dir) else { continue };
                    for entry in entries {
                        let entry = entry.unwrap();
                        if entry.file_type().unwrap().is_dir() {
                            dirs.push(entry.path());
                        } else {
                            let path = entry.path();
                            let path = path.strip_prefix(lake.path()).unwrap();
                            found.push(path.to_str().unwrap().to_string());
                        }
                    }
                }
                found
            }
            _ => {
                let (store, key) = self.object(below).unwrap();
                let lake = key.as_ref().strip_suffix(below).unwrap().to_string();
                let objects: Vec<_> = store.list(Some(&key)).try_collect().await.unwrap();
                let relative = |key: &StorePath| {
                    key.as_ref().strip_prefix(&lake).map(|path| path.trim_start_matches('/').into())
                };
                objects.iter().filter_map(|object| relative(&object.location)).collect()
            }
        };
        found.sort();
        found
    }

    /// The visible data files of the table.
    pub async fn data_files(&self) -> Vec<String> {
        let files = self.files("report").await;
        files.into_iter().filter(|path| path.ends_with(".parquet")).collect()
    }

    pub async fn exists(&self, path: &str) -> bool {
        match self {
            Self::Local(lake) => Self::path(lake, path).exists(),
            _ => {
                let (store, key) = self.object(path).unwrap();
                store.head(&key).await.is_ok()
            }
        }
    }

    /// Removes the table's directory, as `rm -r` does.
    pub async fn remove_table_directory(&self) {
        for file in self.files("report").await {
            self.remove(&file).await;
        }
        if let Self::Local(lake) = self {
            std::fs::remove_dir_all(lake.path().join("report")).unwrap();
        }
    }
}

/// A temporary directory in memory, where there is such a place: a sweep makes thousands.
fn quick_dir() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn copy_tree(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            std::fs::create_dir(&to).unwrap();
            copy_tree(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), &to).unwrap();
            let file = std::fs::File::options().append(true).open(&to).unwrap();
            file.set_modified(metadata.modified().unwrap()).unwrap();
        }
    }
}
