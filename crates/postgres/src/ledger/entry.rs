//! What a ledger says of a query, and what follows for a batch.

use partwise_stream::Result;
use partwise_stream::sink::delivery::{Verdict, fits, verdict};
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

    /// The digest of a batch before the last, where it is known.
    fn digest(&self, batch: u64) -> Option<&String> {
        let found = self.earlier.iter().find(|(number, _)| *number == batch);
        found.map(|(_, digest)| digest)
    }
}

/// Whether a query may write to a table.
pub(super) fn check(entry: Option<&Entry>, query: &SinkQuery, ledger: &Ledger) -> Result<()> {
    let last = entry.and_then(|entry| entry.last.clone());
    if let (Some(entry), Some((batch, _))) = (entry, &last)
        && entry.query_id != query.id
    {
        return Err(refusal::of(ledger, query, |place| place.lost_checkpoint(Some(*batch))));
    }
    fits(last, query.delivered.clone())
        .map_err(|misfit| refusal::of(ledger, query, |place| place.misfit(misfit)))
}

/// Whether a batch is to be written.
pub(super) fn decide(
    entry: Option<&Entry>,
    batch: &SinkBatch,
    ledger: &Ledger,
) -> Result<Decision> {
    let query = &batch.query;
    let Some(entry) = entry else { return Err(refusal::gone(ledger, query)) };
    if entry.query_id != query.id {
        let last = entry.last.as_ref().map(|(last, _)| *last);
        return Err(refusal::of(ledger, query, |place| place.lost_checkpoint(last)));
    }
    let this = (batch.batch, batch.digest.clone());
    match verdict(entry.last.clone(), batch.previous.clone(), this) {
        Ok(Verdict::Write) => Ok(Decision::Apply),
        Ok(Verdict::Already) => Ok(Decision::Already),
        Ok(Verdict::Older) if entry.digest(batch.batch) == Some(&batch.digest) => {
            Ok(Decision::Already)
        }
        Ok(Verdict::Older) => {
            Err(refusal::of(ledger, query, |place| place.other_input(batch.batch)))
        }
        Err(misfit) => Err(refusal::of(ledger, query, |place| place.misfit(misfit))),
    }
}
