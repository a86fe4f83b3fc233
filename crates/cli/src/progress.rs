//! The line that shows how far a long statement has come.
//!
//! It is drawn by a thread of its own: the workers may be busy with the very statement. Figures
//! are those of the plan's own counters; a bar is drawn only where the end is known.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use console::{Term, truncate_str};
use partwise_sql::{Progress, bytes, counted, thousands};

/// A statement shorter than this shows no progress.
const PATIENCE: Duration = Duration::from_millis(500);

/// Between two looks at the figures.
const STEP: Duration = Duration::from_millis(100);

/// Columns of the bar.
const BAR_WIDTH: usize = 20;

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
                let _ = locked(&drawn).draw(&text(&progress, started.elapsed()));
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
    is_drawn: bool,
}

impl Default for Line {
    fn default() -> Self {
        Self { terminal: Term::stderr(), is_drawn: false }
    }
}

impl Line {
    fn draw(&mut self, text: &str) -> io::Result<()> {
        let room = usize::from(self.terminal.size().1).saturating_sub(MARGIN);
        self.clear()?;
        self.is_drawn = true;
        self.terminal.write_str(&truncate_str(text, room, ""))
    }

    fn clear(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.is_drawn) {
            true => self.terminal.clear_line(),
            false => Ok(()),
        }
    }
}

fn text(progress: &Progress, elapsed: Duration) -> String {
    let said = described(progress, elapsed);
    match progress.rows_total {
        Some(total) if progress.rows_read < total => {
            format!("{} {said}", bar(progress.rows_read, total))
        }
        // With everything read, what is left to do isn't known: a full bar would say it is done.
        _ => said,
    }
}

/// `[========>           ]  43%`: how much of what is known in advance has been read.
fn bar(read: u64, total: u64) -> String {
    let share = read.min(total) as f64 / total.max(1) as f64;
    let full = (share * BAR_WIDTH as f64) as usize;
    let head = if full < BAR_WIDTH { ">" } else { "" };
    let done = format!("{}{head}", "=".repeat(full));
    format!("[{done:<BAR_WIDTH$}] {:>3.0}%", (share * 100.0).floor())
}

/// `12 s, read: 1,234 of 9,876 rows, 2 of 3 files, 1 partition; written: 12 rows, 1 file, 1.1 MB`.
fn described(progress: &Progress, elapsed: Duration) -> String {
    let mut text = format!("{} s", elapsed.as_secs());
    if progress.files_selected > 0 || progress.rows_read > 0 {
        text.push_str(&format!(", read: {}", read(progress)));
    }
    if progress.files_written > 0 {
        let rows = counted(progress.rows_written, "row");
        let files = counted(progress.files_written, "file");
        text.push_str(&format!("; written: {rows}, {files}, {}", bytes(progress.bytes_written)));
    }
    text
}

fn read(progress: &Progress) -> String {
    let rows = match progress.rows_total {
        Some(total) => format!("{} of {}", thousands(progress.rows_read), counted(total, "row")),
        None => counted(progress.rows_read, "row"),
    };
    if progress.files_selected == 0 {
        return rows;
    }
    let files = counted(progress.files_selected, "file");
    let partitions = counted(progress.partitions, "partition");
    format!("{rows}, {} of {files}, {partitions}", thousands(progress.files_read))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_named_only_where_it_is_known() {
        let mut progress = Progress {
            rows_read: 1_234,
            files_read: 2,
            files_selected: 3,
            partitions: 1,
            ..Progress::default()
        };
        let second = Duration::from_millis(1_900);
        let expected = "1 s, read: 1,234 rows, 2 of 3 files, 1 partition";
        assert_eq!(described(&progress, second), expected);
        let foreign = Progress { rows_read: 5, ..Progress::default() };
        assert_eq!(described(&foreign, second), "1 s, read: 5 rows");
        progress.rows_total = Some(9_876);
        assert!(described(&progress, second).contains("read: 1,234 of 9,876 rows, 2 of 3 files"));
    }

    #[test]
    fn a_bar_is_full_only_at_the_end() {
        assert_eq!(bar(0, 10), "[>                   ]   0%");
        assert_eq!(bar(999, 1_000), "[===================>]  99%");
        assert_eq!(bar(10, 10), "[====================] 100%");
    }

    #[test]
    fn what_is_written_is_told_once_a_file_is_whole() {
        let progress = Progress {
            rows_written: 12,
            files_written: 1,
            bytes_written: 1_100_000,
            ..Progress::default()
        };
        let expected = format!("0 s; written: 12 rows, 1 file, {}", bytes(1_100_000));
        assert_eq!(described(&progress, Duration::ZERO), expected);
    }
}
