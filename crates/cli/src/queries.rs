//! Streaming queries of a run: the threads they have, and how the run ends while they run.
//!
//! ```text
//! after the last statement   all end by themselves ---------> waited for; the first that fails ends
//!                                                             the run with its status
//!                            some go on (EVERY) ------------> until Ctrl-C or SIGTERM
//! Ctrl-C, SIGTERM, a failed statement, leaving the prompt --> stopped: the running batch is finished,
//!                                                             or given up when that takes too long
//! ```

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use datafusion::prelude::SessionContext;
use futures::future::{join_all, try_join_all};
use partwise_sql::stream::StreamQuery;
use partwise_sql::{Error, PartwiseContext};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use crate::interrupt::Interrupts;
use crate::output::Console;
use crate::status::{Failure, Result, Status};

/// How long a running batch has to be finished.
const BATCH_PATIENCE: Duration = Duration::from_secs(10);

/// How long one that is given up has to let go.
const ABORT_PATIENCE: Duration = Duration::from_secs(2);

/// Threads that queries run on, apart from the statements': a cancelled statement may have to be
/// left with its threads. They start with the first query. Cheap to clone.
#[derive(Clone)]
pub struct QueryThreads {
    threads: Option<usize>,
    interrupts: Interrupts,
    team: Arc<Mutex<Option<Runtime>>>,
}

impl QueryThreads {
    /// So many threads; none: one per core.
    pub fn new(threads: Option<usize>, interrupts: Interrupts) -> Self {
        Self { threads, interrupts, team: Arc::default() }
    }

    /// Has a session's queries run here. The session isn't held on to: it has this in itself.
    pub fn serve(&self, context: &PartwiseContext) {
        let (team, state) = (self.clone(), context.session().state_weak_ref());
        let session = move || {
            let session = SessionContext::new_with_state(state.upgrade()?.read().clone());
            PartwiseContext::of(&session).ok()
        };
        context.streams().run_on(move || team.handle(&session));
    }

    fn handle(&self, session: &dyn Fn() -> Option<PartwiseContext>) -> io::Result<Handle> {
        let mut team = self.team();
        if let Some(team) = team.as_ref() {
            return Ok(team.handle().clone());
        }
        let mut builder = Builder::new_multi_thread();
        if let Some(threads) = self.threads {
            builder.worker_threads(threads);
        }
        let runtime = builder.thread_name("queries").enable_all().build()?;
        let handle = runtime.handle().clone();
        if let Some(context) = session() {
            handle.spawn(hear_terminate(context, self.interrupts.clone()));
        }
        *team = Some(runtime);
        Ok(handle)
    }

    /// Ends the threads; no query runs any more. Blocks.
    pub fn shut_down(&self) {
        if let Some(team) = self.team().take() {
            team.shutdown_timeout(ABORT_PATIENCE);
        }
    }

    fn team(&self) -> MutexGuard<'_, Option<Runtime>> {
        self.team.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// SIGTERM ends the run as Ctrl-C does a script's. At the prompt, whose keyboard nobody will press,
/// the process ends from here.
async fn hear_terminate(context: PartwiseContext, interrupts: Interrupts) {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
    while terminate.recv().await.is_some() {
        if interrupts.is_at_prompt() {
            stop(&context).await;
            std::process::exit(Status::Terminated as i32);
        }
        interrupts.terminate();
    }
}

/// Ends a run whose statements have ended so: waits for the queries that still run, or stops them.
///
/// # Errors
/// What the statements ended with; else the first query that failed; else [`Status::Interrupted`]
/// where a query that would have ended by itself was stopped.
pub async fn finish(
    context: &PartwiseContext,
    interrupts: &Interrupts,
    console: &mut Console,
    ran: Result<()>,
) -> Result<()> {
    let ran = match ran {
        Ok(()) => wait(context, interrupts, console).await,
        failed => failed,
    };
    let Stopped { given_up, failures } = stop(context).await;
    given_up.iter().for_each(|name| console.warning(&abandoned(name)));
    let earlier = context.take_query_failures();
    let failures = earlier.into_iter().chain(failures).map(Failure::from);
    failures.fold(ran, |ran, failure| match ran {
        Ok(()) => Err(failure),
        earlier => {
            console.complain(&format!("error: {failure}"));
            earlier
        }
    })
}

async fn wait(
    context: &PartwiseContext,
    interrupts: &Interrupts,
    console: &mut Console,
) -> Result<()> {
    let mut failures = context.take_query_failures().into_iter();
    if let Some(first) = failures.next() {
        failures.for_each(|other| console.complain(&format!("error: {other}")));
        return Err(first.into());
    }
    let queries = running(context);
    if queries.is_empty() {
        return Ok(());
    }
    if !console.is_quiet() {
        console.complain(&waiting(&queries));
        context.on_batch(Some(Arc::new(|batch| eprintln!("{batch}"))));
    }
    let ended = try_join_all(queries.iter().map(|query| context.await_query(query)));
    let waited = interrupts.or_cancelled(ended).await;
    context.on_batch(None);
    match waited {
        Ok(ended) => Ok(ended.map(drop)?),
        Err(_) if running(context).iter().all(|query| query.trigger().is_endless()) => Ok(()),
        Err(interrupted) => Err(interrupted),
    }
}

fn waiting(queries: &[StreamQuery]) -> String {
    let names: Vec<&str> = queries.iter().map(StreamQuery::name).collect();
    let names = names.join(", ");
    match queries.iter().any(|query| query.trigger().is_endless()) {
        true => format!("running until Ctrl-C or SIGTERM: {names}"),
        false => format!("waiting for the end of {names}"),
    }
}

/// What became of queries that were stopped.
#[derive(Default)]
pub struct Stopped {
    /// Those whose batch was given up.
    pub given_up: Vec<String>,
    /// What others failed with meanwhile.
    pub failures: Vec<Error>,
}

/// What is said of a batch that was given up.
pub fn abandoned(query: &str) -> String {
    format!(
        "the running batch of {query} took too long to wait for: it is given up, and run again when \
         the query is started again"
    )
}

/// Stops the queries that run.
pub async fn stop(context: &PartwiseContext) -> Stopped {
    let queries = running(context);
    let stopped = join_all(queries.iter().map(StreamQuery::stop));
    let _ = tokio::time::timeout(BATCH_PATIENCE, stopped).await;
    let (late, ended): (Vec<_>, Vec<_>) = queries.into_iter().partition(StreamQuery::is_running);
    let failures = join_all(ended.iter().map(|query| context.await_query(query))).await;
    late.iter().for_each(StreamQuery::abort);
    let aborted = join_all(late.iter().map(StreamQuery::await_termination));
    // What computes on is left to the end of the process.
    let _ = tokio::time::timeout(ABORT_PATIENCE, aborted).await;
    Stopped {
        given_up: late.iter().map(|query| query.name().to_owned()).collect(),
        failures: failures.into_iter().filter_map(|ended| ended.err()).collect(),
    }
}

/// The queries that run.
pub fn running(context: &PartwiseContext) -> Vec<StreamQuery> {
    let queries = context.streams().queries().into_iter();
    queries.filter(StreamQuery::is_running).collect()
}
