//! The line that shows how far a long statement has come.
//!
//! It is drawn by a thread of its own: the workers may be busy with the very statement. Figures
//! are those of the plan's own counters; a bar is drawn only where the end is known.

mod text;

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use console::{Term, measure_text_width};
use partwise_sql::Progress;

use text::{fitting, texts};

/// A statement shorter than this shows no progress.
const PATIENCE: Duration = Duration::from_millis(500);

/// Between two looks at the figures.
const STEP: Duration = Duration::from_millis(100);

/// Columns left free for the `^C` that a terminal shows when it is pressed: it must not make a
/// second line, which would hide the first from being cleared.
const MARGIN: usize = 3;

/// Draws the progress of a statement on standard error until it is dropped; then it is gone.
pub struct ProgressLine {
    line: Arc<Mutex<Line>>,
    drawer: Option<(Sender<()>, JoinHandle<()>)>,
}

impl ProgressLine {
    /// A line that is never drawn.
    pub fn silent() -> Self {
        Self { line: Arc::default(), drawer: None }
    }

    /// Starts to draw what `read` gives, once the statement has run for a moment.
    pub fn watch(read: impl Fn() -> Option<Progress> + Send + 'static) -> Self {
        let line = Arc::<Mutex<Line>>::default();
        let (stop, stopped) = channel();
        let (drawn, started) = (Arc::clone(&line), Instant::now());
        let draw = move || {
            let mut wait = PATIENCE;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = STEP;
                let progress = read().unwrap_or_default();
                // A terminal that is gone is nobody's loss.
                let _ = locked(&drawn).draw(&texts(&progress, started.elapsed()));
            }
        };
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(draw);
        Self { line, drawer: thread.ok().map(|thread| (stop, thread)) }
    }

    /// Runs `print` while the line is off the screen.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        let mut line = locked(&self.line);
        let _ = line.clear();
        print()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.drawer.take() {
            drop(stop);
            let _ = thread.join();
        }
        let _ = locked(&self.line).clear();
    }
}

fn locked(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The line on the terminal.
struct Line {
    terminal: Term,
    /// Its width where it is on the screen.
    drawn: Option<usize>,
}

impl Default for Line {
    fn default() -> Self {
        Self { terminal: Term::stderr(), drawn: None }
    }
}

impl Line {
    fn draw(&mut self, texts: &[String]) -> io::Result<()> {
        let room = self.columns().saturating_sub(MARGIN);
        let text = fitting(texts, room);
        self.clear()?;
        self.drawn = Some(measure_text_width(text));
        self.terminal.write_str(text)
    }

    fn clear(&mut self) -> io::Result<()> {
        let Some(width) = self.drawn.take() else { return Ok(()) };
        self.terminal.clear_line()?;
        match lines_above(width, self.columns()) {
            0 => Ok(()),
            above => {
                self.terminal.move_cursor_up(above)?;
                self.terminal.clear_to_end_of_screen()
            }
        }
    }

    fn columns(&self) -> usize {
        usize::from(self.terminal.size().1)
    }
}

/// The lines that a text of this width has beside its last one on a terminal that has been made
/// narrower since.
fn lines_above(width: usize, columns: usize) -> usize {
    width.saturating_sub(1) / columns.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_broken_by_a_narrower_terminal_is_cleared_whole() {
        assert_eq!([lines_above(50, 60), lines_above(60, 60), lines_above(61, 60)], [0, 0, 1]);
        assert_eq!(lines_above(107, 40), 2);
    }
}
