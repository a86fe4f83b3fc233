//! Whose batches a table holds: the `txn` actions of its log, read from a snapshot.

use deltalake::DeltaTable;
use deltalake::kernel::Transaction;
use deltalake::kernel::transaction::CommitProperties;
use futures::TryStreamExt;
use partwise_stream::sink::{SinkBatch, SinkQuery};
use partwise_stream::{Error, OutputMode, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::error::from_delta;
use crate::place::Place;

/// The app id that says which query writes to the table.
const QUERIES: &str = "partwise@queries";
/// Its version where several do.
const SEVERAL: i64 = 0;
/// The key of our part of a `commitInfo`.
const INFO: &str = "partwise";

/// What a snapshot says of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    /// The last batch of the query, under its id.
    batch: Option<i64>,
    /// The mark of the last batch under the query's name, whatever its id.
    digest: Option<i64>,
    queries: Queries,
}

/// Which queries write to the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Queries {
    /// None has yet.
    #[default]
    Nobody,
    /// One of this mark, or [`SEVERAL`].
    Marked(i64),
    /// Not looked at, as this one is among them: it has written, and nobody takes that back. To find
    /// what was written once, all of the log would be read.
    Unasked,
}

/// What is to be done with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Write,
    Skip,
    /// It is older than the last one, of which alone the input is known.
    Older,
}

impl Claims {
    /// Reads them from the table's snapshot.
    pub async fn read(place: &Place, table: &DeltaTable, query: &SinkQuery) -> Result<Self> {
        let state = table.snapshot().map_err(|e| from_delta(place, e))?;
        let log = table.log_store();
        let version = async |app: String| {
            let version = state.transaction_version(&log, app).await;
            version.map_err(|e| from_delta(place, e))
        };
        let batch = version(query.full_name()).await?;
        let queries = match batch.is_some() && query.mode != OutputMode::Complete {
            true => Queries::Unasked,
            false => version(QUERIES.to_owned()).await?.map_or(Queries::Nobody, Queries::Marked),
        };
        Ok(Self { batch, digest: version(digest_app(query)).await?, queries })
    }

    /// Checks that what the table holds of streams is of this query.
    ///
    /// # Errors
    /// `Refused`: the same query name with another id; another query's rows that a complete result
    /// would replace.
    pub fn check(&self, place: &Place, query: &SinkQuery) -> Result<()> {
        if self.batch.is_none() && self.digest.is_some() {
            return Err(lost_checkpoint(place, query));
        }
        let others = |held: i64| held != mark(&query.name);
        if matches!(self.queries, Queries::Marked(held) if others(held))
            && query.mode == OutputMode::Complete
        {
            return Err(Error::refused(format!(
                "{place} holds rows of another query, and OUTPUT MODE complete replaces the whole \
                 table: write to a table of its own"
            )));
        }
        Ok(())
    }

    /// Checks that the last batch that was delivered is there.
    ///
    /// # Errors
    /// `Refused` where it isn't.
    pub fn check_delivered(&self, place: &Place, query: &SinkQuery) -> Result<()> {
        let Some((batch, digest)) = &query.delivered else { return Ok(()) };
        let has = self.batch.is_some_and(|held| match held == number(*batch) {
            true => self.digest == Some(batch_mark(*batch, digest)),
            false => held > number(*batch),
        });
        if has { Ok(()) } else { Err(rebuilt(place, query, *batch)) }
    }

    /// Whether the table has a batch already.
    ///
    /// # Errors
    /// `Refused` where it has the batch with other input, or can't tell.
    pub async fn has(&self, place: &Place, table: &DeltaTable, batch: &SinkBatch) -> Result<bool> {
        match self.verdict(batch.batch, &batch.digest) {
            Some(Verdict::Write) => Ok(false),
            Some(Verdict::Skip) => Ok(true),
            Some(Verdict::Older) if in_history(place, table, batch).await? => Ok(true),
            Some(Verdict::Older) | None => Err(other_input(place, batch)),
        }
    }

    /// None where the batch is there with other input.
    fn verdict(&self, batch: u64, digest: &str) -> Option<Verdict> {
        match self.batch {
            Some(held) if held > number(batch) => Some(Verdict::Older),
            Some(held) if held == number(batch) => {
                (self.digest == Some(batch_mark(batch, digest))).then_some(Verdict::Skip)
            }
            _ => Some(Verdict::Write),
        }
    }

    /// What the commit of a batch on this snapshot carries.
    pub fn commit(&self, batch: &SinkBatch) -> CommitProperties {
        let query = &batch.query;
        let mut transactions = vec![
            Transaction::new(query.full_name(), number(batch.batch)),
            Transaction::new(digest_app(query), batch_mark(batch.batch, &batch.digest)),
        ];
        transactions.extend(self.queries_with(&query.name).map(|it| Transaction::new(QUERIES, it)));
        CommitProperties::default()
            .with_application_transactions(transactions)
            .with_metadata([(INFO.to_owned(), info(batch))])
    }

    /// The mark of the table's queries with this one among them; none where it is that already, so
    /// that two queries of one table are in each other's way once and not with every batch.
    fn queries_with(&self, name: &str) -> Option<i64> {
        match self.queries {
            Queries::Nobody => Some(mark(name)),
            Queries::Marked(held) if held != mark(name) && held != SEVERAL => Some(SEVERAL),
            Queries::Marked(_) | Queries::Unasked => None,
        }
    }
}

fn digest_app(query: &SinkQuery) -> String {
    format!("{}@digest", query.name)
}

fn batch_mark(batch: u64, digest: &str) -> i64 {
    mark(&format!("{batch} {digest}"))
}

/// 63 bits of a hash, never 0.
fn mark(text: &str) -> i64 {
    let hash = Sha256::digest(text.as_bytes());
    let bits = hash.iter().take(8).fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
    number(bits >> 1).max(1)
}

fn number(batch: u64) -> i64 {
    i64::try_from(batch).unwrap_or(i64::MAX)
}

fn info(batch: &SinkBatch) -> Value {
    json!({ "query": batch.query.full_name(), "batch": batch.batch, "digest": batch.digest })
}

/// Whether one of the commits that the log still has is of this batch with this input.
async fn in_history(place: &Place, table: &DeltaTable, batch: &SinkBatch) -> Result<bool> {
    let info = info(batch);
    let mut commits = table.history(None);
    while let Some(commit) = commits.try_next().await.map_err(|e| from_delta(place, e))? {
        if commit.info.get(INFO) == Some(&info) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn other_input(place: &Place, batch: &SinkBatch) -> Error {
    Error::refused(format!(
        "batch {} of {} is in {place} already with other input, or is older than what its log holds: \
         the checkpoint is not the one that the table was written from. Restore the checkpoint, or \
         empty the table and start the query anew with a new CHECKPOINT and another name",
        batch.batch, batch.query.name
    ))
}

fn lost_checkpoint(place: &Place, query: &SinkQuery) -> Error {
    Error::refused(format!(
        "{place} holds batches of a query {} with another checkpoint than this one: going on would \
         write its rows a second time. Ways on: start with the checkpoint that wrote them; or, to do \
         it all again, remove the table first; or, to add what this one reads, start it under \
         another name",
        query.name
    ))
}

fn rebuilt(place: &Place, query: &SinkQuery, batch: u64) -> Error {
    Error::refused(format!(
        "{place} lacks batch {batch} of {}, which its checkpoint says was delivered: the table was \
         rebuilt or replaced since. Ways on: bring the table back to how it was; or start the query \
         anew with a new CHECKPOINT, and it writes all rows again; or write to another table",
        query.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_written_once_and_never_with_other_input() {
        let held =
            Claims { batch: Some(7), digest: Some(batch_mark(7, "a")), ..Default::default() };
        assert_eq!(held.verdict(8, "b"), Some(Verdict::Write));
        assert_eq!(held.verdict(7, "a"), Some(Verdict::Skip));
        assert_eq!(held.verdict(7, "b"), None);
        assert_eq!(held.verdict(6, "a"), Some(Verdict::Older));
        assert_eq!(Claims::default().verdict(0, "a"), Some(Verdict::Write));
    }

    #[test]
    fn the_queries_of_a_table_are_one_or_several() {
        let by = |queries| Claims { queries, ..Claims::default() };
        assert_eq!(by(Queries::Nobody).queries_with("a"), Some(mark("a")));
        assert_eq!(by(Queries::Marked(mark("a"))).queries_with("a"), None);
        assert_eq!(by(Queries::Marked(mark("a"))).queries_with("b"), Some(SEVERAL));
        assert_eq!(by(Queries::Marked(SEVERAL)).queries_with("a"), None);
        assert_eq!(by(Queries::Unasked).queries_with("a"), None);
    }
}
