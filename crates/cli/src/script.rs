//! What is to be run, and where it came from.

use std::io::Read;
use std::path::Path;

use crate::args::Input;
use crate::status::{Failure, Result};

/// How errors name standard input.
const STDIN: &str = "stdin";

/// A text of statements with the name its errors carry.
#[derive(Debug, Clone)]
pub struct Script {
    /// The file's name; none for a `-c`.
    pub name: Option<String>,
    /// The statements.
    pub text: String,
}

impl Script {
    /// Reads an input of the command line.
    ///
    /// # Errors
    /// Bad usage when the file can't be read.
    pub fn read(input: &Input) -> Result<Self> {
        match input {
            Input::Command(text) => Ok(Self { name: None, text: text.clone() }),
            Input::File(path) => Self::read_file(path),
            Input::Stdin => Self::read_stdin(),
        }
    }

    /// Reads the script of this name beside this one.
    ///
    /// # Errors
    /// Bad usage when it can't be read, or this one isn't a file.
    pub fn beside(&self, file: &str) -> Result<Self> {
        match self.name.as_deref().filter(|&name| name != STDIN) {
            Some(name) => Self::read_file(&Path::new(name).with_file_name(file)),
            None => Err(Failure::usage(format!("`after: {file}` needs a script run with -f"))),
        }
    }

    /// Reads a script.
    ///
    /// # Errors
    /// Bad usage when it can't be read.
    pub fn read_file(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
        // Editors of other systems put a byte order mark in front.
        let text = text.trim_start_matches('\u{feff}').to_owned();
        Ok(Self { name: Some(path.display().to_string()), text })
    }

    fn read_stdin() -> Result<Self> {
        let mut text = String::new();
        let read = std::io::stdin().lock().read_to_string(&mut text);
        read.map_err(|e| Failure::usage(format!("standard input: {e}")))?;
        Ok(Self { name: Some(STDIN.to_owned()), text })
    }

    /// `file:line`, for an error's place.
    pub fn place(&self, line: usize) -> Option<String> {
        self.name.as_ref().map(|name| format!("{name}:{line}"))
    }
}
