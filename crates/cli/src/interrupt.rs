//! Ctrl-C: cancels the statement that runs, once; pressed again before that has ended, it ends the process.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::status::{Failure, Result, Status};

/// Hears every Ctrl-C of a run; cheap to clone.
#[derive(Clone)]
pub struct Interrupts {
    pressed: Arc<Pressed>,
}

#[derive(Default)]
struct Pressed {
    unanswered: AtomicBool,
    wake: Notify,
}

impl Interrupts {
    /// Starts to listen, on a thread of its own: worker threads may all be busy with the very
    /// statement that is to be cancelled. Ctrl-C is heard when this returns; the line editor, which
    /// takes over its handler while it reads, must find this one to put back.
    ///
    /// # Errors
    /// The system has no thread left, or won't say when Ctrl-C is pressed.
    pub fn listen() -> Result<Self> {
        let pressed = Arc::new(Pressed::default());
        let listener = pressed.clone();
        let runtime = Builder::new_current_thread().enable_all().build().map_err(unheard)?;
        let (ready, heard) = std::sync::mpsc::channel();
        let listen = async move {
            let mut signal = std::pin::pin!(tokio::signal::ctrl_c());
            // The first look sets the handler.
            let first = futures::poll!(signal.as_mut());
            let _ = ready.send(());
            let mut came = match first {
                Poll::Ready(came) => came,
                Poll::Pending => signal.await,
            };
            while came.is_ok() {
                listener.press();
                came = tokio::signal::ctrl_c().await;
            }
        };
        let thread = std::thread::Builder::new().name("interrupts".to_owned());
        thread.spawn(move || runtime.block_on(listen)).map_err(unheard)?;
        let _ = heard.recv();
        Ok(Self { pressed })
    }

    /// Forgets a Ctrl-C that came when nothing ran.
    pub fn forget(&self) {
        self.pressed.unanswered.store(false, Ordering::SeqCst);
    }

    /// Waits for a Ctrl-C and answers it.
    pub async fn pressed(&self) {
        while !self.pressed.unanswered.swap(false, Ordering::SeqCst) {
            self.pressed.wake.notified().await;
        }
    }

    /// Runs `work` until it is done, or until a Ctrl-C drops it.
    ///
    /// # Errors
    /// [`Status::Interrupted`].
    pub async fn or_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        tokio::select! {
            done = work => Ok(done),
            () = self.pressed() => Err(Failure::interrupted()),
        }
    }

    /// Runs `work` on the worker threads until it is done, or until a Ctrl-C aborts it; returns
    /// when it has let go of everything. Work that was done before the abort reached it is done.
    ///
    /// # Errors
    /// [`Status::Interrupted`], and a failure when the work panicked.
    pub async fn or_aborted<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let mut task = tokio::spawn(work);
        match self.or_cancelled(&mut task).await {
            Ok(ended) => ended.map_err(|_| stopped_by_bug()),
            Err(interrupted) => abort(task).await.ok_or(interrupted),
        }
    }
}

impl Pressed {
    fn press(&self) {
        if self.unanswered.swap(true, Ordering::SeqCst) {
            std::process::exit(Status::Interrupted as i32);
        }
        self.wake.notify_one();
    }
}

fn unheard(error: std::io::Error) -> Failure {
    Failure::failed(format!("Ctrl-C can't be listened for: {error}"))
}

async fn abort<T>(task: JoinHandle<T>) -> Option<T> {
    task.abort();
    task.await.ok()
}

/// Work that panicked; what it said has been printed.
pub fn stopped_by_bug() -> Failure {
    Failure::failed(
        "the statement was stopped by a bug in partwise, described above; please report it",
    )
}

#[cfg(test)]
impl Interrupts {
    /// Hears nothing but [`Self::press`].
    pub fn deaf() -> Self {
        Self { pressed: Arc::default() }
    }

    /// As if Ctrl-C had been pressed.
    pub fn press(&self) {
        self.pressed.press();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_press_between_two_statements_cancels_the_next() {
        let interrupts = Interrupts::deaf();
        interrupts.press();
        let cancelled = interrupts.or_cancelled(std::future::pending::<()>()).await;
        assert_eq!(cancelled.unwrap_err().status, Status::Interrupted);
        assert_eq!(interrupts.or_cancelled(async { 7 }).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn aborted_work_has_let_go_when_the_call_returns() {
        let interrupts = Interrupts::deaf();
        let held = Arc::new(());
        let in_work = held.clone();
        interrupts.press();
        let work = async move {
            let _held = in_work;
            std::future::pending::<()>().await;
        };
        assert!(interrupts.or_aborted(work).await.is_err());
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
