//! Tokens: what makes a write apply once.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::Record;
use crate::{Error, Result};

/// The identity of a write of a job: applied once, whoever repeats it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// The job's name.
    pub job: String,
    /// The run's number; later runs have higher numbers.
    pub run: u64,
    /// Which of the job's writes to this table in this run, counted from 0.
    pub step: u32,
    /// Digest of the statement.
    pub digest: String,
}

/// The last run of a job that a log holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobState {
    /// The run's number.
    pub run: u64,
    /// What its steps wrote.
    pub steps: BTreeMap<u32, StepState>,
}

/// A step of a run that a log holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepState {
    /// Digest of the statement.
    pub digest: String,
    /// The version it made.
    pub version: u64,
}

/// What a token says about its write: none to apply it, a version where it was applied before.
/// `older` is what the log holds of the same run and step, where the run is below the job's last.
pub(crate) fn check(
    token: Option<&Token>,
    jobs: &BTreeMap<String, JobState>,
    older: Option<&StepState>,
) -> Result<Option<u64>> {
    let Some((token, last)) = token.and_then(|token| Some((token, jobs.get(&token.job)?))) else {
        return Ok(None);
    };
    let applied = match token.run.cmp(&last.run) {
        Ordering::Greater => return Ok(None),
        Ordering::Equal => match last.steps.get(&token.step) {
            Some(applied) => applied,
            None => return Ok(None),
        },
        Ordering::Less => older.ok_or_else(|| backfill(token, last))?,
    };
    if applied.digest == token.digest {
        return Ok(Some(applied.version));
    }
    Err(Error::refused(format!(
        "step {} of run {} of job '{}' was applied as version {} by another statement; nothing was \
         changed. A corrected statement needs a new run: SET partwise.run to a number above {}",
        token.step, token.run, token.job, applied.version, last.run
    )))
}

/// The records, given newest first, that no later restore took back.
pub(crate) fn standing<'a>(
    newest_first: impl IntoIterator<Item = &'a Record>,
) -> impl Iterator<Item = &'a Record> {
    let mut newest = u64::MAX;
    newest_first.into_iter().filter(move |record| {
        let stands = record.version <= newest;
        if stands && let Some(restored) = record.restored {
            newest = restored;
        }
        stands
    })
}

fn backfill(token: &Token, last: &JobState) -> Error {
    Error::refused(format!(
        "run {} of job '{}' is below its last run {}, and the log doesn't hold it: it can't be told \
         from one that was applied; nothing was changed. To backfill, use a job of its own: SET \
         partwise.job = '{}-backfill'",
        token.run, token.job, last.run, token.job
    ))
}
