//! What is to be run, and where it came from.

use std::io::Read;
use std::path::Path;

use crate::args::Input;
use crate::status::{Failure, Result};

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

    fn read_file(path: &Path) -> Result<Self> {
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
        Ok(Self { name: Some("stdin".to_owned()), text })
    }

    /// `file:line`, for an error's place.
    pub fn place(&self, line: usize) -> Option<String> {
        self.name.as_ref().map(|name| format!("{name}:{line}"))
    }
}
