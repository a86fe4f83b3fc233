//! The lake: a folder (or bucket prefix) whose directories are tables, found anew each time.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::Result as DFResult;
use partwise_commit::{Location, Table, TableSchema, TableStore};
use partwise_stream::StreamTable;
use partwise_table::{OpenOptions, PartwiseTable};

use crate::lookup;
use crate::path_table;
use crate::session::SessionRef;
use crate::{Error, ErrorKind, Result};

/// Where tables without a LOCATION live.
#[derive(Clone)]
pub enum Lake {
    /// A directory of the local disk, made with the first table; or the address of a store,
    /// `s3://bucket/prefix`, which is opened with the environment's settings.
    Directory(PathBuf),
    /// A prefix of an object store.
    Store {
        /// The store.
        store: Arc<dyn TableStore>,
        /// Where in it the tables begin.
        prefix: object_store::path::Path,
    },
    /// No lake: tables need a LOCATION, and plain `CREATE TABLE` is DataFusion's.
    None,
}

impl fmt::Debug for Lake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(dir) => write!(f, "Lake({})", dir.display()),
            Self::Store { store, prefix } => write!(f, "Lake({store}/{prefix})"),
            Self::None => f.write_str("Lake(none)"),
        }
    }
}

impl<P: Into<PathBuf>> From<P> for Lake {
    fn from(dir: P) -> Self {
        Self::Directory(dir.into())
    }
}

impl Lake {
    /// Where the table of this name lies or would lie; none without a lake.
    ///
    /// # Errors
    /// A name that can't be a directory's, or that is hidden.
    pub fn location(&self, table: &str) -> Result<Option<Location>> {
        if table.is_empty() || is_hidden(table) || table.contains(['/', '\\', '\0']) {
            return Err(Error::invalid(format!(
                "\"{table}\" can't name a table of the lake: a name is a directory's, without \
                 slashes, and doesn't start with _ or ."
            )));
        }
        Ok(match self {
            Self::Directory(dir) => Some(Location::local(dir.join(table))),
            Self::Store { store, prefix } => {
                Some(Location::store(Arc::clone(store), prefix.clone().join(table)))
            }
            Self::None => None,
        })
    }

    /// The directories that are tables: Parquet at any depth, or a record of ours, whether or not it
    /// can be read.
    ///
    /// # Errors
    /// A lake that can't be listed.
    pub async fn table_names(&self) -> Result<BTreeSet<String>> {
        let mut tables = BTreeSet::new();
        for name in self.directories().await?.into_iter().filter(|name| !is_hidden(name)) {
            if let Some(location) = self.location(&name)?
                && Table::new(location).describe().await.map_or(true, |found| found.has_data)
            {
                tables.insert(name);
            }
        }
        Ok(tables)
    }

    /// The lake as messages name it; none without one.
    pub(crate) fn describe(&self) -> Option<String> {
        match self {
            Self::Directory(dir) => Some(format!("the lake {}", dir.display())),
            Self::Store { store, prefix } => Some(format!("the lake {store}/{prefix}")),
            Self::None => None,
        }
    }

    async fn directories(&self) -> Result<Vec<String>> {
        match self {
            Self::Directory(dir) => directories_in(dir),
            Self::Store { store, prefix } => {
                let listed = store
                    .list_with_delimiter(Some(prefix))
                    .await
                    .map_err(|e| unavailable(&format!("{store}/{prefix}"), &e))?;
                let prefixes = listed.common_prefixes.into_iter();
                Ok(prefixes.filter_map(|p| p.filename().map(str::to_owned)).collect())
            }
            Self::None => Ok(vec![]),
        }
    }
}

fn is_hidden(name: &str) -> bool {
    name.starts_with(['_', '.'])
}

fn unavailable(lake: &str, cause: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the lake {lake} can't be listed: {cause}"))
}

fn directories_in(dir: &Path) -> Result<Vec<String>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(e) => return Err(unavailable(&dir.display().to_string(), &e)),
    };
    let directories = entries.filter_map(|entry| entry.ok()).filter(|entry| entry.path().is_dir());
    Ok(directories.filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

/// A table of the session by its LOCATION; what is there is opened anew for each statement.
#[derive(Clone)]
struct Located {
    location: Location,
    declared: Option<TableSchema>,
}

/// The schema `public`: tables of the session, paths, and the lake's directories, in that order.
pub(crate) struct LakeSchema {
    lake: Lake,
    /// What is registered with the session.
    session: Arc<dyn SchemaProvider>,
    located: RwLock<HashMap<String, Located>>,
    known: RwLock<BTreeSet<String>>,
    state: SessionRef,
}

impl LakeSchema {
    /// The lake behind a schema of a session.
    pub fn new(lake: Lake, session: Arc<dyn SchemaProvider>, state: SessionRef) -> Self {
        Self { lake, session, located: RwLock::default(), known: RwLock::default(), state }
    }

    /// Makes a location known under a name, in place of what the session had under it.
    pub fn locate(&self, name: &str, location: Location, declared: Option<TableSchema>) {
        let mut located = self.located.write().unwrap_or_else(PoisonError::into_inner);
        located.insert(name.to_owned(), Located { location, declared });
    }

    /// A table by its LOCATION is read with the columns that its log has now, whatever the session
    /// declared.
    pub fn read_as_logged(&self, name: &str) {
        let mut located = self.located.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = located.get_mut(name) {
            found.declared = None;
        }
    }

    /// Gives a table by its LOCATION another name; false where the session has none of that name.
    pub fn rename_located(&self, from: &str, to: &str) -> bool {
        let mut located = self.located.write().unwrap_or_else(PoisonError::into_inner);
        let found = located.remove(from);
        found.is_some_and(|found| located.insert(to.to_owned(), found).is_none())
    }

    fn located(&self, name: &str) -> Option<Located> {
        self.located.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub fn lake(&self) -> &Lake {
        &self.lake
    }

    /// Whether the name was registered for the session (a LOCATION table, a view, ..).
    pub fn is_of_session(&self, name: &str) -> bool {
        self.session.table_exist(name) || self.located(name).is_some()
    }

    /// The streams of the session, by name.
    pub async fn streams(&self) -> Result<Vec<(String, StreamTable)>> {
        let mut streams = Vec::new();
        for name in self.session.table_names() {
            let table = self.session.table(&name).await?;
            let stream = table.and_then(|table| table.downcast_ref::<StreamTable>().cloned());
            streams.extend(stream.map(|stream| (name, stream)));
        }
        Ok(streams)
    }

    /// Refuses a name of the session that is a stream's.
    pub async fn refuse_stream(&self, name: &str) -> Result<()> {
        match self.session.table(name).await? {
            Some(table) => lookup::refuse_stream(&name, table.as_ref()),
            None => Ok(()),
        }
    }

    /// Looks again which directories are tables, for those who list names.
    pub async fn refresh(&self) -> Result<()> {
        let names = self.lake.table_names().await?;
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = names;
        Ok(())
    }

    /// The table of the session or of the lake that has this name: a file or folder that is called
    /// so isn't looked at.
    pub async fn named(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        match self.session.table(name).await? {
            Some(table) => Ok(Some(table)),
            None => self.open_named(name).await,
        }
    }

    async fn open_named(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let state = self.state.state()?;
        if let Some(Located { location, declared }) = self.located(name) {
            let options = OpenOptions { schema: declared };
            let table = PartwiseTable::open(location, options, &state).await?;
            return Ok(table.map(|table| Arc::new(table) as _));
        }
        if !path_table::looks_like_path(name)
            && !is_hidden(name)
            && let Some(location) = self.lake.location(name)?
            && let Some(table) =
                PartwiseTable::open(location, OpenOptions::default(), &state).await?
        {
            return Ok(Some(Arc::new(table)));
        }
        Ok(None)
    }

    async fn open(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(table) = self.open_named(name).await? {
            return Ok(Some(table));
        }
        if path_table::looks_like_path(name) || Path::new(name).exists() {
            return path_table::open(name, &self.state.state()?).await.map(Some);
        }
        Ok(None)
    }
}

impl fmt::Debug for LakeSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LakeSchema({:?})", self.lake)
    }
}

#[async_trait]
impl SchemaProvider for LakeSchema {
    fn table_names(&self) -> Vec<String> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let located = self.located.read().unwrap_or_else(PoisonError::into_inner);
        let all: BTreeSet<String> =
            known.iter().chain(located.keys()).cloned().chain(self.session.table_names()).collect();
        all.into_iter().collect()
    }

    async fn table(&self, name: &str) -> DFResult<Option<Arc<dyn TableProvider>>> {
        match self.session.table(name).await? {
            Some(table) => Ok(Some(table)),
            None => Ok(self.open(name).await?),
        }
    }

    fn register_table(
        &self,
        name: String,
        table: Arc<dyn TableProvider>,
    ) -> DFResult<Option<Arc<dyn TableProvider>>> {
        self.session.register_table(name, table)
    }

    fn deregister_table(&self, name: &str) -> DFResult<Option<Arc<dyn TableProvider>>> {
        let gone = self.located.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        match gone {
            Some(_) => Ok(None),
            None => self.session.deregister_table(name),
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        self.is_of_session(name) || known.contains(name)
    }
}
