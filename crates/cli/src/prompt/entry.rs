//! What is typed, line by line, until it can run.

use super::input::{is_command, is_whole, says_something};
use super::tokens::Tokens;

/// What the prompt shows before the first line.
const PROMPT: &str = "partwise> ";

/// Words that newcomers type alone, and the commands they mean.
const WORDS: [(&str, &str); 3] = [("help", "\\?"), ("quit", "\\q"), ("exit", "\\q")];

/// The lines so far of an input that hasn't ended.
#[derive(Debug, Default)]
pub struct Entry {
    text: String,
}

/// What a line makes of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// It goes on.
    More,
    /// It is whole.
    Run(String),
    /// A command on a line of its own: the statement around it stays open.
    Command(String),
}

impl Entry {
    /// The lines so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Throws the lines away.
    pub fn clear(&mut self) {
        self.text.clear();
    }

    /// What to show in front of the next line: inside a string, a quoted name or a comment, what
    /// ends it.
    pub fn prompt(&self) -> String {
        if self.text.is_empty() {
            return PROMPT.to_owned();
        }
        let sign = self.open().map_or("->".to_owned(), |quote| format!("{quote}>"));
        format!("{sign:>width$} ", width = PROMPT.len() - 1)
    }

    /// Takes the next line, or several that were pasted.
    pub fn take(&mut self, line: &str) -> Next {
        if let Some(command) = self.command(line) {
            return Next::Command(command);
        }
        self.text.push_str(line);
        self.text.push('\n');
        match is_whole(&self.text) {
            true => Next::Run(std::mem::take(&mut self.text)),
            false => Next::More,
        }
    }

    fn command(&self, line: &str) -> Option<String> {
        let line = line.trim();
        if self.text.is_empty() {
            let word = line.trim_end_matches(';').to_lowercase();
            let known = WORDS.iter().find(|(known, _)| *known == word);
            return known.map(|(_, command)| (*command).to_owned());
        }
        let is_one = is_command(line) && !line.contains('\n') && self.open().is_none();
        is_one.then(|| line.to_owned())
    }

    /// How the string, the quoted name or the comment that is open is ended, in one character.
    fn open(&self) -> Option<char> {
        let rest = &self.text[Tokens::of(&self.text).open?..];
        Some(match rest.chars().next()? {
            quote @ ('"' | '`' | '$') => quote,
            '/' => '*',
            // Also behind a letter that says of which kind the string is.
            _ => '\'',
        })
    }
}

/// Whether an input is worth to be remembered.
pub fn is_memorable(text: &str) -> bool {
    says_something(text) || is_command(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[&str]) -> Entry {
        let mut entry = Entry::default();
        for line in lines {
            assert_eq!(entry.take(line), Next::More, "{line}");
        }
        entry
    }

    #[test]
    fn a_statement_runs_when_its_semicolon_comes() {
        let mut entry = after(&["SELECT 1", "-- ;"]);
        assert_eq!(entry.take("+ 1;"), Next::Run("SELECT 1\n-- ;\n+ 1;\n".into()));
        assert_eq!(entry.prompt(), PROMPT);
    }

    #[test]
    fn the_prompt_names_what_is_open() {
        assert_eq!(after(&["SELECT 1"]).prompt(), "       -> ");
        assert_eq!(after(&["SELECT 'a;"]).prompt(), "       '> ");
        assert_eq!(after(&["SELECT \"a"]).prompt(), "       \"> ");
        assert_eq!(after(&["/* a"]).prompt(), "       *> ");
    }

    #[test]
    fn a_command_runs_between_the_lines_of_a_statement_but_not_inside_a_string() {
        let mut entry = after(&["SELECT 1"]);
        assert_eq!(entry.take(" \\d report"), Next::Command("\\d report".into()));
        assert_eq!(entry.take(";"), Next::Run("SELECT 1\n;\n".into()));
        after(&["SELECT 'a", "\\q"]);
        after(&["/* a", "\\q"]);
    }

    #[test]
    fn what_newcomers_type_is_understood_where_nothing_has_begun() {
        let mut entry = Entry::default();
        assert_eq!(entry.take("help"), Next::Command("\\?".into()));
        assert_eq!(entry.take("EXIT;"), Next::Command("\\q".into()));
        assert_eq!(entry.take("quit "), Next::Command("\\q".into()));
        after(&["SELECT 1 AS", "exit"]);
    }

    #[test]
    fn a_comment_alone_is_whole() {
        assert_eq!(Entry::default().take("-- x"), Next::Run("-- x\n".into()));
        assert!(!is_memorable("  \n"));
        assert!(is_memorable("\\d"));
    }
}
