//! A query that runs.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::definition::Trigger;
use crate::engine::{Engine, run};
use crate::progress::Progress;
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
    stop: watch::Sender<bool>,
    history: Mutex<VecDeque<Progress>>,
    ended: watch::Sender<Option<Ended>>,
    task: Mutex<Option<AbortHandle>>,
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
            stop: watch::Sender::new(false),
            history: Mutex::default(),
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

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        self.shared.ended.borrow().is_none()
    }

    /// What the last batches did, oldest first.
    pub fn history(&self) -> Vec<Progress> {
        let history = self.shared.history.lock().unwrap_or_else(PoisonError::into_inner);
        history.iter().cloned().collect()
    }

    /// What the last batch did; none before the first.
    pub fn progress(&self) -> Option<Progress> {
        let history = self.shared.history.lock().unwrap_or_else(PoisonError::into_inner);
        history.back().cloned()
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
            Some(Err((kind, message))) => Err(Error::new(*kind, message.clone())),
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

/// Says that the query has ended, also where its task was given up.
struct EndGuard(Arc<Shared>);

impl EndGuard {
    fn end(self, ended: Ended) {
        self.0.ended.send_replace(Some(ended));
    }
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.ended.send_if_modified(|ended| {
            let early = ended.is_none();
            if early {
                let said = "the query was given up in the middle of a batch".to_owned();
                *ended = Some(Err((ErrorKind::Unavailable, said)));
            }
            early
        });
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
        let mut history = shared.history.lock().unwrap_or_else(PoisonError::into_inner);
        if history.len() == REMEMBERED {
            history.pop_front();
        }
        history.push_back(progress);
    };
    run(&mut engine, trigger, stop, &told).await
}
