//! Whose batches a table holds: asked of the tokens in its log.

use partwise_commit::{JobState, Table, Token};

use crate::definition::OutputMode;
use crate::sink::delivery::{Place, Verdict, fits, verdict};
use crate::sink::{SinkBatch, SinkQuery};
use crate::{Error, ErrorKind, Result};

/// The token of a batch.
pub(super) fn token(batch: &SinkBatch) -> Token {
    Token { job: batch.query.full_name(), run: batch.batch, step: 0, digest: batch.digest.clone() }
}

/// Whether the table has a batch already.
///
/// # Errors
/// `Refused` where it has the batch with other input, or lacks the one before it.
pub(super) async fn has(table: &Table, batch: &SinkBatch) -> Result<bool> {
    let held = table.jobs().await?.get(&batch.query.full_name()).and_then(last);
    let (previous, this) = (batch.previous.clone(), (batch.batch, batch.digest.clone()));
    match verdict(held, previous, this) {
        Ok(Verdict::Write) => Ok(false),
        Ok(Verdict::Already) => Ok(true),
        Ok(Verdict::Older) => remembers(table, batch).await,
        Err(misfit) => Err(refusal(table, &batch.query, |place| place.misfit(misfit))),
    }
}

/// Whether the log has a batch that isn't the query's last.
async fn remembers(table: &Table, batch: &SinkBatch) -> Result<bool> {
    match table.applied(&token(batch)).await {
        Ok(applied) => Ok(applied.is_some()),
        Err(error) if error.kind() == ErrorKind::Refused => {
            let other = |place: Place<'_>| place.other_input(batch.batch);
            Err(refusal(table, &batch.query, other).with_source(error))
        }
        Err(error) => Err(error.into()),
    }
}

/// A refusal, with the table's ways on.
fn refusal(table: &Table, query: &SinkQuery, of: impl FnOnce(Place<'_>) -> Error) -> Error {
    of(Place {
        name: &table.location().display(),
        query: &query.name,
        empty: &"DROP TABLE .. PURGE",
        restore: &"bring the table back to how it was (RESTORE)",
    })
}

fn last(job: &JobState) -> Option<(u64, String)> {
    Some((job.run, job.steps.get(&0)?.digest.clone()))
}

/// Checks that what the table holds of streams is of this query.
///
/// # Errors
/// `Refused`: the same query name with another id; another query's rows that a complete result would
/// replace; batches that were delivered and aren't in the log.
pub(super) async fn check(table: &Table, query: &SinkQuery) -> Result<()> {
    let jobs = table.jobs().await?;
    let place = table.location().display();
    for (job, last) in &jobs {
        let Some((name, id)) = SinkQuery::split(job) else { continue };
        if name == query.name && id != query.id {
            let lost = |place: Place<'_>| place.lost_checkpoint(Some(last.run));
            return Err(refusal(table, query, lost));
        }
        if name != query.name && query.mode == OutputMode::Complete {
            return Err(Error::refused(format!(
                "{place} holds rows of the query {name}, and OUTPUT MODE complete replaces the whole \
                 table: write to a table of its own"
            )));
        }
    }
    let held = jobs.get(&query.full_name()).and_then(self::last);
    fits(held, query.delivered.clone())
        .map_err(|misfit| refusal(table, query, |place| place.misfit(misfit)))
}
