//! The session: a DataFusion context with the lake as its schema.

use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider};
use datafusion::dataframe::DataFrame;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::{SessionConfig, SessionContext};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use partwise_table::config::PartwiseConfig;

use crate::execution::Execution;
use crate::lake::{Lake, LakeSchema};
use crate::session::SessionRef;
use crate::token::Steps;
use crate::{Error, Result, functions, path_table, run, statement};

/// How a context is set up.
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
#[derive(Clone)]
pub struct PartwiseContext {
    session: SessionContext,
    schema: Arc<LakeSchema>,
    steps: Arc<Steps>,
}

/// The catalog of the lake's schema.
pub(crate) const CATALOG: &str = "datafusion";
/// The schema that the lake is.
pub(crate) const SCHEMA: &str = "public";
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
    /// A lake that is a file.
    pub async fn with_options(options: ContextOptions) -> Result<Self> {
        if let Lake::Directory(dir) = &options.lake {
            path_table::refuse_store(&dir.to_string_lossy())?;
        }
        if let Lake::Directory(dir) = &options.lake
            && dir.exists()
            && !dir.is_dir()
        {
            return Err(Error::invalid(format!("the lake {} is not a directory", dir.display())));
        }
        let steps = Arc::new(Steps::default());
        let state = SessionRef::default();
        let schema = Arc::new(LakeSchema::new(options.lake.clone(), state.clone()));
        let session = session(&options, &steps, &schema)?;
        state.bind(&session);
        Ok(Self { session, schema, steps })
    }

    /// The DataFusion context behind it.
    pub fn session(&self) -> &SessionContext {
        &self.session
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
    /// # Errors
    /// What is wrong with the statement; nothing it would have written is visible.
    pub async fn execute(&self, sql: &str) -> Result<Execution> {
        run::execute(self, statement::parse(sql)?, sql).await
    }

    /// Plans one statement as a DataFrame, for embedding. A query or a write runs when the frame
    /// is collected; any other statement has been run when this returns.
    ///
    /// # Errors
    /// What is wrong with the statement.
    pub async fn sql(&self, sql: &str) -> Result<DataFrame> {
        run::frame(self, statement::parse(sql)?, sql).await
    }

    pub(crate) fn schema(&self) -> &LakeSchema {
        &self.schema
    }

    pub(crate) fn steps(&self) -> &Steps {
        &self.steps
    }
}

fn session(
    options: &ContextOptions,
    steps: &Arc<Steps>,
    schema: &Arc<LakeSchema>,
) -> Result<SessionContext> {
    let mut config = SessionConfig::new()
        .with_information_schema(true)
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_create_default_catalog_and_schema(false)
        .with_option_extension(PartwiseConfig::default())
        .with_extension(Arc::clone(steps));
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
    let session = SessionContext::new_with_state(state);
    let catalog = MemoryCatalogProvider::new();
    catalog.register_schema(SCHEMA, Arc::clone(schema) as _)?;
    session.register_catalog(CATALOG, Arc::new(catalog));
    functions::register(&session);
    Ok(session)
}
