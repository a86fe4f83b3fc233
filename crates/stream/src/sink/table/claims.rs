//! Whose batches a table holds: asked of the tokens in its log.

use std::collections::BTreeMap;

use partwise_commit::{JobState, Table, Token};

use crate::definition::OutputMode;
use crate::sink::{SinkBatch, SinkQuery};
use crate::{Error, ErrorKind, Result};

/// The token of a batch.
pub(super) fn token(batch: &SinkBatch) -> Token {
    Token { job: batch.query.full_name(), run: batch.batch, step: 0, digest: batch.digest.clone() }
}

/// Whether the table has a batch already.
///
/// # Errors
/// `Refused` where it has the batch with other input.
pub(super) async fn has(table: &Table, batch: &SinkBatch) -> Result<bool> {
    match table.applied(&token(batch)).await {
        Ok(applied) => Ok(applied.is_some()),
        Err(error) if error.kind() == ErrorKind::Refused => Err(other_input(table, batch, error)),
        Err(error) => Err(error.into()),
    }
}

/// A batch that the log has with another digest, or can't tell of.
pub(super) fn other_input(
    table: &Table,
    batch: &SinkBatch,
    error: partwise_commit::Error,
) -> Error {
    Error::refused(format!(
        "batch {} of {} is in {} already with other input, or is older than what its log holds: the \
         checkpoint is not the one that the table was written from. Restore the checkpoint, or bring \
         the table back with RESTORE and start the query anew with a new CHECKPOINT",
        batch.batch,
        batch.query.name,
        table.location().display()
    ))
    .with_source(error)
}

/// Checks that what the table holds of streams is of this query.
///
/// # Errors
/// `Refused`: the same query name with another id; another query's rows that a complete result would
/// replace; batches that were delivered and aren't in the log.
pub(super) async fn check(table: &Table, query: &SinkQuery) -> Result<()> {
    let jobs = jobs(table).await?;
    let place = table.location().display();
    for (job, last) in &jobs {
        let Some((name, id)) = SinkQuery::split(job) else { continue };
        if name == query.name && id != query.id {
            return Err(lost_checkpoint(&place, query, last.run));
        }
        if name != query.name && query.mode == OutputMode::Complete {
            return Err(Error::refused(format!(
                "{place} holds rows of the query {name}, and OUTPUT MODE complete replaces the whole \
                 table: write to a table of its own"
            )));
        }
    }
    let Some((batch, digest)) = &query.delivered else { return Ok(()) };
    let held = jobs.get(&query.full_name());
    let digests = |held: &JobState| held.steps.get(&0).map(|step| step.digest.clone());
    let has = held.is_some_and(|held| match held.run == *batch {
        true => digests(held).as_ref() == Some(digest),
        false => held.run > *batch,
    });
    match has {
        true => Ok(()),
        false => Err(rebuilt(&place, query, *batch)),
    }
}

/// The last run of each job, as of now.
async fn jobs(table: &Table) -> Result<BTreeMap<String, JobState>> {
    let records = table.records().await?;
    let Some(newest) = records.first() else { return Ok(BTreeMap::new()) };
    let mut jobs = newest.jobs.clone();
    if let Some(token) = &newest.token {
        let job = jobs.entry(token.job.clone()).or_default();
        if job.run != token.run {
            *job = JobState { run: token.run, ..JobState::default() };
        }
        let step =
            partwise_commit::StepState { digest: token.digest.clone(), version: newest.version };
        job.steps.insert(token.step, step);
    }
    Ok(jobs)
}

fn lost_checkpoint(place: &str, query: &SinkQuery, last: u64) -> Error {
    Error::refused(format!(
        "{place} holds batches 0 to {last} of a query {} with another checkpoint than this one: \
         going on would write its rows a second time. Ways on: start with the checkpoint that \
         wrote them; or, to do it all again, DROP TABLE .. PURGE first; or, to add what this one \
         reads, start it under another name",
        query.name
    ))
}

fn rebuilt(place: &str, query: &SinkQuery, batch: u64) -> Error {
    Error::refused(format!(
        "{place} lacks batch {batch} of {}, which its checkpoint says was delivered: the table was \
         rebuilt, brought back or emptied since. Ways on: bring the table back to how it was \
         (RESTORE); or start the query anew with a new CHECKPOINT, and it writes all rows again; or \
         write to another table",
        query.name
    ))
}
