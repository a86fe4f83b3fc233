//! Whether a batch is to be written, by what a sink holds of its query.
//!
//! ```text
//! open    what the sink has last  +  what was delivered by the checkpoint   -> fits, or why not
//! write   what the sink has last  +  the batch and the one before it        -> Verdict
//! ```
//! A sink reads and keeps the last batch of each query, in the same transaction as its rows; what
//! follows from it is decided here, for all sinks alike. `D` is what a sink keeps of the input's
//! digest: two batches of one number with other digests have other input.

use std::fmt::Display;

use crate::{Error, Result};

/// The number of a batch and what is kept of its digest.
pub type Last<D> = (u64, D);

/// What is to be done with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The sink has all before it, and not the batch itself.
    Write,
    /// The sink has it, with the same input.
    Already,
    /// The sink has a later one: whether it has this one is known to whoever remembers more than
    /// the last.
    Older,
}

/// Why what a sink holds and what a checkpoint says don't fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The sink lacks this batch, which was delivered.
    Lacks(u64),
    /// The sink has this batch, with other input or without the checkpoint's knowing of it.
    Other(u64),
}

/// Decides on a batch: `last` is what the sink has, `previous` what it was given before the batch.
///
/// # Errors
/// What the sink lacks, or has otherwise.
pub fn verdict<D: PartialEq>(
    last: Option<Last<D>>,
    previous: Option<Last<D>>,
    batch: Last<D>,
) -> Result<Verdict, Misfit> {
    match last {
        Some(last) if last.0 > batch.0 => Ok(Verdict::Older),
        Some(last) if last.0 == batch.0 && last.1 == batch.1 => Ok(Verdict::Already),
        Some(last) if last.0 == batch.0 => Err(Misfit::Other(batch.0)),
        last if last == previous => Ok(Verdict::Write),
        last => Err(misfit(last, previous)),
    }
}

/// Checks when a query starts that the sink has what was delivered. A later batch may be there too:
/// the query ended before it wrote that it was done.
///
/// # Errors
/// What the sink lacks, or has otherwise.
pub fn fits<D: PartialEq>(last: Option<Last<D>>, delivered: Option<Last<D>>) -> Result<(), Misfit> {
    let number = |of: &Option<Last<D>>| of.as_ref().map(|(batch, _)| *batch);
    match number(&last) > number(&delivered) || last == delivered {
        true => Ok(()),
        false => Err(misfit(last, delivered)),
    }
}

fn misfit<D>(last: Option<Last<D>>, delivered: Option<Last<D>>) -> Misfit {
    match (last, delivered) {
        (Some((last, _)), Some((delivered, _))) if last >= delivered => Misfit::Other(last),
        (_, Some((delivered, _))) => Misfit::Lacks(delivered),
        (Some((last, _)), None) => Misfit::Other(last),
        (None, None) => Misfit::Lacks(0),
    }
}

/// Where a sink's rows are, and what can be done there, for its refusals.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The table or topic.
    pub name: &'a dyn Display,
    /// The query.
    pub query: &'a str,
    /// How all of the query's rows are removed from it: `DROP TABLE t PURGE`.
    pub empty: &'a dyn Display,
    /// How it is brought back to how it was: `bring the table back to how it was (RESTORE)`.
    pub restore: &'a dyn Display,
}

impl Place<'_> {
    /// It holds batches of the query's name with another id; `last` is their last, where it is known.
    pub fn lost_checkpoint(&self, last: Option<u64>) -> Error {
        let Self { name, query, empty, .. } = self;
        let batches =
            last.map_or_else(|| "batches".to_owned(), |last| format!("batches 0 to {last}"));
        Error::refused(format!(
            "{name} holds {batches} of a query {query} with another checkpoint than this one: going \
             on would write its rows a second time. Ways on: start with the checkpoint that wrote \
             them; or, to do it all again, {empty} first; or, to add what this one reads, start it \
             under another name"
        ))
    }

    /// What it holds and what the checkpoint says don't fit.
    pub fn misfit(&self, misfit: Misfit) -> Error {
        match misfit {
            Misfit::Lacks(batch) => self.lacks(batch),
            Misfit::Other(batch) => self.other_input(batch),
        }
    }

    fn lacks(&self, batch: u64) -> Error {
        let Self { name, query, restore, .. } = self;
        Error::refused(format!(
            "{name} lacks batch {batch} of {query}, which its checkpoint says was delivered: it was \
             made anew, brought back or emptied since. Ways on: {restore}; or start the query anew \
             with a new CHECKPOINT, and it writes all rows again; or write to another place"
        ))
    }

    /// It holds a batch that isn't the one to be written.
    pub fn other_input(&self, batch: u64) -> Error {
        let Self { name, query, restore, .. } = self;
        Error::refused(format!(
            "{name} has batch {batch} of {query} already with other input, or one that is older than \
             what it remembers: the checkpoint is not the one that it was written from. Ways on: \
             restore the checkpoint; or {restore}; or start the query anew with a new CHECKPOINT, into \
             another place"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const D6: Option<Last<&str>> = Some((6, "six"));

    #[test]
    fn a_batch_is_written_behind_the_one_before_it_alone() {
        let at = |last, previous| verdict(last, previous, (7, "seven"));
        assert_eq!(at(D6, D6), Ok(Verdict::Write));
        assert_eq!(at(None, None), Ok(Verdict::Write));
        assert_eq!(at(Some((7, "seven")), D6), Ok(Verdict::Already));
        assert_eq!(at(Some((7, "other")), D6), Err(Misfit::Other(7)));
        assert_eq!(at(Some((8, "eight")), D6), Ok(Verdict::Older));
        assert_eq!(at(Some((5, "five")), D6), Err(Misfit::Lacks(6)));
        assert_eq!(at(None, D6), Err(Misfit::Lacks(6)));
        assert_eq!(at(Some((6, "other")), D6), Err(Misfit::Other(6)));
        assert_eq!(at(D6, None), Err(Misfit::Other(6)));
        assert_eq!(at(D6, Some((4, "four"))), Err(Misfit::Other(6)));
    }

    #[test]
    fn a_start_needs_what_was_delivered_and_may_find_more() {
        assert_eq!(fits(D6, D6), Ok(()));
        assert_eq!(fits::<&str>(None, None), Ok(()));
        assert_eq!(fits(Some((7, "seven")), D6), Ok(()));
        assert_eq!(fits(D6, None), Ok(()));
        assert_eq!(fits(None, D6), Err(Misfit::Lacks(6)));
        assert_eq!(fits(Some((5, "five")), D6), Err(Misfit::Lacks(6)));
        assert_eq!(fits(Some((6, "other")), D6), Err(Misfit::Other(6)));
    }
}
