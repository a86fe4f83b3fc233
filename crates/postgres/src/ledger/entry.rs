//! What a ledger says of a query, and what follows for a batch.

use partwise_stream::Result;
use partwise_stream::sink::{SinkBatch, SinkQuery};
use tokio_postgres::Row;
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::{Ledger, refusal};

/// What a ledger says of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    query_id: String,
    /// The last batch and its digest.
    last: Option<(u64, String)>,
    /// Those before, the latest first.
    earlier: Vec<(u64, String)>,
}

/// Whether a batch is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Apply,
    Already,
}

impl Entry {
    /// The entry of a row of id, batch, digest and earlier batches.
    pub fn read(row: &Row) -> Result<Self, tokio_postgres::Error> {
        let id: Uuid = row.try_get(0)?;
        let last = row.try_get::<_, Option<i64>>(1)?.zip(row.try_get::<_, Option<String>>(2)?);
        let Json(earlier) = row.try_get::<_, Json<Vec<(u64, String)>>>(3)?;
        let last = last.map(|(batch, digest)| (batch.unsigned_abs(), digest));
        Ok(Self { query_id: id.to_string(), last, earlier })
    }

    /// The digest of a batch, where it is known.
    fn digest(&self, batch: u64) -> Option<&String> {
        let all = self.last.iter().chain(&self.earlier);
        all.filter(|(number, _)| *number == batch).map(|(_, digest)| digest).next()
    }
}

/// Whether a query may write to a table.
pub(super) fn check(entry: Option<&Entry>, query: &SinkQuery, ledger: &Ledger) -> Result<()> {
    let last = entry.and_then(|entry| entry.last.as_ref());
    if let (Some(entry), Some((batch, _))) = (entry, last)
        && entry.query_id != query.id
    {
        return Err(refusal::lost_checkpoint(ledger, query, *batch));
    }
    let Some((batch, digest)) = &query.delivered else { return Ok(()) };
    let known = entry.and_then(|entry| entry.digest(*batch));
    match (last, known) {
        (Some(_), Some(known)) if known == digest => Ok(()),
        (Some(_), Some(_)) => Err(refusal::other_input(ledger, query, *batch)),
        // So long ago that its digest isn't kept.
        (Some((last, _)), None) if last > batch => Ok(()),
        _ => Err(refusal::rebuilt(ledger, query, *batch)),
    }
}

/// Whether a batch is to be written.
pub(super) fn decide(
    entry: Option<&Entry>,
    batch: &SinkBatch,
    ledger: &Ledger,
) -> Result<Decision> {
    let Some(entry) = entry else { return Err(refusal::gone(ledger, &batch.query)) };
    if entry.query_id != batch.query.id {
        let last = entry.last.as_ref().map_or(0, |(last, _)| *last);
        return Err(refusal::lost_checkpoint(ledger, &batch.query, last));
    }
    match (&entry.last, entry.digest(batch.batch)) {
        (_, Some(digest)) if *digest == batch.digest => Ok(Decision::Already),
        (Some((last, _)), None) if *last < batch.batch => Ok(Decision::Apply),
        (None, None) => Ok(Decision::Apply),
        _ => Err(refusal::other_input(ledger, &batch.query, batch.batch)),
    }
}
