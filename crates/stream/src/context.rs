//! Streams, queries and connectors of a session.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::dataframe::DataFrame;
use datafusion::execution::context::SessionContext;

use crate::definition::{QueryDefinition, StreamDefinition, Watermark};
use crate::query::{StreamQuery, WriteStream};
use crate::sink::{ConsoleFactory, MemoryFactory, SinkFactory, TableFactory};
use crate::source::{FilesFactory, RateFactory, SourceFactory, StreamSource};
use crate::stream_table::StreamTable;
use crate::window::tumble_udf;
use crate::{Error, Result};

/// The streams and queries of a session. Cheap to clone; clones share them.
///
/// ```
/// use partwise_stream::{OutputMode, StreamContext, StreamDefinition, TableSink, WriteStream};
/// use datafusion::prelude::SessionContext;
///
/// # #[tokio::main]
/// # async fn main() -> partwise_stream::Result<()> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let landing = folder.path().join("landing");
/// # std::fs::create_dir(&landing).expect("a folder");
/// # std::fs::write(landing.join("1.csv"), "page,day\nhome,2024-01-01\n").expect("a file");
/// let session = SessionContext::new();
/// let streams = StreamContext::new(&session);
/// let clicks = StreamDefinition::files("clicks", landing.to_string_lossy());
/// streams.create_stream(&clicks.option("format", "csv")).await?;
/// let views = session.sql("SELECT day, page, count(*) AS views FROM clicks GROUP BY 1, 2").await?;
/// let query = views
///     .write_stream()
///     .output_mode(OutputMode::Update)
///     .checkpoint(folder.path().join("ck/views"))
///     .sink(TableSink::new(folder.path().join("lake/views")).partition_by(["day"]))
///     .start()
///     .await?;
/// query.await_termination().await?;
/// for batch in query.history() {
///     println!("{batch}");
/// }
/// # assert_eq!(query.history().len(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct StreamContext {
    session: SessionContext,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    sources: BTreeMap<String, Arc<dyn SourceFactory>>,
    sinks: BTreeMap<String, Arc<dyn SinkFactory>>,
    queries: BTreeMap<String, StreamQuery>,
}

impl StreamContext {
    /// Streams for a session, which gets the function `tumble`.
    pub fn new(session: &SessionContext) -> Self {
        session.register_udf(tumble_udf());
        let context = Self { session: session.clone(), shared: Arc::default() };
        context.register_source("FILES", Arc::new(FilesFactory));
        context.register_source("RATE", Arc::new(RateFactory));
        context.register_sink("TABLE", Arc::new(TableFactory));
        context.register_sink("MEMORY", Arc::new(MemoryFactory));
        context.register_sink("CONSOLE", Arc::new(ConsoleFactory));
        context
    }

    /// The session.
    pub fn session(&self) -> &SessionContext {
        &self.session
    }

    /// Has `FROM kind` make its sources by this, in place of what there is.
    pub fn register_source(&self, kind: &str, factory: Arc<dyn SourceFactory>) {
        self.locked().sources.insert(kind.to_ascii_uppercase(), factory);
    }

    /// Has `INTO kind` make its sinks by this, in place of what there is.
    pub fn register_sink(&self, kind: &str, factory: Arc<dyn SinkFactory>) {
        self.locked().sinks.insert(kind.to_ascii_uppercase(), factory);
    }

    /// `CREATE STREAM`: the session has a table of that name that queries read.
    ///
    /// # Errors
    /// A name that is taken; a kind or an option that isn't known; columns that can't be told.
    pub async fn create_stream(&self, definition: &StreamDefinition) -> Result<()> {
        let factory = self.locked().sources.get(&definition.kind.to_ascii_uppercase()).cloned();
        let factory = factory.ok_or_else(|| {
            let kinds: Vec<String> = self.locked().sources.keys().cloned().collect();
            Error::invalid(format!(
                "FROM {}: there is no such source; there are {}",
                definition.kind,
                kinds.join(", ")
            ))
        })?;
        let source = factory.source(&self.session.state(), definition).await?;
        self.add_stream(&definition.name, source, definition.watermark.clone())
    }

    /// The same for a source that a program has.
    ///
    /// # Errors
    /// A name that is taken; a watermark over a column that isn't there or is no timestamp.
    pub fn add_stream(
        &self,
        name: &str,
        source: Arc<dyn StreamSource>,
        watermark: Option<Watermark>,
    ) -> Result<()> {
        if self.session.table_exist(name)? {
            return Err(Error::invalid(format!("there is a table or stream {name} already")));
        }
        let stream = StreamTable::new(name, source, watermark)?;
        self.session.register_table(name, Arc::new(stream))?;
        Ok(())
    }

    /// `DROP STREAM`: queries that run over it go on. False where there is no such stream.
    ///
    /// # Errors
    /// A table that isn't a stream.
    pub async fn drop_stream(&self, name: &str) -> Result<bool> {
        let Ok(found) = self.session.table_provider(name).await else { return Ok(false) };
        if !found.as_ref().is::<StreamTable>() {
            return Err(Error::invalid(format!("{name} is a table, not a stream: DROP TABLE")));
        }
        Ok(self.session.deregister_table(name)?.is_some())
    }

    /// A frame over a stream, to be shaped and [written](WriteStream::write_stream).
    ///
    /// # Errors
    /// No stream of that name.
    pub async fn stream(&self, name: &str) -> Result<DataFrame> {
        Ok(self.session.table(name).await?)
    }

    /// `START QUERY`: runs a frame over a stream as a query of the session.
    ///
    /// # Errors
    /// A query of that name that runs; a kind of sink that isn't known; and all that
    /// [`StreamWriter::start`](crate::StreamWriter::start) refuses.
    pub async fn start(
        &self,
        definition: &QueryDefinition,
        rows: DataFrame,
    ) -> Result<StreamQuery> {
        if self.query(&definition.name).is_some_and(|query| query.is_running()) {
            return Err(Error::invalid(format!(
                "the query {0} runs already: STOP QUERY {0} ends it",
                definition.name
            )));
        }
        let factory = self.locked().sinks.get(&definition.sink.kind.to_ascii_uppercase()).cloned();
        let factory = factory.ok_or_else(|| {
            let kinds: Vec<String> = self.locked().sinks.keys().cloned().collect();
            Error::invalid(format!(
                "INTO {}: there is no such sink; there are {}",
                definition.sink.kind,
                kinds.join(", ")
            ))
        })?;
        let sink = factory.sink(&self.session, &definition.sink).await?;
        let query = rows
            .write_stream()
            .name(&definition.name)
            .output_mode(definition.mode)
            .trigger(definition.trigger)
            .checkpoint(&definition.checkpoint)
            .shared_sink(Arc::clone(&sink))
            .start()
            .await?;
        if let (Some(table), Some(name)) = (sink.table(), &definition.sink.target)
            && !self.session.table_exist(name.as_str())?
        {
            self.session.register_table(name.as_str(), table)?;
        }
        self.locked().queries.insert(definition.name.clone(), query.clone());
        Ok(query)
    }

    /// The queries that were started, by name.
    pub fn queries(&self) -> Vec<StreamQuery> {
        self.locked().queries.values().cloned().collect()
    }

    /// A query that was started.
    pub fn query(&self, name: &str) -> Option<StreamQuery> {
        self.locked().queries.get(name).cloned()
    }

    /// Maps that a panic leaves whole.
    fn locked(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for StreamContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = self.locked();
        f.debug_struct("StreamContext")
            .field("sources", &shared.sources.keys())
            .field("sinks", &shared.sinks.keys())
            .field("queries", &shared.queries.keys())
            .finish()
    }
}
