//! The plain prompt: lines from a terminal, gathered until a statement is whole.

use std::io::{BufRead, Write};

use partwise_sql::split_statements;
use tokio::sync::mpsc;

use crate::interrupt::Interrupts;
use crate::runner::Runner;
use crate::status::{Result, Status};

const HELP: &str = "\
Statements end with `;` and may take several lines.
  \\q       leave (so does Ctrl-D)
  \\?       this help
  Ctrl-C   cancels what runs, or what has been typed so far
Tables: SHOW TABLES; DESCRIBE t; SHOW PARTITIONS t; EXPLAIN SELECT ...;";

/// What a line at the prompt asks for.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Quit,
    Help,
    Unknown(String),
    Sql,
}

/// Reads and runs statements until the end of the input or `\q`; what fails is printed, and the prompt goes on.
///
/// # Errors
/// Output that can't be written.
pub async fn run(runner: &mut Runner, interrupts: &Interrupts) -> Result<()> {
    runner.summaries = true;
    runner.console.notice("partwise: `\\?` for help, `\\q` to leave")?;
    let mut lines = terminal_lines();
    let mut typed = String::new();
    loop {
        show_prompt(runner, if typed.is_empty() { "partwise> " } else { "       -> " })?;
        let line = tokio::select! {
            line = lines.recv() => line,
            () = interrupts.pressed() => {
                typed.clear();
                runner.console.complain("");
                continue;
            }
        };
        let Some(line) = line else { break };
        match read_line(&typed, &line) {
            Line::Quit => return Ok(()),
            Line::Help => runner.console.complain(HELP),
            Line::Unknown(command) => {
                runner.console.complain(&format!("error: there is no {command}: see \\?"));
            }
            Line::Sql => {
                typed.push_str(&line);
                typed.push('\n');
                if is_whole(&typed) {
                    run_typed(runner, &std::mem::take(&mut typed)).await;
                }
            }
        }
    }
    runner.console.complain("");
    Ok(())
}

/// Runs what has been typed, statement by statement, up to the first that fails.
async fn run_typed(runner: &mut Runner, typed: &str) {
    let statements = match split_statements(typed) {
        Ok(statements) => statements,
        Err(error) => return runner.console.complain(&format!("error: {error}")),
    };
    for statement in statements {
        if let Err(failure) = runner.run_statement(&statement.text).await {
            let cancelled = failure.status == Status::Interrupted;
            let prefix = if cancelled { "\n" } else { "error: " };
            return runner.console.complain(&format!("{prefix}{failure}"));
        }
    }
}

fn show_prompt(runner: &mut Runner, prompt: &str) -> Result<()> {
    let out = runner.console.out();
    out.write_all(prompt.as_bytes())?;
    Ok(out.flush()?)
}

/// Backslash commands stand on a line of their own, and only where no statement has begun.
fn read_line(typed: &str, line: &str) -> Line {
    let line = line.trim();
    match line {
        "\\q" => Line::Quit,
        "\\?" => Line::Help,
        _ if typed.is_empty() && line.starts_with('\\') => Line::Unknown(line.to_owned()),
        _ => Line::Sql,
    }
}

/// Whether the text ends with a semicolon that ends a statement: not one in a string or a comment.
fn is_whole(typed: &str) -> bool {
    const PROBE: &str = "partwise_probe";
    if typed.trim().is_empty() {
        return true;
    }
    if !typed.contains(';') {
        return false;
    }
    // A word put behind the text becomes a statement of its own exactly when the last one has ended.
    let probed = split_statements(&format!("{typed}\n{PROBE}"));
    probed.is_ok_and(|all| all.last().is_some_and(|last| last.text == PROBE))
}

/// Lines are read on a thread of their own, which waits in the terminal and can't be cancelled.
fn terminal_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_whole_at_its_own_semicolon() {
        for whole in
            ["SELECT 1;", "SELECT ';';\n", "SELECT 1; -- done\n", "", "SELECT 1; SELECT 2;"]
        {
            assert!(is_whole(whole), "{whole:?}");
        }
        for open in ["SELECT 1", "SELECT ';", "SELECT 1 -- done;\n", "SELECT 1; SELECT", "/* ; "] {
            assert!(!is_whole(open), "{open:?}");
        }
    }

    #[test]
    fn commands_stand_alone() {
        assert_eq!(read_line("", " \\q "), Line::Quit);
        assert_eq!(read_line("SELECT", "\\?"), Line::Help);
        assert_eq!(read_line("", "\\d report"), Line::Unknown("\\d report".into()));
        assert_eq!(read_line("SELECT '", "\\d"), Line::Sql);
    }
}
