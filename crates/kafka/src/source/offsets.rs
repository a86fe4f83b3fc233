//! Which offsets a batch reads: pure decisions over what a topic holds.

use std::collections::{BTreeMap, BTreeSet};

use partwise_stream::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::start::Start;

/// What a partition holds: from the first offset that is there to the one after the last that a
/// reader may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub low: i64,
    pub high: i64,
}

/// Offsets of a partition, `until` left out. There may be fewer messages than offsets: compaction
/// and transactions leave gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Span {
    pub from: i64,
    pub until: i64,
}

impl Span {
    pub fn offsets(self) -> u64 {
        u64::try_from(self.until - self.from).unwrap_or(0)
    }
}

/// The exact input of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BatchOffsets {
    pub topic: String,
    pub partitions: BTreeMap<i32, Span>,
}

impl BatchOffsets {
    /// Of the JSON in a checkpoint.
    ///
    /// # Errors
    /// Offsets of another source.
    pub fn of(offsets: &Value, topic: &str) -> Result<Self> {
        let read = Self::deserialize(offsets);
        let read = read.map_err(|cause| Error::corrupt(format!("offsets of a topic: {cause}")))?;
        if read.topic != topic {
            return Err(Error::corrupt(format!(
                "offsets of the topic '{}' in a checkpoint of the topic '{topic}'",
                read.topic
            )));
        }
        Ok(read)
    }
}

/// How far a query has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    next: BTreeMap<i32, i64>,
    /// Partitions that no batch has named yet.
    fresh: BTreeSet<i32>,
    /// A batch has been planned.
    begun: bool,
}

/// A partition that lacks what has not been read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Loss {
    pub partition: i32,
    pub next: i64,
    /// None: the partition is gone.
    pub held: Option<Held>,
}

impl Position {
    /// Takes up what batches have read.
    pub fn passed(&mut self, batch: &BatchOffsets) {
        for (partition, span) in &batch.partitions {
            self.next.insert(*partition, span.until);
            self.fresh.remove(partition);
        }
        self.begun = true;
    }

    /// Whether a batch of the query has been planned, at any time.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Takes note of what there is. Partitions that are new to a query that has begun are read from
    /// their first offset; what isn't there any more is told.
    pub fn found(&mut self, there: &BTreeMap<i32, Held>, start: &Start) -> Vec<Loss> {
        for (partition, held) in there {
            if !self.next.contains_key(partition) {
                let offset = if self.begun { held.low } else { start.offset(*partition, *held) };
                self.next.insert(*partition, offset);
                self.fresh.insert(*partition);
            }
        }
        let lost = |(partition, next): (&i32, &i64)| {
            let held = there.get(partition).copied();
            let whole = held.is_some_and(|held| (held.low..=held.high).contains(next));
            (!whole).then_some(Loss { partition: *partition, next: *next, held })
        };
        self.next.iter().filter_map(lost).collect()
    }

    /// Goes on with what is there, past what is lost.
    pub fn accept(&mut self, losses: &[Loss]) {
        for loss in losses {
            match loss.held {
                Some(held) => drop(self.next.insert(loss.partition, held.low)),
                None => drop(self.next.remove(&loss.partition)),
            }
        }
    }

    /// The next batch: what there is up to `ends`, shared among partitions by how much each has
    /// where it is more than `limit`. None where nothing is new. The first batch of a query that
    /// starts at the latest offsets holds nothing: it writes down where that is.
    pub fn batch(
        &mut self,
        topic: &str,
        ends: &BTreeMap<i32, i64>,
        limit: Option<u64>,
        start: &Start,
    ) -> Option<BatchOffsets> {
        let span = |(partition, from): (&i32, &i64)| {
            let until = ends.get(partition).copied().unwrap_or(*from).max(*from);
            (*partition, Span { from: *from, until })
        };
        let all: BTreeMap<i32, Span> = self.next.iter().map(span).collect();
        let shared = share(&all, limit);
        let pins = !self.begun && *start != Start::Earliest && !all.is_empty();
        if !pins && shared.values().all(|span| span.offsets() == 0) {
            return None;
        }
        let named =
            |partition: &i32, span: &Span| span.offsets() > 0 || self.fresh.contains(partition);
        let partitions = shared.into_iter().filter(|(partition, span)| named(partition, span));
        let batch = BatchOffsets { topic: topic.to_owned(), partitions: partitions.collect() };
        self.passed(&batch);
        Some(batch)
    }

    /// As offsets that all partitions have passed.
    pub fn remembered(&self, topic: &str) -> BatchOffsets {
        let passed =
            |(partition, next): (&i32, &i64)| (*partition, Span { from: *next, until: *next });
        let named = self.next.iter().filter(|(partition, _)| !self.fresh.contains(partition));
        BatchOffsets { topic: topic.to_owned(), partitions: named.map(passed).collect() }
    }
}

/// At most `limit` offsets of all, each partition's share by what it has; at least one for the
/// first that has any.
fn share(all: &BTreeMap<i32, Span>, limit: Option<u64>) -> BTreeMap<i32, Span> {
    let total: u64 = all.values().map(|span| span.offsets()).sum();
    let Some(limit) = limit.filter(|limit| *limit < total) else { return all.clone() };
    let mut left = limit;
    let mut shared = BTreeMap::new();
    for (partition, span) in all {
        let part = u128::from(span.offsets()) * u128::from(limit) / u128::from(total);
        let part = u64::try_from(part).unwrap_or(limit);
        left -= part;
        shared.insert(*partition, Span { until: span.from + part as i64, ..*span });
    }
    // What the divisions left over: one each, in order.
    for (partition, span) in &mut shared {
        if left > 0 && span.until < all[partition].until {
            span.until += 1;
            left -= 1;
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(of: &[(i32, i64, i64)]) -> BTreeMap<i32, Held> {
        of.iter()
            .map(|(partition, low, high)| (*partition, Held { low: *low, high: *high }))
            .collect()
    }

    fn ends(there: &BTreeMap<i32, Held>) -> BTreeMap<i32, i64> {
        there.iter().map(|(partition, held)| (*partition, held.high)).collect()
    }

    fn spans(batch: Option<BatchOffsets>) -> Vec<(i32, i64, i64)> {
        let partitions = batch.map(|batch| batch.partitions).unwrap_or_default();
        partitions.into_iter().map(|(partition, span)| (partition, span.from, span.until)).collect()
    }

    #[test]
    fn a_limit_is_shared_by_what_each_partition_has_and_always_moves() {
        let there = held(&[(0, 0, 90), (1, 0, 9), (2, 5, 5)]);
        let mut position = Position::default();
        assert_eq!(position.found(&there, &Start::Earliest), []);
        let mut next = |limit| spans(position.batch("t", &ends(&there), limit, &Start::Earliest));
        assert_eq!(next(Some(10)), [(0, 0, 10), (1, 0, 0), (2, 5, 5)]);
        assert_eq!(next(Some(1)), [(0, 10, 11)]);
        assert_eq!(next(None), [(0, 11, 90), (1, 0, 9)]);
        assert_eq!(next(None), []);
    }

    #[test]
    fn a_start_at_the_latest_offsets_is_written_down() {
        let mut position = Position::default();
        position.found(&held(&[(0, 0, 7)]), &Start::Latest);
        let ends = BTreeMap::from([(0, 7)]);
        let first = position.batch("t", &ends, None, &Start::Latest);
        assert_eq!(spans(first), [(0, 7, 7)]);
        assert_eq!(position.batch("t", &ends, None, &Start::Latest), None);
    }

    #[test]
    fn a_new_partition_is_read_from_its_first_offset() {
        let mut position = Position::default();
        position.found(&held(&[(0, 0, 7)]), &Start::Latest);
        position.batch("t", &BTreeMap::from([(0, 7)]), None, &Start::Latest);
        let there = held(&[(0, 0, 8), (1, 2, 4)]);
        assert_eq!(position.found(&there, &Start::Latest), []);
        let next = position.batch("t", &ends(&there), None, &Start::Latest);
        assert_eq!(spans(next), [(0, 7, 8), (1, 2, 4)]);
    }

    #[test]
    fn what_retention_took_what_shrank_and_what_is_gone_is_told() {
        let mut position = Position::default();
        let there = held(&[(0, 0, 10), (1, 0, 10), (2, 0, 10)]);
        position.found(&there, &Start::Earliest);
        position.batch("t", &ends(&there), None, &Start::Earliest);
        let now = held(&[(0, 12, 20), (1, 0, 3)]);
        let losses = position.found(&now, &Start::Earliest);
        let lost = |partition, held| Loss { partition, next: 10, held };
        let of = |partition| now.get(&partition).copied();
        assert_eq!(losses, [lost(0, of(0)), lost(1, of(1)), lost(2, None)]);
        position.accept(&losses);
        let next = position.batch("t", &ends(&now), None, &Start::Earliest);
        assert_eq!(spans(next), [(0, 12, 20), (1, 0, 3)]);
    }

    #[test]
    fn offsets_are_remembered_as_json() {
        let mut position = Position::default();
        position.found(&held(&[(0, 0, 7), (11, 0, 0)]), &Start::Earliest);
        position.batch("t", &BTreeMap::from([(0, 7)]), None, &Start::Earliest);
        let json = serde_json::to_value(position.remembered("t")).expect("json");
        let mut again = Position::default();
        again.passed(&BatchOffsets::of(&json, "t").expect("offsets"));
        assert_eq!(again, position);
        assert!(BatchOffsets::of(&json, "u").is_err());
    }
}
