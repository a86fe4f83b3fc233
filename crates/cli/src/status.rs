//! How a run ends: the exit status and the one line that explains it.

use std::fmt;
use std::process::ExitCode;

use partwise_sql::ErrorKind;

/// The exit status of the binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Everything asked for was done.
    Done = 0,
    /// A statement failed, or a figure of the demo differs.
    Failed = 1,
    /// The command line itself is wrong.
    Usage = 2,
    /// Stopped by the guard or by a declared scope; the table is as it was.
    Refused = 3,
    /// Another writer was faster; trying again is safe.
    Conflict = 4,
    /// Cancelled with Ctrl-C (128 + SIGINT, as shells count it).
    Interrupted = 130,
    /// Ended by SIGTERM while queries ran (128 + SIGTERM).
    Terminated = 143,
}

impl Status {
    /// Whether somebody has ended the run from outside.
    pub fn is_cancelled(self) -> bool {
        matches!(self, Self::Interrupted | Self::Terminated)
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        ExitCode::from(status as u8)
    }
}

impl From<ErrorKind> for Status {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Refused => Status::Refused,
            ErrorKind::Conflict | ErrorKind::Busy => Status::Conflict,
            _ => Status::Failed,
        }
    }
}

/// Why a run stopped: what to print after `error: `, and the status to exit with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// How the process exits.
    pub status: Status,
    /// What happened and the way on, without the place it happened at.
    pub message: String,
    /// Where: `file:line`, where there is one.
    pub place: Option<String>,
}

/// A result that ends the run where it fails.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure with a status and a message.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), place: None }
    }

    /// Bad usage: exit status 2.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Status::Usage, message)
    }

    /// A step that failed: exit status 1.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Status::Failed, message)
    }

    /// Cancelled with Ctrl-C: exit status 130.
    pub fn interrupted() -> Self {
        Self::new(Status::Interrupted, "cancelled")
    }

    /// The same, or [`Status::Terminated`] where the cancel was a SIGTERM.
    pub fn or_terminated(self, is_terminated: bool) -> Self {
        match self.status == Status::Interrupted && is_terminated {
            true => Self { place: self.place, ..Self::new(Status::Terminated, "terminated") },
            false => self,
        }
    }

    /// Names the place, unless a more exact one is known already.
    pub fn at(mut self, place: Option<String>) -> Self {
        self.place = self.place.or(place);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Failure {}

impl From<partwise_sql::Error> for Failure {
    fn from(error: partwise_sql::Error) -> Self {
        Self::new(error.kind().into(), error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_caller_can_do_decides_the_status() {
        assert_eq!(Status::from(ErrorKind::Refused), Status::Refused);
        assert_eq!(Status::from(ErrorKind::Conflict), Status::Conflict);
        assert_eq!(Status::from(ErrorKind::Busy), Status::Conflict);
        assert_eq!(Status::from(ErrorKind::Corrupt), Status::Failed);
    }

    #[test]
    fn the_innermost_place_is_named() {
        let failure = Failure::failed("no such table").at(Some("a.sql:3".into()));
        assert_eq!(failure.at(Some("b.sql:9".into())).to_string(), "a.sql:3: no such table");
    }
}
