//! The session: a DataFusion context with the lake as its schema.

use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::catalog::MemorySchemaProvider;
use datafusion::common::TableReference;
use datafusion::dataframe::DataFrame;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::{SessionConfig, SessionContext};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::optimizer::OptimizerRule;
use partwise_stream::StreamContext;
use partwise_table::CountPartitions;
use partwise_table::config::PartwiseConfig;

use crate::execution::Execution;
use crate::lake::{Lake, LakeSchema};
use crate::place::Stores;
use crate::progress::{Progress, Running};
use crate::session::SessionRef;
use crate::streams::StreamWatch;
use crate::token::Steps;
use crate::{Error, Result, functions, path_table, place, run, secrets, statement, streams};

/// How a context is set up.
///
/// ```
/// use partwise::{ContextOptions, Lake, PartwiseContext};
///
/// # #[tokio::main]
/// # async fn main() -> partwise::Result<()> {
/// let options = ContextOptions {
///     lake: Lake::None,
///     threads: Some(2),
///     memory_limit_bytes: Some(512 << 20),
/// };
/// let ctx = PartwiseContext::with_options(options).await?;
/// assert_eq!(ctx.sql("SELECT 1").await?.count().await?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ContextOptions {
    /// Where tables without a LOCATION live.
    pub lake: Lake,
    /// Tasks that a query runs in; none: one per core.
    pub threads: Option<usize>,
    /// Memory of operators that can spill, in bytes; none: no limit.
    pub memory_limit_bytes: Option<usize>,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self { lake: Lake::Directory("lake".into()), threads: None, memory_limit_bytes: None }
    }
}

/// A session over a lake: statements in, rows and commits out. Cheap to clone.
///
/// Each directory of the lake that holds Parquet is a table; any other directory, file or glob is
/// one by its path in quotes. Tables are found anew for each statement.
///
/// ```
/// use partwise::PartwiseContext;
///
/// # #[tokio::main]
/// # async fn main() -> partwise::Result<()> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let lake = folder.path().join("lake");
/// let ctx = PartwiseContext::open(lake).await?;
/// ctx.execute("CREATE TABLE report (zone INT, month STRING) USING parquet PARTITIONED BY (month)")
///     .await?;
/// let write = "INSERT OVERWRITE report VALUES (7, '2024-01'), (8, '2024-02')";
/// let count = ctx.sql(write).await?.collect().await?;
/// assert_eq!(count[0].schema().field(0).name(), "count");
/// assert_eq!(ctx.sql("SELECT zone FROM report WHERE month = '2024-01'").await?.count().await?, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PartwiseContext {
    session: SessionContext,
    schema: Arc<LakeSchema>,
    steps: Arc<Steps>,
    running: Arc<Running>,
    streams: StreamContext,
    watch: Arc<StreamWatch>,
}

/// Consumers that an out-of-memory error names.
const TOP_CONSUMERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4);

impl PartwiseContext {
    /// A context over a lake directory, everything else by default.
    ///
    /// # Errors
    /// See [`Self::with_options`].
    pub async fn open(lake: impl Into<Lake>) -> Result<Self> {
        Self::with_options(ContextOptions { lake: lake.into(), ..ContextOptions::default() }).await
    }

    /// A context as `options` say.
    ///
    /// # Errors
    /// A lake that is a file, or an address of a store that can't be one.
    pub async fn with_options(options: ContextOptions) -> Result<Self> {
        let lake = place::lake(options.lake.clone())?;
        Self::attach(session(&options)?, lake)
    }

    /// The context that an existing session was given by [`register`](crate::register).
    ///
    /// # Errors
    /// A session that Partwise isn't registered with.
    pub fn of(session: &SessionContext) -> Result<Self> {
        let config = session.copied_config();
        let schema = config.get_extension::<LakeSchema>();
        let (steps, running) = (config.get_extension(), config.get_extension());
        let (streams, watch) = (StreamContext::of(session), config.get_extension());
        let context = (schema, steps, running, streams, watch);
        let (Some(schema), Some(steps), Some(running), Some(streams), Some(watch)) = context else {
            return Err(Error::invalid(
                "Partwise isn't registered with this session: call partwise::register(&session) \
                 first",
            ));
        };
        Ok(Self { session: session.clone(), schema, steps, running, streams, watch })
    }

    /// Puts the lake behind a session's default schema: what is registered there goes first.
    pub(crate) fn attach(session: SessionContext, lake: Lake) -> Result<Self> {
        let names = session.copied_config().options().catalog.clone();
        let catalog = session.catalog(&names.default_catalog).ok_or_else(|| {
            Error::invalid(format!("the session has no catalog {}", names.default_catalog))
        })?;
        let found = catalog.schema(&names.default_schema);
        let found = found.unwrap_or_else(|| Arc::new(MemorySchemaProvider::new()));
        let state = SessionRef::default();
        let schema = Arc::new(LakeSchema::new(lake, found, state.clone()));
        state.bind(&session);
        catalog.register_schema(&names.default_schema, Arc::clone(&schema) as _)?;
        let steps = Arc::new(Steps::default());
        let running = Arc::new(Running::default());
        configure(&session, &steps, &running, &schema);
        functions::register(&session);
        let (streams, watch) = streams::attach(&session);
        Ok(Self { session, schema, steps, running, streams, watch })
    }

    /// The DataFusion context behind it.
    pub fn session(&self) -> &SessionContext {
        &self.session
    }

    /// The streams and streaming queries of the session.
    pub fn streams(&self) -> &StreamContext {
        &self.streams
    }

    pub(crate) fn watch(&self) -> &StreamWatch {
        &self.watch
    }

    /// The tables of the lake and of the session, as of the last look.
    ///
    /// # Errors
    /// A lake that can't be listed.
    pub async fn table_names(&self) -> Result<Vec<String>> {
        use datafusion::catalog::SchemaProvider;
        self.schema.refresh().await?;
        Ok(self.schema.table_names())
    }

    /// Runs one statement: a query gives its rows, a write has happened when this returns.
    ///
    /// ```
    /// use partwise::{Execution, PartwiseContext};
    ///
    /// # #[tokio::main]
    /// # async fn main() -> partwise::Result<()> {
    /// # let folder = tempfile::tempdir().expect("a folder");
    /// # let ctx = PartwiseContext::open(folder.path().join("lake")).await?;
    /// let create = "CREATE TABLE t PARTITIONED BY (p) AS SELECT 1 AS n, 'x' AS p";
    /// if let Execution::Wrote(report) = ctx.execute(create).await? {
    ///     println!("{}", report.line());
    ///     assert_eq!(report.committed.version, 1);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What is wrong with the statement; nothing it would have written is visible.
    pub async fn execute(&self, sql: &str) -> Result<Execution> {
        let run = async { run::execute(self, statement::parse(sql)?, sql).await };
        run.await.map_err(|error| self.watch.without_secrets(secrets::without(sql, error)))
    }

    /// Plans one statement as a DataFrame, for embedding. A query or a write runs when the frame
    /// is collected; any other statement has been run when this returns. A write gives one row with
    /// the `count` of the rows it wrote.
    ///
    /// # Errors
    /// What is wrong with the statement.
    pub async fn sql(&self, sql: &str) -> Result<DataFrame> {
        let planned = async { run::frame(self, statement::parse(sql)?, sql).await };
        planned.await.map_err(|error| self.watch.without_secrets(secrets::without(sql, error)))
    }

    /// How far the write that runs in this session has come; none while none runs. Of a query,
    /// [`ScanSummary::progress`](crate::ScanSummary::progress) tells.
    pub fn progress(&self) -> Option<Progress> {
        self.running.progress()
    }

    pub(crate) fn schema(&self) -> &LakeSchema {
        &self.schema
    }

    /// Whether a name is one of the schema that the lake stands behind.
    pub(crate) fn is_of_lake(&self, name: &TableReference) -> bool {
        let config = self.session.copied_config();
        let home = &config.options().catalog;
        name.schema().is_none_or(|schema| schema == home.default_schema)
            && name.catalog().is_none_or(|catalog| catalog == home.default_catalog)
    }

    /// Whether the table of that name is one of the lake's directories by its name alone.
    pub(crate) fn is_of_lake_directory(&self, name: &str) -> bool {
        !self.schema.is_of_session(name) && !path_table::looks_like_path(name)
    }

    pub(crate) fn steps(&self) -> &Steps {
        &self.steps
    }
}

/// The session's settings, a job's steps, and the way back from the session to its lake.
fn configure(
    session: &SessionContext,
    steps: &Arc<Steps>,
    running: &Arc<Running>,
    schema: &Arc<LakeSchema>,
) {
    session.remove_optimizer_rule(CountPartitions.name());
    session.add_optimizer_rule(Arc::new(CountPartitions));
    let state = session.state_ref();
    let mut state = state.write();
    let config = state.config_mut();
    if config.options().extensions.get::<PartwiseConfig>().is_none() {
        config.options_mut().extensions.insert(PartwiseConfig::default());
    }
    // DataFusion 55 takes the filter of `max(v)` for `max(v) FILTER (..)` and `max(-v)` too: rows that
    // these need would not be read.
    config.options_mut().optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    config.set_extension(Arc::clone(steps));
    config.set_extension(Arc::clone(running));
    config.set_extension(Arc::clone(schema));
    config.set_extension(Arc::new(Stores::default()));
}

fn session(options: &ContextOptions) -> Result<SessionContext> {
    let mut config = SessionConfig::new().with_information_schema(true);
    if let Some(threads) = options.threads {
        config = config.with_target_partitions(threads);
    }
    // Another process may change any directory at any time: nothing listed is remembered.
    let mut runtime = RuntimeEnvBuilder::new().with_object_list_cache_limit(0);
    if let Some(bytes) = options.memory_limit_bytes {
        let pool = TrackConsumersPool::new(FairSpillPool::new(bytes), TOP_CONSUMERS);
        runtime = runtime.with_memory_pool(Arc::new(pool));
    }
    let state = SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_runtime_env(runtime.build_arc()?)
        .build();
    Ok(SessionContext::new_with_state(state))
}
