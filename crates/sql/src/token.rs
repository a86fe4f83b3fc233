//! Tokens: which write of which job's run a statement is.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use datafusion::execution::context::SessionState;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token as SqlToken, Tokenizer};
use partwise_commit::{Committed, Token};
use partwise_table::config::PartwiseConfig;
use partwise_table::write::spec::Outcome;
use sha2::{Digest, Sha256};

use crate::Result;

/// Counts each job's writes to each table in a run: those that found nothing to do as well, so that a
/// statement has its number whether or not the table was there. Part of the session's configuration.
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
        Self { job: token.job.clone(), run: token.run, table: real(table) }
    }
}

/// A table's path with links resolved, also before the table is there: one table has one count,
/// whatever it is called. What is no path of this machine is taken as it is.
fn real(table: &str) -> String {
    let path = Path::new(table.trim_end_matches('/'));
    let resolved = path.canonicalize().or_else(|error| {
        let (parent, name) = path.parent().zip(path.file_name()).ok_or(error)?;
        parent.canonicalize().map(|parent| parent.join(name))
    });
    resolved.map_or_else(|_| table.to_owned(), |path| path.display().to_string())
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
    let mut token =
        Token { job: job.to_owned(), run, step: 0, digest: statement_digest(&text(state)) };
    if let Some(steps) = state.config().get_extension::<Steps>() {
        token.step = steps.next(&Key::new(&token, table));
    }
    Ok(Some(token))
}

/// Where a write to `table` says what it committed: in a job's run it counts as a step then, however
/// its plan is run.
pub(crate) fn counted(state: &SessionState, token: &Token, table: &str) -> Outcome {
    let Some(steps) = state.config().get_extension::<Steps>() else { return Outcome::default() };
    let (token, table) = (token.clone(), table.to_owned());
    Outcome::heard_by(move |_: &Committed| steps.advance(&token, &table))
}

/// Counts a write to `table` that found nothing to do.
///
/// # Errors
/// A job without a run or the other way round.
pub(crate) fn count_needless(state: &SessionState, table: &str) -> Result<()> {
    let steps = state.config().get_extension::<Steps>();
    if let (Some(token), Some(steps)) = (next_token(state, table)?, steps) {
        steps.advance(&token, table);
    }
    Ok(())
}

/// The text of the statement being run; empty in a plan made without one.
pub(crate) fn text(state: &SessionState) -> String {
    state.config().get_extension::<StatementText>().map(|t| t.0.clone()).unwrap_or_default()
}

/// The digest of a statement. White space, comments and the case of words that aren't quoted don't
/// count: they say nothing else.
fn statement_digest(statement: &str) -> String {
    digest(&words(statement).join(" "))
}

/// SHA-256 of a text, in hexadecimal.
pub(crate) fn digest(said: &str) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(said.as_bytes()) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn words(statement: &str) -> Vec<String> {
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, statement).tokenize() else {
        return statement.split_whitespace().map(str::to_owned).collect();
    };
    let said = tokens.into_iter().filter(|t| !matches!(t, SqlToken::Whitespace(_)));
    said.map(|token| match token {
        SqlToken::Word(word) if word.quote_style.is_none() => word.value.to_ascii_lowercase(),
        other => other.to_string(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_else_makes_no_other_statement() {
        let one = statement_digest("SELECT a, 'B' FROM t");
        assert_eq!(statement_digest("select  A,\n'B' -- as ever\nFROM /* the */ T"), one);
        for other in ["SELECT a, 'b' FROM t", "SELECT \"A\", 'B' FROM t", "SELECT a 'B' FROM t"] {
            assert_ne!(statement_digest(other), one, "{other}");
        }
    }

    #[test]
    fn one_table_has_one_name() {
        let folder = tempfile::tempdir().unwrap();
        let name = |path: &str| folder.path().join(path).display().to_string();
        let before = real(&name("t"));
        std::fs::create_dir(folder.path().join("t")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("t"), folder.path().join("link")).unwrap();
        for spelled in ["t", "t/", "link", "t/../t/"] {
            assert_eq!(real(&name(spelled)), before, "{spelled}");
        }
        assert_eq!(real("s3://bucket/t"), "s3://bucket/t");
    }

    #[test]
    fn a_statement_that_cannot_be_read_has_a_digest_too() {
        assert_eq!(statement_digest("SELECT  'x"), statement_digest("SELECT 'x"));
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
