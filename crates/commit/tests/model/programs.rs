//! What the processes do: the product's own steps, in the product's order.

use super::protocol::TABLE_ID;
use super::state::{Content, End, Said, Taken};
use super::table::{Mutation, Watched};
use crate::backend::{Backend, Logged, Slot};
use crate::change::Change;
use crate::decide::{Base, Decision, Touched, decide, directory_for};
use crate::record::{Record, TransactionId};
use crate::recover::{Head, after_publish, complete, settle};
use crate::schema::{RecordedSchema, TableSchema};
use crate::snapshot::{AllPartitions, DataFile, Snapshot, take, take_for_commit};
use crate::{Error, Operation, Result, keep, names};

use std::collections::BTreeMap;
use std::time::Duration;

/// A statement that writes.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) change: Change,
    pub(super) transaction: TransactionId,
}

/// What a writer comes to before its record is in the log.
pub(super) enum Planned {
    Logged(Box<Record>),
    /// Another writer's record took the version: once more.
    Again,
    Nothing,
}

/// From the lock to the commit point.
pub(super) async fn plan(table: &Watched, write: &Write, schema: &TableSchema) -> Result<Planned> {
    let _hold = table.hold(Duration::ZERO, "").await?;
    if table.mutation == Mutation::SweepLogged {
        table.sweep(&write.transaction).await;
    }
    let head = match table.mutation {
        Mutation::LogBeforeClean => settle(&table.without_clean()).await?,
        _ => settle(table).await?,
    };
    table.sweep(&write.transaction).await;
    let columns = schema.partition_columns();
    let touched = Touched::by(&write.change);
    let newest = head.record.clone();
    let (snapshot, levels) = match write.change.operation {
        Operation::Create => Default::default(),
        _ => take_for_commit(table, columns, newest, &touched).await?,
    };
    let base = base(&head, write, schema);
    let record = match decided(&write.change, &base, &snapshot, &levels)? {
        Decision::Write(record) => *record,
        _ => return Ok(Planned::Nothing),
    };
    Ok(match table.log(&record).await? {
        Logged::Won => Planned::Logged(Box::new(record)),
        Logged::Lost => Planned::Again,
        Logged::Unknown(error) => return Err(error),
    })
}

fn decided(
    change: &Change,
    base: &Base<'_>,
    snapshot: &Snapshot,
    levels: &crate::snapshot::Levels,
) -> Result<Decision> {
    decide(change, base, snapshot, &|key| directory_for(base.columns, levels, key))
}

fn base<'a>(head: &Head, write: &Write, schema: &'a TableSchema) -> Base<'a> {
    // A marker tells readers nothing: without one there is less to explore.
    let properties = BTreeMap::from([("success_marker".to_string(), "none".to_string())]);
    let recorded = || RecordedSchema::new(schema, properties);
    Base {
        shown: String::new(),
        table: TABLE_ID.to_string(),
        transaction: write.transaction.clone(),
        time_ms: 0,
        version: head.version(),
        outcome: head.outcome.clone(),
        exists: head.version() > 0,
        columns: schema.partition_columns(),
        schema: head.schema.is_none().then(recorded),
        schema_version: head.schema.as_ref().map(|(version, _)| *version),
        // Also the other tool spells directories as we do.
        canonical: true,
        jobs: head.jobs(),
        older_step: None,
        winner: String::new(),
        totals: head.record.as_ref().map(|record| record.totals).unwrap_or_default(),
    }
}

/// From the commit point to the switch.
pub(super) async fn bring_in(table: &Watched, record: &Record) -> Result<End> {
    complete(table, record).await.map(End::from)
}

/// What follows the switch.
pub(super) async fn clean(table: &Watched, record: &Record, end: End, trims: bool) -> Result<()> {
    after_publish(table, record, &end.into()).await?;
    if trims { keep::house(table, record, Duration::ZERO).await } else { Ok(()) }
}

/// Finishes what is logged and sweeps what the dead left.
pub(super) async fn help(table: &Watched, own: &TransactionId) -> Result<Said> {
    let _hold = table.hold(Duration::ZERO, "").await?;
    settle(table).await?;
    table.sweep(own).await;
    Ok(Said::Finished)
}

/// On a store, where nobody waits: the record that whoever comes next finishes, if one is logged.
pub(super) async fn unfinished(table: &Watched) -> Result<Option<Record>> {
    let published = table.look().await?.published.map_or(0, |published| published.version);
    let next = table.record(published + 1).await?.and_then(Slot::into_record);
    Ok(next.map(|record| Record::clone(&record)))
}

/// VACUUM on a store: the uploads of transactions that aren't logged.
pub(super) async fn unlogged(table: &Watched, uploads: Vec<String>) -> Result<Vec<String>> {
    let mut logged = Vec::new();
    for version in table.record_versions().await? {
        let record = table.record(version).await?.and_then(Slot::into_record);
        logged.extend(record.map(|record| record.transaction.to_string()));
    }
    let sweeps_all = table.mutation == Mutation::SweepLogged;
    let is_logged = |upload: &String| logged.iter().any(|txn| upload.contains(txn));
    Ok(uploads.into_iter().filter(|upload| sweeps_all || !is_logged(upload)).collect())
}

/// Takes a snapshot.
pub(super) async fn look_around(table: &Watched, schema: &TableSchema) -> Result<Taken> {
    let snapshot = take(table, schema.partition_columns(), &AllPartitions).await?;
    let files = snapshot.partitions.into_iter().flat_map(|partition| partition.files);
    Ok(Taken {
        version: snapshot.version.unwrap_or_default(),
        files: files.map(|file| (file.path, file.identity, file.retained)).collect(),
    })
}

/// Reads the next file of a snapshot; what is left, and what was read by now.
pub(super) async fn fetch(
    table: &Watched,
    mut taken: Taken,
    mut content: Content,
) -> Result<(Taken, Content)> {
    let Some((path, identity, retained)) = taken.files.pop() else { return Ok((taken, content)) };
    let file = DataFile {
        path,
        identity,
        rows: None,
        stats: None,
        retained,
        version: None,
        modified_ms: None,
    };
    let open = table.open(&file).await?;
    let bytes = open.read(0..open.size()).await?;
    table.script.stop().await;
    let byte = bytes.first().copied();
    let byte = byte.ok_or_else(|| Error::internal(format!("{} is empty", file.path)))?;
    content.entry(names::split(&file.path).0.to_string()).or_default().insert(byte);
    Ok((taken, content))
}
