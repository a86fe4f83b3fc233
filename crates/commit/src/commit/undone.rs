//! What a restore means for the runs of jobs.

use crate::record::Record;
use crate::recover::{Head, jobs_after};
use crate::snapshot::{Past, counts};
use crate::token::{Token, standing};

/// The tokens whose writes a restore undid, and those whose writes it made count again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Taken back, newest first: their writes are applied when they run again.
    pub taken_back: Vec<Token>,
    /// Brought back, of each job's last run then: a restore had taken them back, and they are passed
    /// over again when they run.
    pub brought_back: Vec<Token>,
}

impl Undone {
    pub(super) fn of(past: &Past, head: &Head) -> Self {
        let later = later(past, head);
        let taken_back = standing(later.iter().copied());
        Self {
            taken_back: taken_back.filter_map(|record| record.token.clone()).collect(),
            brought_back: brought_back(past, &later),
        }
    }
}

/// The records after then that count, newest first.
fn later<'a>(past: &'a Past, head: &Head) -> Vec<&'a Record> {
    let mut outcome = head.outcome.clone().unwrap_or_default();
    let mut later = Vec::new();
    for record in past.later.iter().rev() {
        if counts(&outcome) {
            later.push(record.as_ref());
        }
        outcome = record.previous.clone().unwrap_or_default();
    }
    later
}

/// What a restore to before then had taken back of the runs that were each job's last then.
fn brought_back(past: &Past, later: &[&Record]) -> Vec<Token> {
    let bounds = standing(later.iter().copied()).filter_map(|record| record.restored);
    let Some(stood) = bounds.min() else { return Vec::new() };
    let mut brought = Vec::new();
    for (job, then) in jobs_after(&past.own, &past.outcome) {
        for (step, state) in then.steps.into_iter().filter(|(_, state)| state.version > stood) {
            let (job, run) = (job.clone(), then.run);
            brought.push(Token { job, run, step, digest: state.digest });
        }
    }
    brought
}
