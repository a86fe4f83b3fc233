//! Tokens: which write of which job's run a statement is.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use datafusion::execution::context::SessionState;
use partwise_commit::Token;
use partwise_table::config::PartwiseConfig;
use sha2::{Digest, Sha256};

use crate::Result;

/// Counts each job's writes to each table in a run. Part of the session's configuration.
#[derive(Debug, Default)]
pub(crate) struct Steps(Mutex<HashMap<Key, u32>>);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    job: String,
    run: u64,
    table: String,
}

impl Key {
    fn new(token: &Token, table: &str) -> Self {
        Self { job: token.job.clone(), run: token.run, table: table.to_owned() }
    }
}

impl Steps {
    fn next(&self, key: &Key) -> u32 {
        let steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        steps.get(key).copied().unwrap_or(0)
    }

    /// Counts a write that has been applied, or was found applied.
    pub fn advance(&self, token: &Token, table: &str) {
        let mut steps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        steps.insert(Key::new(token, table), token.step + 1);
    }

    /// Counts from the start: the session has named its job or run anew.
    pub fn restart(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The statement being run, for its digest and for whoever waits for its lock.
#[derive(Debug)]
pub(crate) struct StatementText(pub String);

/// The token of the next write to `table`, if the session names a job and run.
///
/// # Errors
/// A job without a run or the other way round.
pub(crate) fn next_token(state: &SessionState, table: &str) -> Result<Option<Token>> {
    let config = PartwiseConfig::of(state.config_options());
    let Some((job, run)) = config.job_run()? else { return Ok(None) };
    let mut token = Token { job: job.to_owned(), run, step: 0, digest: digest(&text(state)) };
    if let Some(steps) = state.config().get_extension::<Steps>() {
        token.step = steps.next(&Key::new(&token, table));
    }
    Ok(Some(token))
}

/// The text of the statement being run; empty in a plan made without one.
pub(crate) fn text(state: &SessionState) -> String {
    state.config().get_extension::<StatementText>().map(|t| t.0.clone()).unwrap_or_default()
}

/// SHA-256 of a statement, its white space folded, in hexadecimal.
pub(crate) fn digest(statement: &str) -> String {
    let folded = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(folded.as_bytes()) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_does_not_make_another_statement() {
        assert_eq!(digest("SELECT  1\n"), digest("SELECT 1"));
        assert_ne!(digest("SELECT 1"), digest("SELECT 2"));
    }

    #[test]
    fn a_step_counts_only_what_was_applied() {
        let steps = Steps::default();
        let token = Token { job: "j".into(), run: 1, step: 0, digest: String::new() };
        let key = Key::new(&token, "t");
        assert_eq!((steps.next(&key), steps.next(&key)), (0, 0));
        steps.advance(&token, "t");
        assert_eq!(steps.next(&key), 1);
    }
}
