//! `~/.partwiserc`: what runs at the start of a session.

use std::io::ErrorKind;

use super::input::pieces;
use super::session::{Then, run_piece};
use crate::runner::Runner;

/// The file, in the home folder.
const FILE: &str = ".partwiserc";

/// Runs the statements and commands of the file, if there is one. What fails is said with its
/// line, and the rest runs all the same.
pub async fn run(runner: &mut Runner) {
    let Some(file) = std::env::home_dir().map(|home| home.join(FILE)) else { return };
    let name = file.display().to_string();
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return,
        Err(error) => return runner.console.complain(&format!("error: {name}: {error}")),
    };
    for (line, piece) in pieces(&text) {
        match run_piece(runner, line, piece, Some(&name)).await {
            Ok(Then::Leave) => return,
            Ok(Then::GoOn) => {}
            Err(failure) => runner.console.complain(&format!("error: {failure}")),
        }
    }
}
