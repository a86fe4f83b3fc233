//! The prompt: inputs from a terminal, run one after another.
//!
//! ```text
//! ~/.partwiserc -> start_up -+
//!                            +-> input (pieces) -> session -+-> command  -> describe, display
//! keys -> editor -> entry ---+                              +-> runner
//!           |       (lines, until a statement has ended)
//!           |- highlight <- tokens, keywords
//!           +- complete  <- spot, mentions <- tokens; names, paths
//! ```

mod argument;
mod command;
mod complete;
mod describe;
mod editor;
mod entry;
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

use datafusion::common::format::ExplainFormat;
use tokio::runtime::Handle;

use crate::display::Display;
use crate::interrupt::Interrupts;
use crate::queries;
use crate::runner::{Runner, Unset};
use crate::status::{Result, Status};
use editor::{LineEditor, Typed};
use entry::{Entry, Next, is_memorable};
use names::SessionNames;
pub use session::run_script;
use session::{Then, run_piece};

/// How long the prompt waits after a Ctrl-C for the statement's files to be swept.
const SWEEP_PATIENCE: Duration = Duration::from_millis(600);

/// Reads and runs inputs until Ctrl-D or `\q`; what fails is printed, and the prompt goes on.
///
/// # Errors
/// A terminal that can't be read or written.
pub async fn run(runner: &mut Runner, interrupts: &Interrupts) -> Result<()> {
    runner.display = Some(Display::default());
    runner.unset = Unset::Left;
    interrupts.at_prompt();
    explain_as_tree(runner);
    if !runner.console.is_quiet() {
        runner.console.notice("partwise: `\\?` for help, `\\q` to leave")?;
        start_up::run(runner).await;
    }
    let names = SessionNames::new(runner.context().clone(), Handle::current());
    let mut editor = LineEditor::open(Box::new(names))?;
    let mut entry = Entry::default();
    loop {
        tell_failures(runner);
        interrupts.forget();
        let typed = tokio::task::block_in_place(|| editor.read(&entry.prompt(), entry.text()))?;
        interrupts.forget();
        let text = match typed {
            Typed::End => break,
            Typed::Cleared => {
                entry.clear();
                continue;
            }
            Typed::Text(line) => match entry.take(&line) {
                Next::More => continue,
                Next::Run(text) | Next::Command(text) => text,
            },
        };
        remember(runner, &mut editor, &text);
        if run_typed(runner, &text).await == Then::Leave {
            break;
        }
    }
    stop_queries(runner, interrupts).await
}

/// Queries that have failed in the background.
fn tell_failures(runner: &mut Runner) {
    for failure in runner.context().take_query_failures() {
        runner.console.complain(&format!("error: {failure}"));
    }
}

/// The queries of the session end with it.
async fn stop_queries(runner: &mut Runner, interrupts: &Interrupts) -> Result<()> {
    let context = runner.context().clone();
    let running = queries::running(&context);
    let names: Vec<&str> = running.iter().map(|query| query.name()).collect();
    if !names.is_empty() && !runner.console.is_quiet() {
        runner.console.notice(&format!("stopping {}", names.join(", ")))?;
    }
    let stopped = interrupts.or_cancelled(queries::stop(&context)).await?;
    for name in &stopped.given_up {
        runner.console.warning(&queries::abandoned(name));
    }
    for failure in &stopped.failures {
        runner.console.complain(&format!("error: {failure}"));
    }
    tell_failures(runner);
    Ok(())
}

fn remember(runner: &mut Runner, editor: &mut LineEditor, text: &str) {
    let warning = if is_memorable(text) { editor.remember(text) } else { None };
    if let Some(warning) = warning {
        runner.console.warning(&warning);
    }
}

/// People see plans as trees; an EXPLAIN that names a format, and SET, say otherwise.
fn explain_as_tree(runner: &Runner) {
    let state = runner.context().session().state_ref();
    state.write().config_mut().options_mut().explain.format = ExplainFormat::Tree;
}

/// Runs what has been typed up to the first failure, which is printed.
async fn run_typed(runner: &mut Runner, text: &str) -> Then {
    for (line, piece) in input::pieces(text) {
        match run_piece(runner, line, piece, None).await {
            Ok(Then::Leave) => return Then::Leave,
            Ok(Then::GoOn) => {}
            Err(failure) if failure.status == Status::Interrupted => {
                let said = after_cancel(runner).await;
                runner.console.complain(&format!("\n{said}"));
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

/// Waits a moment for what was cancelled to end; what doesn't keeps its threads, and the next
/// statement gets others. Gives what is to be said.
async fn after_cancel(runner: &Runner) -> String {
    if runner.workers().settle(SWEEP_PATIENCE).await {
        return "cancelled".to_owned();
    }
    match runner.workers().leave() {
        Ok(()) => "cancelled; the rest of its work ends in the background".to_owned(),
        Err(failure) => format!("cancelled, but its work goes on: {failure}"),
    }
}
