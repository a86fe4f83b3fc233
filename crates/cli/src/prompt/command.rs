//! `\` commands.

use std::path::PathBuf;

use datafusion::common::utils::datafusion_strsim::levenshtein;

use super::argument;

/// What a `\` command asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// List the tables, or describe one.
    Describe(Option<String>),
    /// A switch to turn on, off, or over.
    Switch(Switch, Option<bool>),
    /// Rows that are shown; none: all.
    Limit(Option<usize>),
    /// Say how many rows are shown.
    ShowLimit,
    /// Run a script.
    Include(PathBuf),
    /// What `${name}` stands for.
    Set(String, String),
    /// Say what the names stand for.
    ShowVariables,
    /// Forget a name.
    Unset(String),
    /// What there is.
    Help,
    /// Leave.
    Quit,
}

/// What can be turned on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// The time in the line after each query and write.
    Timing,
    /// What is scanned and written, before a statement runs.
    Explain,
    /// One line per column.
    Expanded,
    /// Results through `$PAGER`.
    Pager,
}

/// A command as the help and the completion know it: name, argument, what it does.
pub const COMMANDS: &[(&str, &str, &str)] = &[
    ("\\d", "[TABLE]", "lists the tables; of one: columns, types, partition columns, properties"),
    (
        "\\explain",
        "[on|off]",
        "before each statement: the scans with their filters, what is written",
    ),
    ("\\timing", "[on|off]", "the time in the line after each query and write"),
    ("\\limit", "[N|all]", "rows shown of a result"),
    ("\\x", "[on|off]", "one line per column, for wide rows"),
    ("\\pager", "[on|off]", "whole results through $PAGER (less -SFX)"),
    ("\\i", "FILE", "runs a script"),
    ("\\set", "[NAME VALUE]", "what ${NAME} is filled with; alone: lists the names"),
    ("\\unset", "NAME", "leaves ${NAME} as it is"),
    ("\\?", "", "this help"),
    ("\\q", "", "leaves (so does Ctrl-D)"),
];

/// Names that users of other prompts type.
const ALIASES: &[(&str, &str)] =
    &[("\\dt", "\\d"), ("\\h", "\\?"), ("\\help", "\\?"), ("\\quit", "\\q"), ("\\exit", "\\q")];

impl Command {
    /// Reads a line that starts with `\`.
    ///
    /// # Errors
    /// A message on what there is instead.
    pub fn parse(line: &str) -> Result<Self, String> {
        let line = line.trim().trim_end_matches(';').trim_end();
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = argument.trim();
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        let name = alias.map_or(name, |(_, name)| name);
        Ok(match name {
            "\\d" if argument.is_empty() => Self::Describe(None),
            "\\d" => Self::Describe(Some(argument::table(argument)?)),
            "\\timing" => Self::Switch(Switch::Timing, argument::position(name, argument)?),
            "\\explain" => Self::Switch(Switch::Explain, argument::position(name, argument)?),
            "\\x" => Self::Switch(Switch::Expanded, argument::position(name, argument)?),
            "\\pager" => Self::Switch(Switch::Pager, argument::position(name, argument)?),
            "\\limit" if argument.is_empty() => Self::ShowLimit,
            "\\limit" => Self::Limit(argument::rows(argument)?),
            "\\i" => Self::Include(argument::file(argument)?),
            "\\set" if argument.is_empty() => Self::ShowVariables,
            "\\set" => {
                argument::assignment(argument).map(|(name, value)| Self::Set(name, value))?
            }
            "\\unset" => Self::Unset(argument::variable(argument)?),
            "\\?" => argument::none(name, argument).map(|()| Self::Help)?,
            "\\q" => argument::none(name, argument).map(|()| Self::Quit)?,
            _ => return Err(unknown(name)),
        })
    }
}

impl Switch {
    /// What the switch stands at, as a sentence.
    pub fn describe(self, on: bool) -> &'static str {
        match (self, on) {
            (Self::Timing, true) => "timing is on",
            (Self::Timing, false) => "timing is off",
            (Self::Explain, true) => "explain is on: scans and writes are shown before they run",
            (Self::Explain, false) => "explain is off",
            (Self::Expanded, true) => "expanded display is on: one line per column",
            (Self::Expanded, false) => "expanded display is off",
            (Self::Pager, true) => "the pager is on: it gets every row and every column",
            (Self::Pager, false) => "the pager is off",
        }
    }
}

fn unknown(name: &str) -> String {
    let names = || COMMANDS.iter().map(|(name, ..)| *name);
    let near = names().map(|known| (levenshtein(name, known), known)).min();
    let is_near = |distance: usize| distance <= 2 && distance < name.chars().count() - 1;
    match near {
        Some((distance, known)) if is_near(distance) => {
            format!("there is no {name}; did you mean {known}? \\? tells what there is")
        }
        _ => format!("there is no {name}; there are {}", names().collect::<Vec<_>>().join(", ")),
    }
}

/// The text of `\?`.
pub fn help() -> String {
    let commands = COMMANDS.iter().map(|(name, argument, what)| {
        format!("  {:<20} {what}", format!("{name} {argument}").trim_end())
    });
    let commands = commands.collect::<Vec<_>>().join("\n");
    format!(
        "Statements end with `;` and may take several lines; commands stand on a line of their own.\n{commands}\n  \
         {:<20} completes keywords, tables, columns, settings, and paths inside quotes\n  \
         {:<20} cancels what runs (a write leaves the table as it was), or clears the input;\n  \
         {:<20} while that isn't done, once more tells how to leave partwise\n  \
         {:<20} looks backwards through the history\n\
         Look around: SHOW TABLES; DESCRIBE t; SHOW PARTITIONS t; EXPLAIN SELECT ...;\n\
         ~/.partwiserc: statements and commands run at the start.",
        "Tab", "Ctrl-C", "", "Ctrl-R"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_with_their_arguments() {
        assert_eq!(Command::parse(" \\d report; "), Ok(Command::Describe(Some("report".into()))));
        assert_eq!(Command::parse("\\dt"), Ok(Command::Describe(None)));
        assert_eq!(
            Command::parse("\\timing OFF"),
            Ok(Command::Switch(Switch::Timing, Some(false)))
        );
        assert_eq!(Command::parse("\\explain"), Ok(Command::Switch(Switch::Explain, None)));
        assert_eq!(Command::parse("\\limit 1,000"), Ok(Command::Limit(Some(1_000))));
        assert_eq!(Command::parse("\\limit all"), Ok(Command::Limit(None)));
        assert_eq!(Command::parse("\\i 'a b.sql'"), Ok(Command::Include("a b.sql".into())));
        assert_eq!(Command::parse("\\q"), Ok(Command::Quit));
        assert_eq!(Command::parse("\\set n 1"), Ok(Command::Set("n".into(), "1".into())));
        assert_eq!(Command::parse("\\set"), Ok(Command::ShowVariables));
    }

    #[test]
    fn what_is_not_there_names_what_is() {
        let said = Command::parse("\\timming").unwrap_err();
        assert!(said.contains("did you mean \\timing?"), "{said}");
        let said = Command::parse("\\zzzzzz").unwrap_err();
        assert!(said.contains("there are \\d, \\explain"), "{said}");
        assert!(Command::parse("\\").unwrap_err().contains("there are"));
        assert!(Command::parse("\\limit few").unwrap_err().contains("number"));
        assert!(Command::parse("\\q extra").unwrap_err().contains("takes nothing"));
        assert!(Command::parse("\\x maybe").unwrap_err().contains("on or off"));
    }

    #[test]
    fn the_help_has_every_command() {
        let help = help();
        assert!(COMMANDS.iter().all(|(name, ..)| help.contains(name)), "{help}");
    }
}
