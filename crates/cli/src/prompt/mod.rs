//! The prompt: inputs from a terminal, run one after another.
//!
//! ```text
//! ~/.partwiserc -> start_up -+
//!                            +-> input (pieces) -> session -+-> command  -> describe, display
//! keys -> editor ------------+                              +-> runner
//!           |- input: where a statement ends
//!           |- highlight <- tokens, keywords
//!           +- complete  <- spot, mentions <- tokens; names, paths
//! ```

mod command;
mod complete;
mod describe;
mod editor;
mod highlight;
mod input;
mod keywords;
mod mentions;
mod names;
mod paths;
mod session;
mod spot;
mod start_up;
mod tokens;

use std::time::Duration;

use tokio::runtime::Handle;

use crate::display::Display;
use crate::interrupt::Interrupts;
use crate::runner::Runner;
use crate::settle::settle;
use crate::status::{Result, Status};
use editor::{LineEditor, Typed};
use names::SessionNames;
use session::{Then, run_piece};

const PROMPT: &str = "partwise> ";

/// How long the prompt waits after a Ctrl-C for the statement's files to be swept.
const SWEEP_PATIENCE: Duration = Duration::from_millis(800);

/// Reads and runs inputs until Ctrl-D or `\q`; what fails is printed, and the prompt goes on.
///
/// # Errors
/// A terminal that can't be read or written.
pub async fn run(runner: &mut Runner, interrupts: &Interrupts) -> Result<()> {
    runner.display = Some(Display::default());
    if !runner.console.is_quiet() {
        runner.console.notice("partwise: `\\?` for help, `\\q` to leave")?;
        start_up::run(runner).await;
    }
    let names = SessionNames::new(runner.context().clone(), Handle::current());
    let mut editor = LineEditor::open(Box::new(names))?;
    loop {
        interrupts.forget();
        let typed = tokio::task::block_in_place(|| editor.read(PROMPT))?;
        interrupts.forget();
        match typed {
            Typed::End => return Ok(()),
            Typed::Cleared => {}
            Typed::Text(text) if text.trim().is_empty() => {}
            Typed::Text(text) => {
                if let Some(warning) = editor.remember(&text) {
                    runner.console.warning(&warning);
                }
                if run_typed(runner, &text).await == Then::Leave {
                    return Ok(());
                }
            }
        }
    }
}

/// Runs what has been typed up to the first failure, which is printed.
async fn run_typed(runner: &mut Runner, text: &str) -> Then {
    for (line, piece) in input::pieces(text) {
        match run_piece(runner, line, piece, None).await {
            Ok(Then::Leave) => return Then::Leave,
            Ok(Then::GoOn) => {}
            Err(failure) if failure.status == Status::Interrupted => {
                settle(SWEEP_PATIENCE).await;
                runner.console.complain(&format!("\n{failure}"));
                break;
            }
            Err(failure) => {
                runner.console.complain(&format!("error: {failure}"));
                break;
            }
        }
    }
    Then::GoOn
}
