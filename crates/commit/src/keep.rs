//! Keeping house: what is older than the retention goes with each commit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::{Backend, Slot};
use crate::commit::now_ms;
use crate::record::Record;
use crate::{Error, Result};

/// How long replaced files are kept where nothing else is said.
const DEFAULT_RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The same in words.
const DEFAULT_RETENTION_TEXT: &str = "7 days";
/// The records that always stay: the newest and the one before.
const NEWEST_RECORDS: u64 = 2;

/// The retention of a commit: its own, else the table's property `retention`, else 7 days.
pub(crate) fn retention(
    own: Option<Duration>,
    properties: &BTreeMap<String, String>,
) -> Result<Duration> {
    match (own, properties.get("retention")) {
        (Some(own), _) => Ok(own),
        (None, Some(text)) => parse_retention(text),
        (None, None) => Ok(DEFAULT_RETENTION),
    }
}

/// The retention of a table as it is shown.
pub(crate) fn shown_retention(properties: Option<&BTreeMap<String, String>>) -> String {
    let set = properties.and_then(|properties| properties.get("retention"));
    set.cloned().unwrap_or_else(|| DEFAULT_RETENTION_TEXT.to_string())
}

/// `7 days`, `12h`, `30 minutes`, `0`: a number with a unit, which only 0 can do without.
pub(crate) fn parse_retention(text: &str) -> Result<Duration> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit.trim().to_ascii_lowercase().as_str() {
        "d" | "day" | "days" => Some(86_400),
        "h" | "hour" | "hours" => Some(3_600),
        "m" | "min" | "minute" | "minutes" => Some(60),
        "s" | "second" | "seconds" => Some(1),
        "" if number == "0" => Some(1),
        _ => None,
    };
    number
        .parse::<u64>()
        .ok()
        .zip(seconds)
        .and_then(|(number, seconds)| number.checked_mul(seconds))
        .map(Duration::from_secs)
        .ok_or_else(|| {
            Error::invalid(format!(
                "retention = '{text}' is not a time like '7 days', '12 hours', '30 minutes' or '0'"
            ))
        })
}

/// Retained versions that one commit looks at beside those that have expired: the oldest, and as many
/// in turn.
const LOOKS: usize = 8;

/// Removes retained files and records older than `retention`; `newest` was just published. Never
/// removed: the last two records and the newest that set the schema; the last runs of each job are
/// carried along by every record.
pub(crate) async fn house(
    backend: &dyn Backend,
    newest: &Record,
    retention: Duration,
) -> Result<()> {
    let oldest = oldest_kept(retention)?;
    let retained = backend.retained_versions().await?;
    let mut kept = Vec::with_capacity(retained.len());
    for (looks, version) in looked_at(&retained, newest.version) {
        // The oldest expire first: all that have are looked at, however many.
        let looks = looks || kept.len() < LOOKS;
        match if looks { backend.record(version).await? } else { None } {
            Some(Slot::Record(record)) if record.time_ms <= oldest && version <= newest.version => {
                backend.drop_retained(&record).await?;
            }
            _ => kept.push(version),
        }
    }
    for version in expired_records(backend, newest, oldest, &kept).await? {
        backend.trim_record(version).await?;
    }
    Ok(())
}

/// The time before which everything is older than `retention`, milliseconds since 1970.
pub(crate) fn oldest_kept(retention: Duration) -> Result<i64> {
    let retention = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
    Ok(now_ms()?.saturating_sub(retention))
}

/// Whether the record of each retained version is looked at, beside the oldest: a few in turn, so
/// that a commit costs the same however many there are, and a record whose clock was wrong doesn't
/// keep what comes after it for ever.
fn looked_at(retained: &[u64], turn: u64) -> impl Iterator<Item = (bool, u64)> {
    let count = retained.len() as u64;
    let first = (turn * LOOKS as u64).checked_rem(count).unwrap_or(0);
    (0..count)
        .zip(retained)
        .map(move |(index, version)| ((index + count - first) % count < LOOKS as u64, *version))
}

/// The records to trim. One goes once the one after it is older than the retention: until then it
/// was the newest at some time within. The schema of the oldest one that stays is kept too, and
/// those that `retained` files belong to.
pub(crate) async fn expired_records(
    backend: &dyn Backend,
    newest: &Record,
    oldest: i64,
    retained: &[u64],
) -> Result<Vec<u64>> {
    let mut schemas = vec![schema_version(newest)];
    let versions = backend.record_versions().await?;
    let stubs = count_stubs(backend, &versions).await?;
    let mut expired = Vec::new();
    let mut last: Option<Arc<Record>> = None;
    for version in versions.into_iter().skip(stubs) {
        let Some(record) = backend.record(version).await?.and_then(Slot::into_record) else {
            continue;
        };
        if record.time_ms > oldest || version + NEWEST_RECORDS > newest.version + 1 {
            break;
        }
        expired.extend(last.replace(record).map(|record| record.version));
    }
    schemas.extend(last.map(|last| schema_version(&last)));
    expired.retain(|version| !schemas.contains(&Some(*version)) && !retained.contains(version));
    Ok(expired)
}

/// The newest version up to a record that set the schema.
fn schema_version(record: &Record) -> Option<u64> {
    if record.schema.is_some() { Some(record.version) } else { record.schema_version }
}

/// How many of the oldest versions are stubs: found by halves, as they come before all records but
/// the few that stay.
async fn count_stubs(backend: &dyn Backend, versions: &[u64]) -> Result<usize> {
    let (mut stubs, mut records) = (0, versions.len());
    while stubs < records {
        let middle = stubs.midpoint(records);
        match backend.record(versions[middle]).await? {
            Some(Slot::Stub { .. }) => stubs = middle + 1,
            _ => records = middle,
        }
    }
    Ok(stubs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_retained_version_has_its_turn() {
        let retained: Vec<u64> = (100..150).collect();
        let mut seen = std::collections::BTreeSet::new();
        for turn in 1..=retained.len() as u64 {
            let looked: Vec<u64> =
                looked_at(&retained, turn).filter_map(|(looks, v)| looks.then_some(v)).collect();
            assert_eq!(looked.len(), LOOKS);
            seen.extend(looked);
        }
        assert!(retained.iter().all(|version| seen.contains(version)));
        assert!(looked_at(&[1, 2, 3], 7).all(|(looks, _)| looks));
        assert_eq!(looked_at(&[], 7).count(), 0);
    }

    #[test]
    fn a_retention_is_a_number_with_a_unit() -> Result<()> {
        assert_eq!(parse_retention(DEFAULT_RETENTION_TEXT)?, DEFAULT_RETENTION);
        assert_eq!(parse_retention("12h")?, Duration::from_secs(12 * 3600));
        assert_eq!(parse_retention("0")?, Duration::ZERO);
        for wrong in ["7", "week", "-1 days", "1.5 days", ""] {
            assert!(parse_retention(wrong).is_err(), "{wrong}");
        }
        Ok(())
    }
}
