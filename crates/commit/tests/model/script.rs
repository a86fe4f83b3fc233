//! A process's calls, one step at a time: what was answered is kept, and a step runs the product's
//! code from its beginning with those answers until it asks for more than the step grants.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::task::noop_waker_ref;

use super::world::World;

/// What a call was answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Answer {
    Done,
    /// The number of the system's error.
    Failed(i32),
    /// Whether it is a directory, size, which file.
    Found(bool, u64, u64),
    Names(Vec<(String, bool)>),
    Taken(bool),
    Object(Arc<[u8]>, u64),
    Objects(Vec<(String, u64, u64)>),
}

/// How much of a process one step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grain {
    /// All of it: for what is there before the exploration begins, and for checks.
    Whole,
    /// All looks up to the next change, and that change: where nobody else changes anything.
    Fused,
    /// All looks up to the next change, or one change.
    Change,
    /// The looks of one method of the backend, or one change.
    Method,
    /// One call.
    Call,
}

/// What a call does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Look,
    /// A change that nobody else can see the difference of: part of the looks around it.
    Quiet,
    Change,
}

#[derive(Debug)]
struct Run {
    world: World,
    history: Vec<Answer>,
    /// How much of the history was asked for again.
    at: usize,
    /// How many calls of this step are new.
    fresh: usize,
    closed: bool,
    stopped: bool,
    grain: Grain,
}

/// A run of one process: what its disk, its store and its backend share.
#[derive(Clone, Debug)]
pub(super) struct Script {
    run: Arc<Mutex<Run>>,
    /// Which process this is: the owner of its locks.
    pub(super) process: usize,
}

impl Script {
    pub(super) fn new(world: World, history: Vec<Answer>, process: usize, grain: Grain) -> Self {
        let run = Run { world, history, at: 0, fresh: 0, closed: false, stopped: false, grain };
        Self { run: Arc::new(Mutex::new(run)), process }
    }

    fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One call; none if the step is over before it.
    pub(super) fn call(
        &self,
        kind: Kind,
        act: impl FnOnce(&mut World) -> Answer,
    ) -> Option<Answer> {
        let mut run = self.run();
        if run.stopped {
            return None;
        }
        if let Some(answer) = run.history.get(run.at).cloned() {
            run.at += 1;
            return Some(answer);
        }
        let single = run.grain == Grain::Call && kind == Kind::Look || kind == Kind::Change;
        let alone = single && !matches!(run.grain, Grain::Whole | Grain::Fused);
        if run.closed || (alone && run.fresh > 0) {
            run.stopped = true;
            return None;
        }
        run.closed = single && run.grain != Grain::Whole;
        run.fresh += 1;
        run.at += 1;
        let answer = act(&mut run.world);
        run.history.push(answer.clone());
        Some(answer)
    }

    /// Between two methods of the backend: readers let others go first here.
    pub(super) async fn boundary(&self) {
        {
            let mut run = self.run();
            let asked = run.at == run.history.len() && run.fresh > 0;
            run.stopped |= run.grain == Grain::Method && asked;
        }
        self.stop().await;
    }

    /// Goes no further once the step is over.
    pub(super) async fn stop(&self) {
        if self.is_stopped() {
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.run().stopped
    }

    /// Runs `work` until it is done, or the step over: then none.
    pub(super) fn drive<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        crate::cache::FORGETS.set(true);
        let mut work = std::pin::pin!(work);
        let mut context = std::task::Context::from_waker(noop_waker_ref());
        loop {
            let polled = work.as_mut().poll(&mut context);
            match polled {
                _ if self.is_stopped() => return None,
                std::task::Poll::Ready(done) => return Some(done),
                // It only let others go first.
                std::task::Poll::Pending => {}
            }
        }
    }

    /// The world and the answers after the step.
    pub(super) fn end(self) -> (World, Vec<Answer>) {
        let run = self.run();
        (run.world.clone(), run.history.clone())
    }
}
