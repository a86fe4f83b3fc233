//! What one input does: statements run, `\` commands change how results are shown.

use partwise_sql::split_statements;

use super::command::{Command, Switch, help};
use super::describe::{self, Description};
use super::input::{Piece, pieces};
use crate::display::Display;
use crate::runner::Runner;
use crate::script::Script;
use crate::status::{Failure, Result};

/// Whether the prompt comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It does.
    GoOn,
    /// The session ends.
    Leave,
}

/// Runs a script of the command line or of `\i`. In one without `\` commands, comments say what is
/// expected to fail.
///
/// # Errors
/// The first failure, with its place.
pub async fn run_script(runner: &mut Runner, script: &Script) -> Result<()> {
    let pieces = pieces(&script.text);
    if !pieces.iter().any(|(_, piece)| matches!(piece, Piece::Command(_))) {
        return runner.run_script(script).await;
    }
    for (line, piece) in pieces {
        match Box::pin(run_piece(runner, line, piece, script.name.as_deref())).await? {
            Then::Leave => break,
            Then::GoOn => {}
        }
    }
    Ok(())
}

/// Runs a piece that starts on a line of `file`; none: of the prompt.
///
/// # Errors
/// The first failure, with its place in the file.
pub async fn run_piece(
    runner: &mut Runner,
    line: usize,
    piece: Piece,
    file: Option<&str>,
) -> Result<Then> {
    let place = |line: usize| file.map(|name| format!("{name}:{line}"));
    match piece {
        Piece::Command(text) => {
            let done = run_command(runner, &text).await;
            done.map_err(|failure| failure.at(place(line)))
        }
        Piece::Sql(sql) => {
            let statements =
                split_statements(&sql).map_err(|error| Failure::from(error).at(place(line)))?;
            for statement in statements {
                let done = runner.run_statement(&statement.text).await;
                done.map_err(|failure| failure.at(place(line + statement.line - 1)))?;
            }
            Ok(Then::GoOn)
        }
    }
}

async fn run_command(runner: &mut Runner, text: &str) -> Result<Then> {
    match Command::parse(text).map_err(Failure::failed)? {
        Command::Quit => return Ok(Then::Leave),
        Command::Help => runner.console.complain(&help()),
        Command::Describe(name) => describe(runner, name).await?,
        Command::Include(file) => run_script(runner, &Script::read_file(&file)?).await?,
        Command::Switch(switch, on) => turn(runner, switch, on)?,
        Command::Limit(rows) => {
            display(runner).row_limit = rows;
            tell_limit(runner)?;
        }
        Command::ShowLimit => tell_limit(runner)?,
        Command::Set(name, value) => drop(runner.variables.insert(name, value)),
        Command::Unset(name) => drop(runner.variables.remove(&name)),
        Command::ShowVariables => tell_variables(runner)?,
    }
    Ok(Then::GoOn)
}

fn display(runner: &mut Runner) -> &mut Display {
    runner.display.get_or_insert_with(Display::of_script)
}

fn turn(runner: &mut Runner, switch: Switch, on: Option<bool>) -> Result<()> {
    let display = display(runner);
    let stands = match switch {
        Switch::Timing => &mut display.timing,
        Switch::Explain => &mut display.explain,
        Switch::Expanded => &mut display.expanded,
        Switch::Pager => &mut display.pager,
    };
    *stands = on.unwrap_or(!*stands);
    let said = switch.describe(*stands);
    runner.console.notice(said)
}

fn tell_limit(runner: &mut Runner) -> Result<()> {
    let said = match display(runner).row_limit {
        Some(rows) => {
            format!("the first {} of a result are shown", partwise_sql::counted(rows as u64, "row"))
        }
        None => "every row of a result is shown".to_owned(),
    };
    runner.console.notice(&said)
}

fn tell_variables(runner: &mut Runner) -> Result<()> {
    let set: Vec<String> =
        runner.variables.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    match set.is_empty() {
        true => runner.console.notice("no names are set: \\set NAME VALUE sets one"),
        false => runner.console.notice(&set.join("\n")),
    }
}

async fn describe(runner: &mut Runner, name: Option<String>) -> Result<()> {
    let context = runner.context().clone();
    let work = async move {
        match name {
            Some(name) => describe::table(&context, &name).await,
            None => describe::tables(&context).await,
        }
    };
    let Description { heading, rows, notes } = runner.interruptible(work).await??;
    if let Some(heading) = heading {
        runner.console.notice(&heading)?;
    }
    if rows.num_rows() > 0 {
        runner.show(&rows)?;
    }
    notes.iter().try_for_each(|note| runner.console.notice(note))
}
