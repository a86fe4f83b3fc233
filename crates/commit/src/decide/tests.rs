//! Each rule of `decide`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::change::Reads;
use crate::partition::{PartitionType, partition_path};
use crate::record::{FileStats, Identity};
use crate::snapshot::{DataFile, PartitionFiles};
use crate::token::Token;
use crate::{Error, ErrorKind};

fn columns() -> Vec<PartitionColumn> {
    vec![PartitionColumn::new("p", PartitionType::Int32)]
}

fn key(value: i64) -> PartitionKey {
    PartitionKey::new(vec![PartitionValue::Int(value)])
}

fn base(columns: &[PartitionColumn]) -> Base<'_> {
    Base {
        shown: "report".into(),
        table: "id".into(),
        transaction: TransactionId::random(),
        time_ms: 1,
        version: 4,
        outcome: Some(Outcome::Done),
        exists: true,
        columns,
        schema: None,
        schema_version: Some(1),
        canonical: true,
        jobs: BTreeMap::new(),
        older_step: None,
        winner: "version 4 (append)".into(),
        totals: Totals { partitions: 2, files: 2, rows: Some(20), bytes: Some(20) },
    }
}

fn staged(partition: i64, name: &str, rows: u64) -> StagedFile {
    StagedFile {
        partition: key(partition),
        directory: format!("p={partition}"),
        name: name.into(),
        identity: Identity { size: rows, ..Identity::default() },
        rows,
        stats: FileStats::default(),
        upload: None,
    }
}

/// One file of 10 rows in each of the partitions.
fn snapshot(partitions: &[i64]) -> Snapshot {
    let partition = |value: &i64| PartitionFiles {
        key: key(*value),
        path: format!("p={value:02}"),
        files: vec![DataFile {
            path: format!("p={value:02}/old.parquet"),
            identity: Identity { size: 10, modified_ns: Some(5), etag: None },
            rows: Some(10),
            stats: None,
            retained: None,
            version: None,
            modified_ms: None,
        }],
    };
    let partitions = partitions.iter().map(partition).collect();
    Snapshot { version: Some(4), partitions, warnings: Vec::new() }
}

fn decided(change: &Change, base: &Base<'_>, snapshot: &Snapshot) -> Result<Decision> {
    decide(change, base, snapshot, &|key| partition_path(base.columns, key))
}

fn record_of(change: &Change, snapshot: &Snapshot) -> Result<Record> {
    let columns = columns();
    match decided(change, &base(&columns), snapshot)? {
        Decision::Write(record) => Ok(*record),
        other => Err(Error::internal(format!("{other:?}"))),
    }
}

fn written(files: Vec<StagedFile>) -> Change {
    Change::new(Operation::Overwrite(Coverage::Written), files)
}

#[test]
fn an_append_removes_nothing() -> Result<()> {
    let change = Change::new(Operation::Append, vec![staged(1, "new", 3)]);
    let record = record_of(&change, &snapshot(&[1]))?;
    let partition = &record.partitions[0];
    assert_eq!((record.version, record.previous), (5, Some(Outcome::Done)));
    assert!(partition.removed.is_empty());
    assert_eq!((partition.rows_before, partition.rows_after), (10, 13));
    assert_eq!((partition.path.as_str(), partition.staged.as_deref()), ("p=01", Some("p=1")));
    assert_eq!(record.totals, Totals { partitions: 2, files: 3, rows: Some(23), bytes: Some(23) });
    Ok(())
}

#[test]
fn an_overwrite_removes_all_that_is_there_by_identity() -> Result<()> {
    let record = record_of(&written(vec![staged(1, "new", 9)]), &snapshot(&[1]))?;
    let removed = &record.partitions[0].removed[0];
    assert_eq!(removed.path, "p=01/old.parquet");
    assert_eq!(removed.identity, Identity { size: 10, modified_ns: Some(5), etag: None });
    assert_eq!(record.totals.rows, Some(19));
    Ok(())
}

#[test]
fn matching_partitions_without_rows_end_empty() -> Result<()> {
    let change = Change::new(Operation::Overwrite(Coverage::Matching(vec![])), vec![]);
    let record = record_of(&change, &snapshot(&[1, 2]))?;
    assert!(record.partitions.iter().all(|p| p.added.is_empty() && p.removed.len() == 1));
    assert_eq!((record.totals.partitions, record.totals.files), (0, 0));
    assert_eq!(record.scope, Some(RecordedScope::Matching(vec![])));
    Ok(())
}

#[test]
fn nothing_written_changes_nothing() -> Result<()> {
    let columns = columns();
    let decision = decided(&written(vec![]), &base(&columns), &snapshot(&[]))?;
    assert_eq!(decision, Decision::Unchanged);
    let append = Change::new(Operation::Append, vec![]);
    let fresh = Base { version: 0, outcome: None, exists: false, ..base(&columns) };
    assert_eq!(decided(&append, &fresh, &snapshot(&[]))?, Decision::Unchanged);
    Ok(())
}

#[test]
fn the_guard_names_each_partition_and_both_ways_on() -> Result<()> {
    let mut change = written(vec![staged(1, "a", 0), staged(2, "b", 9), staged(3, "c", 1)]);
    change.max_shrink = Some(0.9);
    let Err(error) = record_of(&change, &snapshot(&[1, 2])) else {
        return Err(Error::internal("not stopped"));
    };
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(
        error.to_string(),
        "the overwrite would shrink p=1 (10 -> 0 rows) (a partition it doesn't name may lose at \
         most partwise.max_shrink = 0.9 of its rows); nothing was changed. If it is meant, declare \
         the scope with PARTITION (...), or SET partwise.max_shrink = 1"
    );
    change.max_shrink = Some(1.0);
    record_of(&change, &snapshot(&[1, 2]))?;
    change.operation = Operation::Overwrite(Coverage::Matching(vec![]));
    change.max_shrink = Some(0.0);
    record_of(&change, &snapshot(&[1, 2]))?;
    Ok(())
}

#[test]
fn files_outside_the_coverage_are_refused() {
    let matching = Coverage::Matching(vec![(0, PartitionValue::Int(1))]);
    let change = Change::new(Operation::Overwrite(matching), vec![staged(2, "x", 1234)]);
    let error = record_of(&change, &snapshot(&[1])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("p=2: 1,234 rows"), "{error}");
}

#[test]
fn a_name_is_added_once() {
    let change = Change::new(Operation::Append, vec![staged(1, "x", 1), staged(1, "x", 1)]);
    assert_eq!(record_of(&change, &snapshot(&[])).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn a_version_after_the_one_read_is_a_conflict_that_names_the_winner() -> Result<()> {
    let mut change = written(vec![staged(1, "x", 1)]);
    change.read_version = Some(3);
    let error = record_of(&change, &snapshot(&[1])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("version 4 (append)"), "{error}");
    change.read_version = Some(4);
    record_of(&change, &snapshot(&[1]))?;
    Ok(())
}

#[derive(Debug)]
struct ReadAll(Vec<(String, Identity)>);

impl Reads for ReadAll {
    fn missed(&self, file: &DataFile) -> Result<bool> {
        Ok(!self.0.contains(&(file.path.clone(), file.identity.clone())))
    }
}

#[test]
fn a_file_that_the_statement_did_not_read_is_not_removed() -> Result<()> {
    let there = snapshot(&[1, 2]);
    let files = there.partitions.iter().flat_map(|partition| &partition.files);
    let mut read: Vec<_> = files.map(|f| (f.path.clone(), f.identity.clone())).collect();
    let mut change = Change::new(Operation::Replace, vec![staged(1, "x", 1)]);
    change.reads = vec![Arc::new(ReadAll(read.clone()))];
    record_of(&change, &there)?;
    read[1].1.size += 1;
    change.reads = vec![Arc::new(ReadAll(read))];
    let error = record_of(&change, &there).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("p=02/old.parquet"), "{error}");
    change.operation = Operation::Append;
    record_of(&change, &there)?;
    Ok(())
}

#[test]
fn creating_over_something_names_it() {
    let error = record_of(&Change::new(Operation::Create, vec![]), &snapshot(&[])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().starts_with("report has data already"), "{error}");
}

#[test]
fn tokens_are_replayed_refused_or_new() -> Result<()> {
    let columns = columns();
    let steps = BTreeMap::from([(0, StepState { digest: "d".into(), version: 3 })]);
    let jobs = BTreeMap::from([("j".to_string(), JobState { run: 7, steps })]);
    let decision = |run, step, digest: &str, older: Option<StepState>| {
        let mut change = Change::new(Operation::Append, vec![staged(1, "x", 1)]);
        change.token = Some(Token { job: "j".into(), run, step, digest: digest.into() });
        // A replay comes before every other check.
        change.read_version = (run <= 7 && step == 0).then_some(0);
        let base = Base { jobs: jobs.clone(), older_step: older, ..base(&columns) };
        decided(&change, &base, &snapshot(&[]))
    };
    assert_eq!(decision(7, 0, "d", None)?, Decision::Replayed(3));
    assert!(matches!(decision(7, 1, "d", None)?, Decision::Write(_)));
    assert!(matches!(decision(8, 0, "e", None)?, Decision::Write(_)));
    assert_eq!(decision(7, 0, "e", None).unwrap_err().kind(), ErrorKind::Refused);
    assert_eq!(decision(6, 0, "d", None).unwrap_err().kind(), ErrorKind::Refused);
    let held = StepState { digest: "d".into(), version: 2 };
    assert_eq!(decision(6, 0, "d", Some(held))?, Decision::Replayed(2));
    Ok(())
}

#[test]
fn numbers_are_grouped_by_thousands() {
    let grouped = [1, 999, 1_000, 77_530, 1_234_567].map(refuse::grouped);
    assert_eq!(grouped, ["1", "999", "1,000", "77,530", "1,234,567"]);
}
