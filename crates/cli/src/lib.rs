//! The partwise command line: prompt, scripts, formats, demo.
//!
//! ```text
//! args -> CommandLine -+- -c, -f, stdin --> script --+
//!                      +- a terminal -----> prompt --+--> runner -> output -> stdout
//!                      +- demo -----------> demo  ---+       |
//!                      +- taxi -----------> taxi             +----> status -> exit code
//! ```
#![deny(missing_docs)]

mod args;
mod cooperate;
mod demo;
mod directive;
mod display;
mod engine;
mod figures;
mod interrupt;
mod number;
mod output;
mod pager;
mod plan_lines;
mod progress;
mod prompt;
mod pump;
mod queries;
mod runner;
mod script;
mod status;
mod taxi;
mod workers;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use args::{CommandLine, Input, Task};
use engine::Engine;
use interrupt::Interrupts;
use output::Console;
use queries::QueryThreads;
use runner::Runner;
use script::Script;
use status::{Failure, Result, Status};
use workers::Workers;

/// How long the end of a run waits for work that was cancelled to let go of its files.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(5);

/// The same after a Ctrl-C.
const INTERRUPTED_PATIENCE: Duration = Duration::from_millis(800);

/// Runs a command line, the program's name first, and says how to exit.
///
/// Results go to standard output, everything else to standard error. See `partwise --help` for
/// the exit statuses.
pub fn run(line: impl IntoIterator<Item = OsString>) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| eprintln!("internal error: {panic}")));
    let line = match CommandLine::read(line) {
        Ok(line) => line,
        Err(error) => return usage(&error),
    };
    if std::time::SystemTime::now() < std::time::UNIX_EPOCH {
        eprintln!("error: this machine's clock is before 1970: set it");
        return Status::Failed.into();
    }
    match run_to_end(line) {
        Ok(()) => Status::Done.into(),
        Err(failure) => {
            let prefix = if failure.status.is_cancelled() { "" } else { "error: " };
            eprintln!("{prefix}{failure}");
            failure.status.into()
        }
    }
}

/// Help and version are no errors; clap prints each to where it belongs.
fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    match error.use_stderr() {
        true => Status::Usage.into(),
        false => Status::Done.into(),
    }
}

fn run_to_end(line: CommandLine) -> Result<()> {
    let workers = Workers::start(line.engine().threads)?;
    // Only to wait on: statements run on the workers.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::failed(format!("no threads: {error}")))?;
    let done = runtime.block_on(dispatch(line, &workers));
    runtime.shutdown_background();
    workers.shut_down(patience_after(&done));
    done
}

/// Who has pressed Ctrl-C waits for the end.
fn patience_after(done: &Result<()>) -> Duration {
    match done {
        Err(failure) if failure.status.is_cancelled() => INTERRUPTED_PATIENCE,
        _ => SHUTDOWN_PATIENCE,
    }
}

async fn dispatch(line: CommandLine, workers: &Workers) -> Result<()> {
    let engine = Engine::new(line.engine());
    let CommandLine { arguments, inputs } = line;
    let mut console = Console::new(arguments.format, arguments.quiet);
    match &arguments.subcommand {
        Some(Task::Taxi(taxi)) => return taxi::run(taxi, engine.threads(), &mut console),
        Some(Task::Demo(demo)) => return demo::run(demo, engine, workers.clone(), console).await,
        None => {}
    }
    let interrupts = Interrupts::listen()?;
    let variables = arguments.variables.into_iter().collect();
    let context = engine.open().await?;
    let threads = QueryThreads::new(engine.threads(), interrupts.clone());
    threads.serve(&context);
    let mut runner =
        Runner::new(context.clone(), variables, interrupts.clone(), workers.clone(), console);
    let ran = match inputs_or_stdin(inputs) {
        Some(inputs) => {
            let ran = run_inputs(&mut runner, &inputs).await;
            queries::finish(&context, &interrupts, &mut runner.console, ran).await.map(|()| {
                let missing = engine.missing_lake().filter(|_| !runner.console.is_quiet());
                missing.iter().for_each(|missing| runner.console.warning(missing));
            })
        }
        None => prompt::run(&mut runner, &interrupts).await,
    };
    tokio::task::block_in_place(|| threads.shut_down());
    ran.map_err(|failure| failure.or_terminated(interrupts.is_terminated()))
}

/// What to run; nothing when somebody sits at a terminal and gave nothing.
fn inputs_or_stdin(inputs: Vec<Input>) -> Option<Vec<Input>> {
    match inputs.is_empty() {
        false => Some(inputs),
        true if std::io::stdin().is_terminal() => None,
        true => Some(vec![Input::Stdin]),
    }
}

async fn run_inputs(runner: &mut Runner, inputs: &[Input]) -> Result<()> {
    for input in inputs {
        let script = Script::read(input)?;
        prompt::run_script(runner, &script).await?;
    }
    Ok(())
}
