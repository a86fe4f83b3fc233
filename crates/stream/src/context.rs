//! Streams, queries and connectors of a session.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::dataframe::DataFrame;
use datafusion::execution::context::{SessionConfig, SessionContext};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

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
    shared: Arc<Registry>,
}

/// What a session knows of streams; part of its configuration.
type Registry = Mutex<Shared>;

/// Gives the runtime that queries run on.
type Runtimes = Arc<dyn Fn() -> std::io::Result<Handle> + Send + Sync>;

#[derive(Default)]
struct Shared {
    runtime: Option<Runtimes>,
    sources: BTreeMap<String, Arc<dyn SourceFactory>>,
    sinks: BTreeMap<String, Arc<dyn SinkFactory>>,
    queries: BTreeMap<String, StreamQuery>,
}

impl StreamContext {
    /// Streams for a session, which gets the function `tumble`. A session that has them already
    /// keeps them.
    pub fn new(session: &SessionContext) -> Self {
        if let Some(context) = Self::of(session) {
            return context;
        }
        session.register_udf(tumble_udf());
        let context = Self { session: session.clone(), shared: Arc::default() };
        let shared = Arc::clone(&context.shared);
        session.state_ref().write().config_mut().set_extension(shared);
        context.register_source("FILES", Arc::new(FilesFactory));
        context.register_source("RATE", Arc::new(RateFactory));
        context.register_sink("TABLE", Arc::new(TableFactory));
        context.register_sink("MEMORY", Arc::new(MemoryFactory));
        context.register_sink("CONSOLE", Arc::new(ConsoleFactory));
        context
    }

    /// The streams that a session has been given.
    pub fn of(session: &SessionContext) -> Option<Self> {
        let shared = session.copied_config().get_extension::<Registry>()?;
        Some(Self { session: session.clone(), shared })
    }

    /// The queries that were started in the session of a configuration, by name.
    pub fn queries_in(config: &SessionConfig) -> Vec<StreamQuery> {
        let shared = config.get_extension::<Registry>();
        shared.map(|shared| queries_of(&shared)).unwrap_or_default()
    }

    /// Has queries run on another runtime than the one that starts them, such as one that outlives
    /// it. It is asked for when a query is started.
    pub fn run_on(&self, runtime: impl Fn() -> std::io::Result<Handle> + Send + Sync + 'static) {
        self.locked().runtime = Some(Arc::new(runtime));
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
            unknown_kind(&format!("FROM {}", definition.kind), "source", &self.locked().sources)
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
            unknown_kind(&format!("INTO {}", definition.sink.kind), "sink", &self.locked().sinks)
        })?;
        let runtime = self.locked().runtime.clone();
        let Some(runtime) = runtime else { return self.open(definition, rows, factory).await };
        let runtime = runtime().map_err(|cause| Error::internal(format!("no threads: {cause}")))?;
        let (context, definition) = (self.clone(), definition.clone());
        let opening = async move { context.open(&definition, rows, factory).await };
        // Whoever stops waiting has the query not start.
        let mut opened = JoinSet::new();
        opened.spawn_on(opening, &runtime);
        let opened = opened.join_next().await;
        match opened {
            Some(Ok(opened)) => opened,
            _ => Err(Error::internal("the query's start ended early")),
        }
    }

    async fn open(
        &self,
        definition: &QueryDefinition,
        rows: DataFrame,
        factory: Arc<dyn SinkFactory>,
    ) -> Result<StreamQuery> {
        let sink = factory.sink(&self.session, &definition.sink).await?;
        let target = definition.sink.target.as_deref();
        // Asked before the query runs: a name that can't be would leave it running unseen.
        let is_new = target.map(|name| self.session.table_exist(name)).transpose()? == Some(false);
        let query = rows
            .write_stream()
            .name(&definition.name)
            .output_mode(definition.mode)
            .trigger(definition.trigger)
            .checkpoint(&definition.checkpoint)
            .shared_sink(Arc::clone(&sink))
            .start()
            .await?;
        self.locked().queries.insert(definition.name.clone(), query.clone());
        if let (Some(table), Some(name), true) = (sink.table(), target, is_new) {
            self.session.register_table(name, table)?;
        }
        Ok(query)
    }

    /// The queries that were started, by name.
    pub fn queries(&self) -> Vec<StreamQuery> {
        queries_of(&self.shared)
    }

    /// A query that was started.
    pub fn query(&self, name: &str) -> Option<StreamQuery> {
        self.locked().queries.get(name).cloned()
    }

    fn locked(&self) -> MutexGuard<'_, Shared> {
        locked(&self.shared)
    }
}

fn unknown_kind<F>(clause: &str, what: &str, known: &BTreeMap<String, F>) -> Error {
    let kinds: Vec<&str> = known.keys().map(String::as_str).collect();
    let kinds = kinds.join(", ");
    Error::invalid(format!("{clause}: there is no such {what}; there are {kinds}"))
}

/// Maps that a panic leaves whole.
fn locked(shared: &Registry) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn queries_of(shared: &Registry) -> Vec<StreamQuery> {
    locked(shared).queries.values().cloned().collect()
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
