//! The session's side of streaming queries: who is told of batches, and where tables are found.
//!
//! ```text
//! CREATE STREAM, START QUERY -> run::streams -> StreamContext -> a task per query
//!                                  |                               |
//!                        LakeTables: INTO TABLE t                  v
//! AWAIT QUERY <- StreamWatch: batches told once, secrets left out <- news
//! ```

mod lake_tables;

pub(crate) use lake_tables::location_of;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::execution::context::SessionContext;
use partwise_stream::{Progress, StreamContext, StreamQuery};

use crate::{Error, PartwiseContext, Result, connectors, secrets};

/// Called with what each batch of a query did that somebody waits for.
pub type BatchListener = Arc<dyn Fn(&Progress) + Send + Sync>;

/// Gives a session its streams.
pub(crate) fn attach(session: &SessionContext) -> (StreamContext, Arc<StreamWatch>) {
    let streams = StreamContext::new(session);
    streams.register_sink("TABLE", Arc::new(lake_tables::LakeTables));
    connectors::register(&streams);
    let watch = Arc::new(StreamWatch::default());
    session.state_ref().write().config_mut().set_extension(Arc::clone(&watch));
    (streams, watch)
}

/// Who is told of batches, and what nobody is told. Part of the session's configuration.
#[derive(Default)]
pub(crate) struct StreamWatch {
    listener: Mutex<Option<BatchListener>>,
    /// What the statements of streams and queries gave away.
    secrets: Mutex<BTreeSet<String>>,
}

impl StreamWatch {
    /// Keeps the secrets of a statement: a query that fails later must not tell them either.
    pub fn keep_secrets(&self, sql: &str) {
        locked(&self.secrets).extend(secrets::of(sql));
    }

    /// An error without the secrets of the session's streams and queries.
    pub fn without_secrets(&self, error: Error) -> Error {
        let text = error.to_string();
        secrets::without_these(&self.secrets(), error, &text)
    }

    /// A text without them.
    pub fn hidden(&self, text: &str) -> String {
        partwise_commit::hide_secrets(text, self.secrets().iter().map(String::as_str))
    }

    /// The longest first.
    fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<String> = locked(&self.secrets).iter().cloned().collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    }

    fn tell(&self, batches: &[Progress]) {
        let listener = locked(&self.listener).clone();
        if let Some(listener) = listener {
            batches.iter().for_each(|batch| listener(batch));
        }
    }
}

/// Values that a panic leaves whole.
fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PartwiseContext {
    /// Has a function called with what each batch did of a query that is waited for; none: nobody is
    /// told.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> partwise::Result<()> {
    /// # let folder = tempfile::tempdir().expect("a folder");
    /// # let landing = folder.path().join("landing");
    /// # std::fs::create_dir(&landing).expect("a folder");
    /// # std::fs::write(landing.join("1.csv"), "page\nhome\nhome\n").expect("a file");
    /// # let (landing, checkpoint) = (landing.display(), folder.path().join("ck"));
    /// # let checkpoint = checkpoint.display();
    /// let ctx = partwise::PartwiseContext::open(folder.path().join("lake")).await?;
    /// ctx.on_batch(Some(Arc::new(|batch| println!("{batch}"))));
    /// ctx.execute(&format!("CREATE STREAM clicks FROM FILES '{landing}' OPTIONS ('format' 'csv')"))
    ///     .await?;
    /// ctx.execute(&format!(
    ///     "START QUERY views OUTPUT MODE update TRIGGER AVAILABLE NOW CHECKPOINT '{checkpoint}' \
    ///      INTO TABLE views AS SELECT page, count(*) AS views FROM clicks GROUP BY page"
    /// ))
    /// .await?;
    /// ctx.execute("AWAIT QUERY views").await?;
    /// assert_eq!(ctx.sql("SELECT * FROM views").await?.count().await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_batch(&self, listener: Option<BatchListener>) {
        *locked(&self.watch().listener) = listener;
    }

    /// Waits for a query to end and tells of its batches, each once.
    ///
    /// # Errors
    /// What the query ended with.
    pub async fn await_query(&self, query: &StreamQuery) -> Result<()> {
        let mut changes = query.changes();
        loop {
            let running = query.is_running();
            self.watch().tell(&query.take_news());
            if !running {
                break;
            }
            // A closed channel is the end of the query, which the next look sees.
            let _ = changes.changed().await;
        }
        let ended = query.await_termination().await;
        ended.map_err(|error| self.failed(query.name(), error))
    }

    /// Queries that have failed since this was called last and that nobody has waited for.
    pub fn take_query_failures(&self) -> Vec<Error> {
        let failed = |query: StreamQuery| {
            let failure = query.take_failure()?;
            Some(self.failed(query.name(), failure))
        };
        self.streams().queries().into_iter().filter_map(failed).collect()
    }

    fn failed(&self, name: &str, error: Error) -> Error {
        let said = format!("the query {name} has failed: {error}");
        self.watch().without_secrets(error.saying(said))
    }
}
