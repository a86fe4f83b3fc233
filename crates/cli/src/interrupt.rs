//! Ctrl-C: cancels the statement that runs. Pressed again before that has ended, it ends the run
//! of a script; at the prompt it says first that the next press will.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::status::{Failure, Result, Status};
use crate::workers::Workers;

/// How long aborted work has to let go. Beyond that it is at something that it can't be taken
/// from.
const ABORT_PATIENCE: Duration = Duration::from_millis(200);

/// What is told has to be read before a press can be meant as the answer.
const READING_TIME: Duration = Duration::from_millis(500);

/// What the second press says at the prompt.
const HOW_TO_LEAVE: &str = "cancelling; press Ctrl-C again to leave partwise";

/// Hears every Ctrl-C of a run; cheap to clone.
#[derive(Clone)]
pub struct Interrupts {
    pressed: Arc<Pressed>,
}

#[derive(Default)]
struct Pressed {
    unanswered: AtomicBool,
    /// Presses since the statement began, or since the prompt waited for one.
    count: AtomicU32,
    /// Whether somebody sits at the prompt.
    at_prompt: AtomicBool,
    /// Whether what came was no Ctrl-C but a SIGTERM.
    terminated: AtomicBool,
    /// Whether a pager has the terminal: the keys are its own.
    in_pager: AtomicBool,
    /// Since when the user of the prompt knows how to leave.
    told: Mutex<Option<Instant>>,
    wake: Notify,
}

/// What a press does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Cancel,
    Tell,
    Nothing,
    Leave,
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

    /// From here on somebody sits at the prompt, whose session no hasty press must end.
    pub fn at_prompt(&self) {
        self.pressed.at_prompt.store(true, Ordering::SeqCst);
    }

    /// Whether somebody sits at the prompt.
    pub fn is_at_prompt(&self) -> bool {
        self.pressed.at_prompt.load(Ordering::SeqCst)
    }

    /// A SIGTERM came: cancels as the first Ctrl-C does.
    pub fn terminate(&self) {
        self.pressed.terminated.store(true, Ordering::SeqCst);
        self.pressed.cancel();
    }

    /// Whether one came.
    pub fn is_terminated(&self) -> bool {
        self.pressed.terminated.load(Ordering::SeqCst)
    }

    /// Says whether a pager has the terminal: there, Ctrl-C stops what it is given, and no more.
    pub fn in_pager(&self, is_there: bool) {
        self.pressed.in_pager.store(is_there, Ordering::SeqCst);
    }

    /// Forgets a Ctrl-C that came when nothing ran.
    pub fn forget(&self) {
        self.pressed.unanswered.store(false, Ordering::SeqCst);
        self.pressed.count.store(0, Ordering::SeqCst);
        self.pressed.tell(None);
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

    /// Runs `work` on the worker threads until it is done, or until a Ctrl-C aborts it. Work that
    /// was done before the abort reached it is done.
    ///
    /// Work that computes when it is aborted is not waited for: it ends where it next waits, in
    /// the background. Nothing of a write can be committed from there, as between computing and
    /// its commit point a write waits more than once: for the tasks that compute and for the disk.
    ///
    /// # Errors
    /// [`Status::Interrupted`], and a failure when the work panicked.
    pub async fn or_aborted<T: Send + 'static>(
        &self,
        workers: &Workers,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        let mut task = workers.spawn(work);
        match self.or_cancelled(&mut task).await {
            Ok(ended) => ended.map_err(|_| stopped_by_bug()),
            Err(interrupted) => abort(task).await.ok_or(interrupted),
        }
    }
}

impl Pressed {
    fn press(&self) {
        match self.effect() {
            Effect::Cancel => self.cancel(),
            Effect::Tell => eprintln!("\n{HOW_TO_LEAVE}"),
            Effect::Nothing => {}
            Effect::Leave => std::process::exit(Status::Interrupted as i32),
        }
    }

    fn cancel(&self) {
        self.unanswered.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    fn effect(&self) -> Effect {
        let earlier = self.count.fetch_add(1, Ordering::SeqCst);
        let at_prompt = self.at_prompt.load(Ordering::SeqCst);
        match (earlier, at_prompt) {
            (0, _) => Effect::Cancel,
            (_, false) => Effect::Leave,
            (_, true) if self.in_pager.load(Ordering::SeqCst) => Effect::Nothing,
            (_, true) => self.effect_of_another(),
        }
    }

    fn effect_of_another(&self) -> Effect {
        let told = *self.told.lock().unwrap_or_else(PoisonError::into_inner);
        match told {
            None => {
                self.tell(Some(Instant::now()));
                Effect::Tell
            }
            Some(told) if told.elapsed() < READING_TIME => Effect::Nothing,
            Some(_) => Effect::Leave,
        }
    }

    fn tell(&self, since: Option<Instant>) {
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }
}

fn unheard(error: std::io::Error) -> Failure {
    Failure::failed(format!("Ctrl-C can't be listened for: {error}"))
}

async fn abort<T>(task: JoinHandle<T>) -> Option<T> {
    task.abort();
    tokio::time::timeout(ABORT_PATIENCE, task).await.ok()?.ok()
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
        let (interrupts, workers) = (Interrupts::deaf(), Workers::start(Some(1)).unwrap());
        let held = Arc::new(());
        let in_work = held.clone();
        interrupts.press();
        let work = async move {
            let _held = in_work;
            std::future::pending::<()>().await;
        };
        assert!(interrupts.or_aborted(&workers, work).await.is_err());
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[tokio::test]
    async fn work_that_never_waits_is_not_waited_for() {
        let (interrupts, workers) = (Interrupts::deaf(), Workers::start(Some(1)).unwrap());
        let (release, held) = std::sync::mpsc::channel::<()>();
        let pressed_in_work = interrupts.clone();
        let work = async move {
            pressed_in_work.press();
            held.recv().is_err()
        };
        let cancelled = interrupts.or_aborted(&workers, work).await;
        assert_eq!(cancelled.unwrap_err().status, Status::Interrupted);
        drop(release);
        assert!(workers.settle(Duration::from_secs(60)).await);
    }

    #[test]
    fn a_second_press_ends_a_script_but_not_the_prompt() {
        let script = Pressed::default();
        assert_eq!([script.effect(), script.effect()], [Effect::Cancel, Effect::Leave]);
        let interrupts = Interrupts::deaf();
        interrupts.at_prompt();
        let prompt = &interrupts.pressed;
        let effects = [prompt.effect(), prompt.effect(), prompt.effect()];
        assert_eq!(effects, [Effect::Cancel, Effect::Tell, Effect::Nothing]);
        prompt.tell(Instant::now().checked_sub(READING_TIME));
        assert_eq!(prompt.effect(), Effect::Leave);
        interrupts.in_pager(true);
        assert_eq!(prompt.effect(), Effect::Nothing);
        interrupts.in_pager(false);
        interrupts.forget();
        assert_eq!(prompt.effect(), Effect::Cancel);
    }
}
