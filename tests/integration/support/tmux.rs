//! A real terminal with the prompt in it: a tmux server of the test's own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{Folder, quarter};

/// The longest that a test waits for something to be on the screen.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the prompt shows when it waits for input.
pub const PROMPT: &str = "partwise>";

/// A terminal of a size, with the prompt running in it.
pub struct Terminal {
    socket: PathBuf,
}

/// Whether there is a tmux; says what is skipped where there is none, and fails with CI=true.
fn has_tmux() -> bool {
    let found = Command::new("tmux").arg("-V").output().is_ok_and(|ran| ran.status.success());
    if !found {
        let ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!ci, "there is no tmux: run .ci/test");
        println!("skipped: there is no tmux for the prompt to be tested in; .ci/test installs it");
    }
    found
}

impl Terminal {
    /// The prompt in a folder, which is its home too; none where there is no tmux.
    pub fn open(folder: &Folder, columns: usize, rows: usize) -> Option<Self> {
        Self::open_with(folder, columns, rows, &[])
    }

    /// The same with variables of the environment, as `NAME=value`.
    pub fn open_with(
        folder: &Folder,
        columns: usize,
        rows: usize,
        variables: &[&str],
    ) -> Option<Self> {
        if !has_tmux() {
            return None;
        }
        static OPENED: AtomicUsize = AtomicUsize::new(0);
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        let socket = folder.path().join(format!("tmux-{number}"));
        let terminal = Self { socket };
        let home = format!("HOME={}", folder.path().display());
        let data = format!("data={}", quarter().display());
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let mut args = vec!["-f", "/dev/null", "start-server", ";"];
        args.extend(["set-option", "-g", "remain-on-exit", "on", ";"]);
        args.extend(["new-session", "-d", "-x", &columns, "-y", &rows, "-c"]);
        let path = folder.path().display().to_string();
        args.extend([path.as_str(), "env", "-u", "NO_COLOR", "-u", "PAGER", &home]);
        args.extend(variables);
        args.extend([env!("CARGO_BIN_EXE_partwise"), "--threads", "2", "--set", &data]);
        terminal.tmux(&args);
        terminal.wait_for(PROMPT);
        Some(terminal)
    }

    fn tmux(&self, args: &[&str]) -> String {
        let ran = self.run(args).expect("tmux runs");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "tmux {args:?}: {said}");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    fn run(&self, args: &[&str]) -> std::io::Result<Output> {
        Command::new("tmux").arg("-S").arg(&self.socket).args(args).env_remove("TMUX").output()
    }

    /// Types a text, character by character.
    pub fn type_in(&self, text: &str) {
        // An argument that ends in a semicolon ends tmux's command.
        let text = match text.strip_suffix(';') {
            Some(front) => format!("{front}\\;"),
            None => text.to_owned(),
        };
        self.tmux(&["send-keys", "-l", "--", &text]);
    }

    /// Presses a key by tmux's name for it: `Tab`, `Enter`, `C-c`.
    pub fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Throws away what has been typed: keys that come along with the Ctrl-C go too.
    #[track_caller]
    pub fn clear_input(&self) {
        self.press("C-c");
        self.wait_done("");
    }

    /// Types a line and ends it.
    pub fn enter(&self, text: &str) {
        self.type_in(text);
        self.press("Enter");
    }

    /// Pastes a text as a terminal does.
    pub fn paste(&self, text: &str) {
        self.tmux(&["set-buffer", "--", text]);
        self.tmux(&["paste-buffer", "-p"]);
    }

    /// Clears the screen, so that what is waited for is new.
    pub fn clear(&self) {
        self.press("C-l");
        self.wait_until("a clear screen", |screen| screen.lines().next() == Some(PROMPT));
    }

    pub fn resize(&self, columns: usize, rows: usize) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// What is on the screen, spaces at the ends of lines left out.
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// The same with the sequences that colour it.
    pub fn coloured_screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    /// Waits until the screen holds a text, and gives the screen.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until the last line is an empty prompt and the screen holds a text.
    #[track_caller]
    pub fn wait_done(&self, text: &str) -> String {
        self.wait_until(text, |screen| {
            screen.contains(text) && screen.trim_end().lines().last() == Some(PROMPT)
        })
    }

    #[track_caller]
    pub fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let limit = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return screen;
            }
            assert!(Instant::now() < limit, "waited in vain for {what:?}:\n{screen}");
            std::thread::yield_now();
        }
    }

    /// Waits until the program has ended.
    #[track_caller]
    pub fn wait_end(&self) {
        let limit = Instant::now() + PATIENCE;
        while self.tmux(&["display-message", "-p", "#{pane_dead}"]).trim() != "1" {
            assert!(Instant::now() < limit, "it did not end:\n{}", self.screen());
            std::thread::yield_now();
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.run(&["kill-server"]);
    }
}

/// Waits until a condition on the disk holds.
#[track_caller]
pub fn wait_on_disk(what: &str, path: &Path, holds: impl Fn(&Path) -> bool) {
    let limit = Instant::now() + PATIENCE;
    while !holds(path) {
        assert!(Instant::now() < limit, "waited in vain for {what}");
        std::thread::yield_now();
    }
}
