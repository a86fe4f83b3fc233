//! Whose batches a table holds: the `txn` actions of its log, read from a snapshot.

use deltalake::DeltaTable;
use deltalake::kernel::Transaction;
use deltalake::kernel::transaction::CommitProperties;
use futures::TryStreamExt;
use partwise_stream::sink::delivery::{self, Last, Verdict, fits, verdict};
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
            return Err(refusal(place, query, |there| there.lost_checkpoint(None)));
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
        let delivered = query.delivered.as_ref().map(|(batch, digest)| kept(*batch, digest));
        fits(self.last(), delivered)
            .map_err(|misfit| refusal(place, query, |there| there.misfit(misfit)))
    }

    /// Whether the table has a batch already.
    ///
    /// # Errors
    /// `Refused` where it has the batch with other input, lacks the one before it, or can't tell.
    pub async fn has(&self, place: &Place, table: &DeltaTable, batch: &SinkBatch) -> Result<bool> {
        let previous = batch.previous.as_ref().map(|(batch, digest)| kept(*batch, digest));
        match verdict(self.last(), previous, kept(batch.batch, &batch.digest)) {
            Ok(Verdict::Write) => Ok(false),
            Ok(Verdict::Already) => Ok(true),
            Ok(Verdict::Older) if in_history(place, table, batch).await? => Ok(true),
            Ok(Verdict::Older) => {
                Err(refusal(place, &batch.query, |there| there.other_input(batch.batch)))
            }
            Err(misfit) => Err(refusal(place, &batch.query, |there| there.misfit(misfit))),
        }
    }

    /// The query's last batch.
    fn last(&self) -> Option<Last<i64>> {
        self.batch.map(i64::unsigned_abs).zip(self.digest)
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

/// A batch as its claims have it.
fn kept(batch: u64, digest: &str) -> Last<i64> {
    (batch, batch_mark(batch, digest))
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

/// A refusal by what the table holds, with the ways on.
fn refusal(
    place: &Place,
    query: &SinkQuery,
    of: impl FnOnce(delivery::Place<'_>) -> Error,
) -> Error {
    of(delivery::Place {
        name: place,
        query: &query.name,
        empty: &"remove the table",
        restore: &"bring the table back to how it was",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
