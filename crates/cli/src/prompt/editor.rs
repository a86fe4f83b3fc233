//! The line editor: rustyline with our completion, colours and ends of statements.

use std::borrow::Cow;
use std::path::PathBuf;

use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use partwise_sql::is_given_away;

use super::complete::{Names, complete};
use super::highlight::highlighted;
use super::input::is_command;
use crate::output::wants_colours;
use crate::status::{Failure, Result};

/// Statements that are remembered.
const HISTORY_ENTRIES: usize = 10_000;

/// The file of the history, in the home folder.
const HISTORY_FILE: &str = ".partwise_history";

/// What a user did at the prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// Ended a line with Enter.
    Text(String),
    /// Threw the input away, with Ctrl-C.
    Cleared,
    /// Left, with Ctrl-D.
    End,
}

/// Reads inputs from the terminal and remembers them.
pub struct LineEditor {
    editor: Editor<Assistant, FileHistory>,
    history: Option<PathBuf>,
}

impl LineEditor {
    /// An editor with the history of earlier sessions.
    ///
    /// # Errors
    /// No terminal.
    pub fn open(names: Box<dyn Names>) -> Result<Self> {
        let config = Config::builder()
            .auto_add_history(false)
            .history_ignore_space(true)
            .max_history_size(HISTORY_ENTRIES)
            .map_err(unreadable)?
            .completion_type(CompletionType::List)
            .build();
        let mut editor = Editor::with_config(config).map_err(unreadable)?;
        editor.set_helper(Some(Assistant {
            names,
            colours: wants_colours(),
            before: String::new(),
        }));
        let history = std::env::home_dir().map(|home| home.join(HISTORY_FILE));
        if let Some(file) = &history {
            // The first session has none.
            let _ = editor.load_history(file);
        }
        Ok(Self { editor, history })
    }

    /// Reads one line behind those in `before`; blocks until it is there.
    ///
    /// # Errors
    /// A terminal that can't be read.
    pub fn read(&mut self, prompt: &str, before: &str) -> Result<Typed> {
        if let Some(assistant) = self.editor.helper_mut() {
            assistant.before = before.to_owned();
        }
        match self.editor.readline(prompt) {
            Ok(text) => Ok(Typed::Text(text)),
            Err(ReadlineError::Interrupted) => Ok(Typed::Cleared),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(unreadable(error)),
        }
    }

    /// Remembers an input, also for later sessions, unless a secret stands in it; what is to be said
    /// if that failed, once.
    pub fn remember(&mut self, text: &str) -> Option<String> {
        let text = text.trim_end();
        if is_given_away(text) {
            return None;
        }
        let added = self.editor.add_history_entry(text).unwrap_or(false);
        let file = self.history.as_ref().filter(|_| added)?;
        let error = self.editor.append_history(file).err()?;
        let said = format!("the history can't be kept in {}: {error}", file.display());
        self.history = None;
        Some(said)
    }
}

fn unreadable(error: ReadlineError) -> Failure {
    Failure::failed(format!("the terminal can't be read: {error}"))
}

/// What helps while typing.
struct Assistant {
    names: Box<dyn Names>,
    colours: bool,
    /// The lines of the input that have ended.
    before: String,
}

impl Helper for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        if is_command(line) {
            return Ok(complete(line, pos, self.names.as_ref()));
        }
        let before = self.before.len();
        let whole = format!("{}{line}", self.before);
        let (start, found) = complete(&whole, before + pos, self.names.as_ref());
        match start.checked_sub(before) {
            Some(start) => Ok((start, found)),
            // What is typed began on a line that has ended.
            None => Ok((pos, vec![])),
        }
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        match self.colours {
            true => Cow::Owned(highlighted(&self.before, line)),
            false => Cow::Borrowed(line),
        }
    }

    fn highlight_char(&self, _line: &str, _pos: usize, kind: CmdKind) -> bool {
        self.colours && kind != CmdKind::MoveCursor
    }
}

/// Whether Enter ends an input is told by its lines together.
impl Validator for Assistant {}
