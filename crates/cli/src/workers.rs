//! The threads that statements run on.
//!
//! ```text
//! statement --spawn--> team --cancelled, all tasks end soon--> the same team
//!                       |
//!                       +----cancelled, still at work--------> left to itself; the next statement
//!                                                              gets a new team
//! ```
//!
//! Cancelling reaches a task where it waits. One that computes without ever waiting keeps its
//! thread until it is through, and with every thread of a team kept so, nothing else on it would
//! move: neither the next statement nor a timer. That is why the prompt itself runs elsewhere.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use crate::status::{Failure, Result};

/// How often to look whether tasks have ended.
const STEP: Duration = Duration::from_millis(2);

/// The same for a team that nobody waits for.
const REAP_STEP: Duration = Duration::from_millis(100);

/// Where statements run; cheap to clone.
#[derive(Clone)]
pub struct Workers {
    threads: Option<usize>,
    team: Arc<Mutex<Team>>,
}

/// A runtime that may be let go of anywhere, also where blocking is forbidden.
struct Team(Option<Runtime>);

impl Workers {
    /// So many threads; none: one per core.
    ///
    /// # Errors
    /// The system has no threads left.
    pub fn start(threads: Option<usize>) -> Result<Self> {
        Ok(Self { threads, team: Arc::new(Mutex::new(Team::start(threads)?)) })
    }

    /// Runs `work` on the threads.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        match self.handle() {
            Some(team) => team.spawn(work),
            None => tokio::spawn(work),
        }
    }

    /// Waits until every task has ended, at most so long: a cancelled write sweeps its staging in
    /// one. Gives whether they have.
    pub async fn settle(&self, patience: Duration) -> bool {
        let Some(team) = self.handle() else { return true };
        let limit = Instant::now() + patience;
        while is_busy(&team) && Instant::now() < limit {
            tokio::time::sleep(STEP).await;
        }
        !is_busy(&team)
    }

    /// Leaves the threads to what they are at, and takes new ones for what comes.
    ///
    /// # Errors
    /// The system has no threads left.
    pub fn leave(&self) -> Result<()> {
        let left = std::mem::replace(&mut *self.team(), Team::start(self.threads)?);
        let name = "left workers".to_owned();
        let reaped = std::thread::Builder::new().name(name).spawn(move || left.reap());
        reaped.map(drop).map_err(no_threads)
    }

    /// Ends the threads; work that was cancelled has so long to let go of its files, what takes
    /// longer is left to the next writer's sweep. Blocks.
    pub fn shut_down(&self, patience: Duration) {
        let Some(team) = self.team().0.take() else { return };
        let limit = Instant::now() + patience;
        while is_busy(team.handle()) && Instant::now() < limit {
            std::thread::sleep(STEP);
        }
        team.shutdown_timeout(limit.saturating_duration_since(Instant::now()));
    }

    fn handle(&self) -> Option<Handle> {
        self.team().0.as_ref().map(|team| team.handle().clone())
    }

    fn team(&self) -> MutexGuard<'_, Team> {
        self.team.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Team {
    fn start(threads: Option<usize>) -> Result<Self> {
        let mut builder = Builder::new_multi_thread();
        if let Some(threads) = threads {
            builder.worker_threads(threads);
        }
        Ok(Self(Some(builder.enable_all().build().map_err(no_threads)?)))
    }

    /// Waits, however long, until the tasks have ended: among them may be the sweep of a write.
    fn reap(self) {
        while self.0.as_ref().is_some_and(|team| is_busy(team.handle())) {
            std::thread::sleep(REAP_STEP);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        if let Some(team) = self.0.take() {
            team.shutdown_background();
        }
    }
}

fn is_busy(team: &Handle) -> bool {
    team.metrics().num_alive_tasks() > 0
}

fn no_threads(error: std::io::Error) -> Failure {
    Failure::failed(format!("no threads: {error}"))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[tokio::test]
    async fn a_task_that_never_waits_does_not_hold_up_the_next_statement() {
        let workers = Workers::start(Some(1)).unwrap();
        let (release, held) = channel::<()>();
        let (begin, begun) = channel::<()>();
        let stuck = workers.spawn(async move {
            drop(begin);
            held.recv().is_err()
        });
        assert!(begun.recv().is_err());
        stuck.abort();
        assert!(!workers.settle(Duration::from_millis(20)).await);
        workers.leave().unwrap();
        assert_eq!(workers.spawn(async { 7 }).await.unwrap(), 7);
        drop(release);
        assert!(stuck.await.is_ok_and(|released| released));
    }

    #[tokio::test]
    async fn tasks_that_end_in_time_are_waited_for() {
        let workers = Workers::start(Some(1)).unwrap();
        drop(workers.spawn(async { tokio::time::sleep(Duration::from_millis(5)).await }));
        assert!(workers.settle(Duration::from_secs(60)).await);
    }
}
