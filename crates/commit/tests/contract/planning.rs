//! What a snapshot of a few partitions looks at: no more for a large table than for a small one.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_schema::DataType;
use object_store::path::Path as StorePath;
use partwise_commit::*;
use partwise_testkit::{Faults, FaultyDisk, FaultyStore};

use crate::place::Place;
use crate::support::{Lines, dynamic, keyed_schema, one_of, stage, write_keys};

/// Partitions whose first column is one of these, named or only told apart.
struct Of {
    values: Vec<PartitionValue>,
    named: bool,
}

fn named(values: &[i64]) -> Of {
    Of { values: values.iter().map(|value| PartitionValue::Int(*value)).collect(), named: true }
}

impl PartitionSelector for Of {
    fn select(&self, prefixes: &[Vec<PartitionValue>]) -> Result<Vec<bool>> {
        Ok(prefixes.iter().map(|prefix| self.values.contains(&prefix[0])).collect())
    }

    fn leading_values(&self) -> Vec<Vec<PartitionValue>> {
        if self.named { vec![self.values.clone()] } else { Vec::new() }
    }
}

fn schema() -> TableSchema {
    keyed_schema(&[("k", DataType::Int64)])
}

fn key(value: i64) -> PartitionKey {
    PartitionKey::new(vec![PartitionValue::Int(value)])
}

async fn write(table: &Table, operation: Operation, keys: std::ops::Range<i64>) -> Result<()> {
    let files: Vec<(PartitionKey, &[&str])> = keys.map(|k| (key(k), &["1"][..])).collect();
    write_keys(table, &schema(), operation, &files, |_| {}).await.map(|_| ())
}

/// The table of a memory place, its requests counted.
fn counted(place: &Place) -> (Table, Faults) {
    let Place::Memory(store) = place else { panic!("a memory place") };
    let requests = Faults::none();
    let store = FaultyStore::new(Arc::clone(store) as _, requests.clone());
    (Table::new(Location::store(Arc::new(store), StorePath::from("lake/report"))), requests)
}

/// The requests of a snapshot, and how many files it gave.
async fn looks(place: &Place, selector: &dyn PartitionSelector) -> Result<(Vec<String>, usize)> {
    let (table, requests) = counted(place);
    let snapshot = table.snapshot(schema().partition_columns(), selector).await?;
    let files = snapshot.partitions.iter().map(|partition| partition.files.len()).sum();
    Ok((requests.trace(), files))
}

/// Those that list the table or look into it.
fn in_table(looks: &[String]) -> Vec<&str> {
    let in_table =
        |look: &&str| look.contains("lake/report/") || look.starts_with("list_with_delimiter");
    let marks = |look: &&str| look.contains("/_");
    looks.iter().map(String::as_str).filter(in_table).filter(|look| !marks(look)).collect()
}

fn foreign_key(value: &str) -> String {
    format!("report/k={value}/f.parquet")
}

/// Numbers of partitions to compare: small ones, or those of `PARTWISE_PARTITIONS=10000,100000`.
fn sizes() -> Vec<i64> {
    let wide = std::env::var("PARTWISE_PARTITIONS").unwrap_or_else(|_| "20,400".into());
    wide.split(',').map(|size| size.trim().parse().expect("a number of partitions")).collect()
}

#[tokio::test]
async fn a_named_partition_of_ours_is_gone_to_however_many_there_are() -> Result<()> {
    let mut counts = Vec::new();
    for partitions in sizes() {
        let place = Place::memory();
        write(&place.table(), Operation::Create, 0..partitions).await?;
        let (looks, files) = looks(&place, &named(&[7])).await?;
        assert_eq!(in_table(&looks), ["list lake/report/k=7"]);
        assert_eq!(files, 1);
        counts.push(looks.len());
    }
    println!("requests for one of {:?} partitions: {counts:?}", sizes());
    assert!(counts.iter().all(|count| *count == counts[0] && *count < 15), "{counts:?}");
    Ok(())
}

#[tokio::test]
async fn two_named_partitions_are_two_lists_and_one_that_is_not_there_is_empty() -> Result<()> {
    let place = Place::memory();
    write(&place.table(), Operation::Create, 0..20).await?;
    let (looks, files) = looks(&place, &named(&[3, 999])).await?;
    assert_eq!(in_table(&looks), ["list lake/report/k=3", "list lake/report/k=999"]);
    assert_eq!(files, 1);
    Ok(())
}

#[tokio::test]
async fn a_condition_that_names_none_lists_the_level_and_descends_into_what_matches() -> Result<()>
{
    let place = Place::memory();
    write(&place.table(), Operation::Create, 0..20).await?;
    let (looks, files) = looks(&place, &Of { named: false, ..named(&[3, 4]) }).await?;
    let expected =
        ["list_with_delimiter lake/report", "list lake/report/k=3", "list lake/report/k=4"];
    assert_eq!(in_table(&looks), expected);
    assert_eq!(files, 2);
    Ok(())
}

#[tokio::test]
async fn a_foreign_tree_is_one_list_of_the_level() -> Result<()> {
    let place = Place::memory();
    for value in ["07", "7", "8", "9"] {
        place.put(&foreign_key(value), "1\n").await;
    }
    let (looks, files) = looks(&place, &named(&[7])).await?;
    let expected =
        ["list_with_delimiter lake/report", "list lake/report/k=07", "list lake/report/k=7"];
    assert_eq!(in_table(&looks), expected);
    assert_eq!(files, 2);
    Ok(())
}

#[tokio::test]
async fn another_spelling_that_a_listing_finds_turns_it_off() -> Result<()> {
    let place = Place::memory();
    write(&place.table(), Operation::Create, 0..20).await?;
    place.put(&foreign_key("07"), "1\n").await;
    looks(&place, &AllPartitions).await?;
    let (looks_then, files) = looks(&place, &named(&[7])).await?;
    assert!(in_table(&looks_then).contains(&"list_with_delimiter lake/report"), "{looks_then:?}");
    assert_eq!(files, 2);
    Ok(())
}

#[tokio::test]
async fn a_commit_says_how_the_directories_it_finds_are_spelled() -> Result<()> {
    let place = Place::memory();
    let canonical = || async {
        let records = place.table().records().await?;
        Ok::<_, Error>(records[0].canonical_paths == schema().partition_columns())
    };
    write(&place.table(), Operation::Create, 0..3).await?;
    assert!(canonical().await?);
    place.put(&foreign_key("007"), "1\n").await;
    write(&place.table(), Operation::Append, 1..2).await?;
    assert!(!canonical().await?);
    let (_, files) = looks(&place, &named(&[7])).await?;
    assert_eq!(files, 1);
    write(&place.table(), Operation::Replace, 0..3).await?;
    assert!(canonical().await?);
    Ok(())
}

#[tokio::test]
async fn a_declared_scope_keeps_what_is_known_of_the_rest() -> Result<()> {
    let place = Place::memory();
    let table = place.table();
    let columns = crate::support::schema();
    let part = |p: &str| PartitionKey::new(vec![PartitionValue::Text(p.into())]);
    let files: Vec<(PartitionKey, &[&str])> = vec![(part("a"), &["1"]), (part("b"), &["2"])];
    write_keys(&table, &columns, Operation::Create, &files, |_| {}).await?;
    let transaction = table.begin(&columns, Default::default()).await?;
    let staged = stage(&transaction, &[(part("a"), &["3"])]).await?;
    let mut change = Change::new(dynamic(), staged);
    change.scope = Some(one_of(&["a"]));
    transaction.commit(change, &Lines).await?;
    assert_eq!(table.records().await?[0].canonical_paths, columns.partition_columns());
    Ok(())
}

#[tokio::test]
async fn other_columns_than_the_records_are_looked_for_by_their_names() -> Result<()> {
    let place = Place::memory();
    write(&place.table(), Operation::Create, 0..20).await?;
    let (table, requests) = counted(&place);
    let declared = [PartitionColumn::new("K", PartitionType::Int64)];
    let snapshot = table.snapshot(&declared, &named(&[7])).await?;
    assert_eq!(snapshot.partitions.len(), 1);
    assert!(in_table(&requests.trace()).contains(&"list_with_delimiter lake/report"));
    Ok(())
}

/// The table of a local place, its calls counted.
fn watched(place: &Place) -> (Table, FaultyDisk, std::path::PathBuf) {
    let Place::Local(lake) = place else { panic!("a local place") };
    let (disk, dir) = (FaultyDisk::sound(), lake.path().join("report"));
    (Table::new(Location::Local { disk: Arc::new(disk.clone()), dir: dir.clone() }), disk, dir)
}

/// Waits until a directory's times tell of each further change; false where this file system's
/// never do.
async fn settled(dir: &Path) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        if LocalDisk.directory_state(dir).unwrap().is_some() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

#[tokio::test]
async fn names_are_remembered_until_one_comes_or_goes() -> Result<()> {
    let place = Place::local();
    write(&place.table(), Operation::Create, 0..3).await?;
    let (table, disk, dir) = watched(&place);
    if !settled(&dir).await {
        return Ok(());
    }
    let (lists, columns) =
        (|| disk.calls().iter().filter(|call| **call == "list").count(), schema());
    let columns = columns.partition_columns();
    let mut counts = Vec::new();
    for _ in 0..2 {
        let before = lists();
        table.snapshot(columns, &named(&[1, 7])).await?;
        counts.push(lists() - before);
    }
    assert_eq!(counts, [2, 1], "level and leaf, then the leaf alone");

    place.put(&foreign_key("07"), "1\n").await;
    let snapshot = table.snapshot(columns, &named(&[1, 7])).await?;
    assert_eq!(snapshot.partitions.len(), 2, "a directory that came");
    std::fs::remove_dir_all(dir.join("k=07")).unwrap();
    std::fs::rename(dir.join("k=1"), dir.join("k=9")).unwrap();
    let snapshot = table.snapshot(columns, &named(&[1, 7, 9])).await?;
    assert_eq!(snapshot.partitions.len(), 1, "directories that went");
    Ok(())
}

#[tokio::test]
async fn a_file_of_the_same_name_and_size_is_not_taken_for_ours() -> Result<()> {
    let place = Place::local();
    write(&place.table(), Operation::Create, 0..1).await?;
    let (table, _, dir) = watched(&place);
    let columns = schema();
    let columns = columns.partition_columns();
    let rows = |snapshot: &Snapshot| snapshot.partitions[0].files[0].rows;
    let before = table.snapshot(columns, &AllPartitions).await?;
    assert_eq!(rows(&before), Some(1));
    let path = dir.join(&before.partitions[0].files[0].path);
    std::fs::write(&path, "\n\n").unwrap();
    let after = table.snapshot(columns, &AllPartitions).await?;
    assert_eq!(after.partitions[0].files[0].identity.size, 2, "as large as it was");
    assert_eq!(rows(&after), None);
    Ok(())
}
