//! What one input does: statements run, `\` commands change how results are shown.

use partwise_sql::split_statements;

use super::command::{Command, Switch, help};
use super::describe::{self, Description};
use super::input::Piece;
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
        Command::Include(file) => runner.run_script(&Script::read_file(file.as_ref())?).await?,
        Command::Switch(switch, on) => turn(runner, switch, on)?,
        Command::Limit(rows) => {
            display(runner).row_limit = rows;
            tell_limit(runner)?;
        }
        Command::ShowLimit => tell_limit(runner)?,
    }
    Ok(Then::GoOn)
}

fn display(runner: &mut Runner) -> &mut Display {
    runner.display.get_or_insert_default()
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
