//! A process that a test stops, lets go on and kills; it ends with the value.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{Folder, Ran};

/// The longest that a process of a test runs.
pub const LONGEST: Duration = Duration::from_secs(120);

/// A process in a group of its own.
pub struct Process {
    child: Child,
    ended: bool,
}

impl Process {
    pub fn start(mut command: Command) -> Self {
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { child: command.spawn().expect("the process starts"), ended: false }
    }

    /// The binary with one text of SQL; it tells of its commits as JSON.
    pub fn sql(folder: &Folder, sql: &str) -> Self {
        let mut command = folder.partwise();
        command.args(["--format", "json", "-c", sql]).stdin(Stdio::null());
        Self::start(command)
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to a process that runs.
    pub fn send(&mut self, signal: Signal) {
        self.signal(signal);
    }

    pub fn is_running(&mut self) -> bool {
        self.ended = self.ended || self.child.try_wait().expect("a status").is_some();
        !self.ended
    }

    /// Stops it; returns when none of its threads runs any more, or it has ended.
    pub fn stop(&mut self) {
        self.signal(Signal::STOP);
        within(LONGEST, "the process stops", || !self.is_running() || self.is_stopped());
    }

    pub fn go_on(&mut self) {
        self.signal(Signal::CONT);
    }

    /// As `kill -9` does, also when it is stopped.
    pub fn kill(mut self) {
        self.end_now();
    }

    /// Waits for its end and gives what it printed, which must not be much.
    #[track_caller]
    pub fn end(mut self) -> Ran {
        within(LONGEST, "the process ends", || !self.is_running());
        let status = self.child.wait().expect("a status").code();
        Ran { status, out: text(self.child.stdout.take()), err: text(self.child.stderr.take()) }
    }

    /// What it reads from, to be closed by dropping it, and what it prints.
    pub fn pipes(&mut self) -> (std::process::ChildStdin, std::process::ChildStdout) {
        let pipes = self.child.stdin.take().zip(self.child.stdout.take());
        pipes.expect("a process that was started with pipes")
    }

    fn signal(&mut self, signal: Signal) {
        if self.is_running() {
            kill_process_group(Pid::from_child(&self.child), signal).expect("a signal of ours");
        }
    }

    fn is_stopped(&self) -> bool {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let stopped = |task: std::fs::DirEntry| {
            let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
        };
        tasks.is_ok_and(|mut tasks| tasks.all(|task| task.is_ok_and(stopped)))
    }

    fn end_now(&mut self) {
        self.signal(Signal::KILL);
        self.ended = self.child.wait().is_ok();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended {
            self.end_now();
        }
    }
}

fn text(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes).expect("what it printed");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits until something holds; fails the test if it doesn't in time.
#[track_caller]
pub fn within(limit: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < limit, "not within {} s: {what}", limit.as_secs());
        thread::sleep(Duration::from_micros(200));
    }
}
