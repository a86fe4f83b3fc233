//! Rolling forward: whoever wants to commit first finishes what the one before left.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::backend::{Backend, Life, Meta, Published, Slot, SuccessMarker};
use crate::record::{Outcome, Record};
use crate::schema::RecordedSchema;
use crate::snapshot::{counts, missing_record};
use crate::token::{JobState, StepState};
use crate::{Error, Result, names};

/// The state that a commit builds on: all that was logged is finished.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    /// The log's `table.json`; none where there is no log.
    pub(crate) meta: Option<Meta>,
    /// The newest version's record.
    pub(crate) record: Option<Arc<Record>>,
    /// How it ended.
    pub(crate) outcome: Option<Outcome>,
    /// Schema and properties at that version, and the version that set them.
    pub(crate) schema: Option<(u64, RecordedSchema)>,
}

impl Head {
    /// The newest version, 0 without one.
    pub(crate) fn version(&self) -> u64 {
        self.record.as_ref().map_or(0, |record| record.version)
    }

    /// The last run of each job.
    pub(crate) fn jobs(&self) -> BTreeMap<String, JobState> {
        match (&self.record, &self.outcome) {
            (Some(record), Some(outcome)) => jobs_after(record, outcome),
            _ => BTreeMap::new(),
        }
    }
}

/// The last run of each job after a record.
pub(crate) fn jobs_after(record: &Record, outcome: &Outcome) -> BTreeMap<String, JobState> {
    let mut jobs = record.jobs.clone();
    if let Some(token) = record.token.as_ref().filter(|_| counts(outcome)) {
        let job = jobs.entry(token.job.clone()).or_default();
        if job.run != token.run {
            *job = JobState { run: token.run, steps: BTreeMap::new() };
        }
        let step = StepState { digest: token.digest.clone(), version: record.version };
        job.steps.insert(token.step, step);
    }
    jobs
}

/// Finishes what is logged and not finished, and says what there is then. An earlier life's log is
/// set aside.
pub(crate) async fn settle(backend: &dyn Backend) -> Result<Head> {
    match backend.look().await?.life() {
        Life::Unlogged => {
            let found = backend.record_versions().await?;
            if found.is_empty() { Ok(Head::default()) } else { Err(lost(backend, names::TABLE)) }
        }
        Life::Other(meta) => {
            backend.set_aside(&meta.table).await?;
            Ok(Head::default())
        }
        Life::Unborn(meta) => settle_first(backend, meta).await,
        Life::Ours(meta, published) => settle_next(backend, meta, published).await,
    }
}

/// What is published, without finishing anything.
pub(crate) async fn published(backend: &dyn Backend) -> Result<Head> {
    let look = backend.look().await?;
    match look.life() {
        Life::Unlogged | Life::Other(_) => Ok(Head::default()),
        Life::Unborn(meta) => Ok(Head { meta: Some(meta), ..Head::default() }),
        Life::Ours(meta, published) => {
            let record = backend.record(published.version).await?.and_then(Slot::into_record);
            let Some(record) = record else { return Err(missing_record(backend, &look)) };
            head(backend, meta, record, published.outcome).await
        }
    }
}

fn lost(backend: &dyn Backend, what: &str) -> Error {
    Error::corrupt(format!(
        "the log of {} holds records but no {what}: restore it, or move the log folder away (the \
         data stays, history and undo are lost)",
        backend.shown()
    ))
}

/// A second version is logged once the first is published: then that was said, and is gone.
pub(crate) async fn check_unborn(backend: &dyn Backend) -> Result<()> {
    match backend.record_versions().await?.iter().any(|version| *version > 1) {
        true => Err(lost(backend, names::PUBLISHED)),
        false => Ok(()),
    }
}

/// A log that nothing was published in: its first record may wait.
async fn settle_first(backend: &dyn Backend, meta: Meta) -> Result<Head> {
    check_unborn(backend).await?;
    match backend.record(1).await? {
        None => Ok(Head { meta: Some(meta), ..Head::default() }),
        Some(Slot::Record(record)) => {
            check_table(backend, &record, &meta)?;
            let outcome = finish(backend, &record).await?;
            head(backend, meta, record, outcome).await
        }
        Some(Slot::Stub { .. }) => Err(lost(backend, names::PUBLISHED)),
    }
}

async fn settle_next(backend: &dyn Backend, meta: Meta, published: Published) -> Result<Head> {
    let version = published.version;
    let Some(own) = backend.record(version).await?.and_then(Slot::into_record) else {
        return Err(lost(backend, &names::record(version)));
    };
    check_table(backend, &own, &meta)?;
    after_publish(backend, &own, &published.outcome).await?;
    match backend.record(version + 1).await? {
        None => head(backend, meta, own, published.outcome).await,
        Some(Slot::Record(next)) => {
            check_table(backend, &next, &meta)?;
            let outcome = finish(backend, &next).await?;
            head(backend, meta, next, outcome).await
        }
        Some(Slot::Stub { .. }) => Err(lost(backend, &names::record(version + 1))),
    }
}

fn check_table(backend: &dyn Backend, record: &Record, meta: &Meta) -> Result<()> {
    if record.table == meta.table {
        return Ok(());
    }
    Err(Error::corrupt(format!(
        "{} of {} belongs to the table {}, not to {}: restore it, or move the log folder away (the \
         data stays, history and undo are lost)",
        names::record(record.version),
        backend.shown(),
        record.table,
        meta.table
    )))
}

/// Completes, publishes and cleans a logged record; how it ended.
async fn finish(backend: &dyn Backend, record: &Record) -> Result<Outcome> {
    let outcome = complete(backend, record).await?;
    after_publish(backend, record, &outcome).await?;
    Ok(outcome)
}

/// Brings a logged record in and publishes it; the settled outcome.
pub(crate) async fn complete(backend: &dyn Backend, record: &Record) -> Result<Outcome> {
    let properties = properties_at(backend, record, &Outcome::Done).await?;
    let proposed = backend.complete(record, SuccessMarker::of(&properties)?).await?;
    backend.publish(record.version, proposed).await
}

/// What follows the switch: clean, then `_SUCCESS`.
pub(crate) async fn after_publish(
    backend: &dyn Backend,
    record: &Record,
    outcome: &Outcome,
) -> Result<()> {
    let properties = properties_at(backend, record, outcome).await?;
    backend.clean(record, outcome).await?;
    if counts(outcome) {
        backend.mark_success(record, SuccessMarker::of(&properties)?).await?;
    }
    Ok(())
}

async fn properties_at(
    backend: &dyn Backend,
    record: &Record,
    outcome: &Outcome,
) -> Result<BTreeMap<String, String>> {
    let schema = schema_at(backend, record, outcome).await?;
    Ok(schema.map(|(_, schema)| schema.properties).unwrap_or_default())
}

async fn head(
    backend: &dyn Backend,
    meta: Meta,
    record: Arc<Record>,
    outcome: Outcome,
) -> Result<Head> {
    let schema = schema_at(backend, &record, &outcome).await?;
    Ok(Head { meta: Some(meta), record: Some(record), outcome: Some(outcome), schema })
}

/// The schema at a record's version, and the version that set it.
pub(crate) async fn schema_at(
    backend: &dyn Backend,
    record: &Record,
    outcome: &Outcome,
) -> Result<Option<(u64, RecordedSchema)>> {
    if let Some(schema) = record.schema.as_ref().filter(|_| counts(outcome)) {
        return Ok(Some((record.version, schema.clone())));
    }
    let Some(version) = record.schema_version else { return Ok(None) };
    let setter = backend.record(version).await?.and_then(Slot::into_record);
    let schema = setter.and_then(|setter| setter.schema.clone());
    match schema {
        Some(schema) => Ok(Some((version, schema))),
        None => Err(lost(backend, &names::record(version))),
    }
}
