//! A gate that calls wait at until a test opens it.

use std::future;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Closed at first; opens at last when it is dropped, so that nothing waits for a test that failed.
#[derive(Debug, Default)]
pub struct Gate(Arc<Bars>);

impl Gate {
    /// Waits until a call waits at it.
    pub async fn reached(&self) {
        future::poll_fn(|context| self.0.poll(context, |state| state.reached)).await;
    }

    /// Lets all through, those that wait and those that come.
    pub fn open(&self) {
        self.0.change(|state| state.open = true);
    }

    pub(crate) fn bars(&self) -> Arc<Bars> {
        Arc::clone(&self.0)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

/// What calls see of a gate.
#[derive(Debug, Default)]
pub(crate) struct Bars {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    reached: bool,
    open: bool,
    wakers: Vec<Waker>,
}

impl Bars {
    /// Waits in front of it, on a thread that may block.
    pub(crate) fn wait(&self) {
        self.change(|state| state.reached = true);
        let closed = |state: &mut State| !state.open;
        drop(self.changed.wait_while(self.state(), closed).unwrap_or_else(PoisonError::into_inner));
    }

    /// The same in a task.
    pub(crate) async fn passed(&self) {
        self.change(|state| state.reached = true);
        future::poll_fn(|context| self.poll(context, |state| state.open)).await;
    }

    fn poll(&self, context: &Context<'_>, holds: impl Fn(&State) -> bool) -> Poll<()> {
        let mut state = self.state();
        if holds(&state) {
            return Poll::Ready(());
        }
        state.wakers.push(context.waker().clone());
        Poll::Pending
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let wakers = {
            let mut state = self.state();
            change(&mut state);
            std::mem::take(&mut state.wakers)
        };
        self.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
