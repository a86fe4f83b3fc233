//! What completes behind a `\` command.

use rustyline::completion::Pair;

use super::super::paths;
use super::{Completer, name, plain};

impl Completer<'_> {
    pub(super) fn argument(&self, command: &str) -> Vec<Pair> {
        match command {
            "\\d" | "\\dt" if self.typed.starts_with('"') => self.quoted_tables(),
            "\\d" | "\\dt" => self.tables(),
            "\\i" => self.files(),
            "\\limit" => self.matching([plain("all")]),
            "\\timing" | "\\explain" | "\\x" | "\\pager" => {
                self.matching([plain("on"), plain("off")])
            }
            _ => vec![],
        }
    }

    /// Files behind a quote or without one.
    fn files(&self) -> Vec<Pair> {
        match self.typed.strip_prefix(['\'', '"']) {
            None => paths::complete(self.typed, true),
            Some(typed) => {
                let quote = &self.typed[..1];
                let quoted = |pair: Pair| Pair {
                    replacement: format!("{quote}{}", pair.replacement),
                    display: pair.display,
                };
                paths::complete(typed, true).into_iter().map(quoted).collect()
            }
        }
    }

    fn quoted_tables(&self) -> Vec<Pair> {
        let typed = self.typed.trim_start_matches('"').to_lowercase();
        let tables = self.names.tables().into_iter();
        tables
            .filter(|table| table.to_lowercase().starts_with(&typed))
            .map(|table| name(&table, true))
            .collect()
    }
}
