//! A query that runs.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::definition::{OutputMode, Trigger};
use crate::engine::{Engine, run};
use crate::progress::{Progress, Totals};
use crate::{Error, ErrorKind, Result};

/// Batches whose progress is remembered.
const REMEMBERED: usize = 100;

/// Called with what each batch did.
pub(crate) type ProgressHook = Arc<dyn Fn(&Progress) + Send + Sync>;

/// A query in a task of its own. Clones are handles on the same; dropping them doesn't stop it.
#[derive(Clone)]
pub struct StreamQuery {
    shared: Arc<Shared>,
}

struct Shared {
    name: String,
    id: String,
    mode: OutputMode,
    sink: String,
    trigger: Trigger,
    stop: watch::Sender<bool>,
    history: Mutex<History>,
    /// Counts what happened: a batch that was done, the end.
    changes: watch::Sender<u64>,
    ended: watch::Sender<Option<Ended>>,
    task: Mutex<Option<AbortHandle>>,
}

/// What the batches did.
#[derive(Default)]
struct History {
    last: VecDeque<Progress>,
    totals: Totals,
    /// How many were given out as news.
    told: u64,
    /// Whether the failure was.
    failure_told: bool,
}

/// How a query ended: well, or with this.
type Ended = std::result::Result<(), (ErrorKind, String)>;

impl StreamQuery {
    /// Starts batches in a task.
    pub(crate) fn start(engine: Engine, trigger: Trigger, hook: Option<ProgressHook>) -> Self {
        let query = engine.query();
        let shared = Arc::new(Shared {
            name: query.name.clone(),
            id: query.id.clone(),
            mode: query.mode,
            sink: engine.sink().describe(),
            trigger,
            stop: watch::Sender::new(false),
            history: Mutex::default(),
            changes: watch::Sender::new(0),
            ended: watch::Sender::new(None),
            task: Mutex::default(),
        });
        let (running, stop) = (Arc::clone(&shared), shared.stop.subscribe());
        let task = tokio::spawn(async move {
            let guard = EndGuard(Arc::clone(&running));
            let ended = drive(engine, trigger, stop, &running, hook).await;
            guard.end(ended.map_err(|error| (error.kind(), error.to_string())));
        });
        *shared.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
        Self { shared }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Its id, of its checkpoint.
    pub fn id(&self) -> &str {
        &self.shared.id
    }

    /// What each batch gives out.
    pub fn mode(&self) -> OutputMode {
        self.shared.mode
    }

    /// Where its rows go, in words.
    pub fn sink(&self) -> &str {
        &self.shared.sink
    }

    /// When its batches run.
    pub fn trigger(&self) -> Trigger {
        self.shared.trigger
    }

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        self.shared.ended.borrow().is_none()
    }

    /// What the last batches did, oldest first.
    pub fn history(&self) -> Vec<Progress> {
        self.shared.history().last.iter().cloned().collect()
    }

    /// All its batches together, since it was started.
    pub fn totals(&self) -> Totals {
        self.shared.history().totals
    }

    /// What the last batch did; none before the first.
    pub fn progress(&self) -> Option<Progress> {
        self.shared.history().last.back().cloned()
    }

    /// What it ended with; none while it runs, and where it ended well.
    pub fn failure(&self) -> Option<Error> {
        match self.shared.ended.borrow().as_ref() {
            Some(Err((kind, message))) => Some(Error::new(*kind, message.clone())),
            _ => None,
        }
    }

    /// What its batches did since this was called last, for one who tells a user of it.
    pub fn take_news(&self) -> Vec<Progress> {
        let mut history = self.shared.history();
        let missed = usize::try_from(history.totals.batches - history.told).unwrap_or(usize::MAX);
        let first = history.last.len().saturating_sub(missed);
        history.told = history.totals.batches;
        history.last.iter().skip(first).cloned().collect()
    }

    /// What it failed with, unless this or [`await_termination`](Self::await_termination) has told.
    pub fn take_failure(&self) -> Option<Error> {
        let failure = self.failure()?;
        let told = std::mem::replace(&mut self.shared.history().failure_told, true);
        (!told).then_some(failure)
    }

    /// Tells when there may be news: changes with each batch that is done and with the end.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Waits for the query to end.
    ///
    /// # Errors
    /// What it ended with.
    pub async fn await_termination(&self) -> Result<()> {
        let mut ended = self.shared.ended.subscribe();
        let ended = ended.wait_for(Option::is_some).await;
        let ended = ended.map_err(|_| Error::internal("the query's task is gone"))?;
        match ended.as_ref() {
            Some(Err((kind, message))) => {
                self.shared.history().failure_told = true;
                Err(Error::new(*kind, message.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Has the query end when the running batch is done, and waits for that.
    ///
    /// # Errors
    /// What it ended with.
    pub async fn stop(&self) -> Result<()> {
        self.shared.stop.send_replace(true);
        self.await_termination().await
    }

    /// Gives the running batch up, as a crash would: a restart runs it again. The checkpoint is free
    /// when [`await_termination`](Self::await_termination) returns.
    pub fn abort(&self) {
        let task = self.shared.task.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = task.as_ref() {
            task.abort();
        }
    }
}

impl fmt::Debug for StreamQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamQuery({}, running: {})", self.name(), self.is_running())
    }
}

impl Shared {
    /// Each change of it is whole after a panic.
    fn history(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, progress: Progress) {
        let mut history = self.history();
        history.totals.add(&progress);
        if history.last.len() == REMEMBERED {
            history.last.pop_front();
        }
        history.last.push_back(progress);
        drop(history);
        self.changes.send_modify(|changes| *changes += 1);
    }
}

const GIVEN_UP: &str = "the query was given up in the middle of a batch";
const PANICKED: &str = "the query panicked in the middle of a batch (standard error says where): a \
     defect of Partwise, or of a function that it calls. Started again, it runs the batch again";

/// Says that the query has ended, also where its task was given up.
struct EndGuard(Arc<Shared>);

impl EndGuard {
    fn end(self, ended: Ended) {
        self.0.ended.send_replace(Some(ended));
        self.0.changes.send_modify(|changes| *changes += 1);
    }
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.ended.send_if_modified(|ended| {
            let early = ended.is_none();
            if early {
                *ended = Some(Err(match std::thread::panicking() {
                    true => (ErrorKind::Internal, PANICKED.to_owned()),
                    false => (ErrorKind::Unavailable, GIVEN_UP.to_owned()),
                }));
            }
            early
        });
        self.0.changes.send_modify(|changes| *changes += 1);
    }
}

/// Runs the engine to its end; the checkpoint is free when this returns.
async fn drive(
    mut engine: Engine,
    trigger: Trigger,
    stop: watch::Receiver<bool>,
    shared: &Shared,
    hook: Option<ProgressHook>,
) -> Result<()> {
    let told = |progress: Progress| {
        if let Some(hook) = &hook {
            hook(&progress);
        }
        shared.add(progress);
    };
    run(&mut engine, trigger, stop, &told).await
}
