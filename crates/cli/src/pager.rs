//! A result handed to `$PAGER`, whole.

use std::process::{Child, Command, Stdio};

use crate::output::Pipe;
use crate::status::{Failure, Result};

/// The pager of a user who names none: long lines aren't wrapped, and what fits one screen is
/// just printed.
const DEFAULT: &str = "less -SFX";

/// What a shell says of a command that it can't find.
const NOT_FOUND: i32 = 127;

/// A pager that runs.
pub struct Pager {
    command: String,
    child: Child,
}

impl Pager {
    /// Starts the pager, and gives what is to be written to.
    ///
    /// # Errors
    /// No shell can be started.
    pub fn start() -> Result<(Self, Pipe)> {
        let named = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
        let command = named.unwrap_or_else(|| DEFAULT.to_owned());
        let started = Command::new("sh").arg("-c").arg(&command).stdin(Stdio::piped()).spawn();
        let mut child = started.map_err(|error| unusable(&command, &error.to_string()))?;
        let Some(input) = child.stdin.take() else {
            return Err(unusable(&command, "it takes no input"));
        };
        Ok((Self { command, child }, Pipe::new(std::io::BufWriter::new(input))))
    }

    /// Waits until its user has left it; its input must be closed.
    ///
    /// # Errors
    /// It isn't there.
    pub fn wait(mut self) -> Result<()> {
        match self.child.wait() {
            Ok(status) if status.code() == Some(NOT_FOUND) => {
                Err(unusable(&self.command, "not found"))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(unusable(&self.command, &error.to_string())),
        }
    }
}

fn unusable(command: &str, why: &str) -> Failure {
    Failure::failed(format!(
        "the pager `{command}`: {why}; name another in PAGER, or do without: \\pager off"
    ))
}
