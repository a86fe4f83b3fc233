//! Going back to an earlier version.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::DataType;
use partwise_commit::*;
use partwise_testkit::{Fault, FaultyDisk};

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    a_bad_overwrite_is_undone,
    the_same_restore_twice_finds_nothing_to_do,
    a_restore_is_undone_by_another,
    partitions_that_are_as_they_were_are_not_touched,
    columns_partitions_and_properties_come_back,
    tokens_are_taken_back,
    a_run_that_was_taken_back_is_not_found_again,
    a_restore_counts_for_no_guard_and_to_the_current_version_for_nothing,
    past_the_retention_it_says_why_it_cannot,
    another_tools_files_come_back_and_its_later_work_is_named,
    appends_at_the_same_time_are_before_or_after,
    overwrites_at_the_same_time_never_lose_or_double_a_row,
    a_reader_across_restores_sees_one_version,
    partitions_of_odd_values_come_back,
    what_another_tool_removed_is_told_to_be_missing,
);

async fn restore(table: &Table, version: u64) -> Result<Restored> {
    table.restore(&Restore::to(version), &Lines).await
}

async fn a_bad_overwrite_is_undone(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1", "2"]), ("b", &["3"])]).await?;
    write(&table, Operation::Append, &[("a", &["4"])]).await?;
    let before = content(&table).await?;
    write(&table, fixed(&[]), &[("b", &["bad"]), ("n", &["bad"])]).await?;
    let restored = restore(&table, 2).await?;
    assert_eq!(content(&table).await?, before);
    let committed = restored.committed;
    assert_eq!((committed.version, committed.files_added, committed.rows_added), (4, 3, 4));
    assert_eq!((committed.rows_removed, committed.untouched), (2, 0));
    assert!(committed.warnings.is_empty() && restored.undone == Undone::default());
    let record = &table.records().await?[0];
    assert_eq!((record.operation, record.restored), (RecordedOperation::Restore, Some(2)));
    assert_eq!((record.totals.partitions, record.totals.files), (2, 3));
    assert_eq!((record.totals.rows, record.schema.is_some()), (Some(4), false));
    for version in 1..=4 {
        content_at(&table, version, &schema()).await?;
    }
    assert_eq!(content_at(&table, 3, &schema()).await?["p=n"], ["bad"]);
    assert!(place.exists("report/_SUCCESS").await);
    assert!(place.files("_partwise/report/staging").await.is_empty());
    write(&table, Operation::Append, &[("a", &["5"])]).await?;
    assert_eq!(content(&table).await?["p=a"], ["1", "2", "4", "5"]);
    Ok(())
}

async fn the_same_restore_twice_finds_nothing_to_do(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    write(&table, dynamic(), &[("a", &["bad"])]).await?;
    assert_eq!(restore(&table, 1).await?.committed.version, 3);
    let files = place.files("").await;
    let again = restore(&table, 1).await?.committed;
    assert_eq!((again.version, again.partitions.len(), again.untouched), (3, 0, 2));
    assert_eq!(place.files("").await, files);
    write(&table, dynamic(), &[("a", &["worse"])]).await?;
    assert_eq!(restore(&table, 1).await?.committed.version, 5);
    assert_eq!(content(&table).await?, rows(&[("a", &["1"]), ("b", &["2"])]));
    Ok(())
}

async fn a_restore_is_undone_by_another(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    write(&table, dynamic(), &[("a", &["3"]), ("n", &["4"])]).await?;
    let second = content(&table).await?;
    restore(&table, 1).await?;
    let first = content(&table).await?;
    restore(&table, 2).await?;
    assert_eq!(content(&table).await?, second);
    restore(&table, 3).await?;
    assert_eq!(content(&table).await?, first);
    let again = restore(&table, 1).await?.committed;
    assert_eq!(again.version, 5, "version 3 is version 1");
    restore(&table, 4).await?;
    assert_eq!(content(&table).await?, second);
    for (version, expected) in [(1, &first), (2, &second), (3, &first), (4, &second), (5, &first)] {
        assert_eq!(content_at(&table, version, &schema()).await?, *expected, "{version}");
    }
    Ok(())
}

async fn partitions_that_are_as_they_were_are_not_touched(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"]), ("c", &["3"])]).await?;
    let before = place.data_files().await;
    write(&table, Operation::Append, &[("a", &["bad"])]).await?;
    write(&table, fixed(&["c"]), &[]).await?;
    let committed = restore(&table, 1).await?.committed;
    let changed: Vec<_> = committed.partitions.iter().map(|p| p.key.clone()).collect();
    assert_eq!((changed, committed.untouched), (vec![key("a"), key("c")], 1));
    assert_eq!(committed.files_added, 1, "the file that a kept stays");
    let now = place.data_files().await;
    assert_eq!(before.iter().filter(|file| now.contains(file)).count(), 2);
    assert_eq!(content(&table).await?, rows(&[("a", &["1"]), ("b", &["2"]), ("c", &["3"])]));
    Ok(())
}

async fn replace(table: &Table, schema: &TableSchema, key: PartitionKey, row: &str) -> Result<()> {
    let properties = BTreeMap::from([("made".to_string(), row.to_string())]);
    let transaction = table.begin(schema, properties).await?;
    let staged = stage(&transaction, &[(key, &[row])]).await?;
    transaction.commit(Change::new(Operation::Replace, staged), &Lines).await.map(drop)
}

async fn columns_partitions_and_properties_come_back(place: Place) -> Result<()> {
    let table = place.table();
    let day = keyed_schema(&[("day", DataType::Date32)]);
    let flat = keyed_schema(&[]);
    let on = PartitionKey::new(vec![PartitionValue::Date(0)]);
    replace(&table, &schema(), key("a"), "1").await?;
    write(&table, Operation::Append, &[("b", &["2"])]).await?;
    let first = content(&table).await?;
    replace(&table, &day, on, "x").await?;
    replace(&table, &flat, PartitionKey::default(), "y").await?;
    let described = async |schema: &TableSchema, made: &str| {
        let description = table.describe().await?;
        assert_eq!(description.schema.as_ref(), Some(schema));
        assert_eq!(description.properties["made"], made);
        content_of(&table, schema.partition_columns()).await
    };
    restore(&table, 2).await?;
    assert_eq!(described(&schema(), "1").await?, first);
    assert_eq!(place.data_files().await.len(), 2);
    write(&table, Operation::Append, &[("b", &["3"])]).await?;
    restore(&table, 3).await?;
    assert_eq!(described(&day, "x").await?["day=1970-01-01"], ["x"]);
    restore(&table, 4).await?;
    assert_eq!(described(&flat, "y").await?["(whole table)"], ["y"]);
    assert_eq!(place.data_files().await.len(), 1);
    restore(&table, 5).await?;
    assert_eq!(described(&schema(), "1").await?, first);
    assert_eq!(content_at(&table, 7, &day).await?["day=1970-01-01"], ["x"]);
    assert_eq!(content_at(&table, 8, &flat).await?["(whole table)"], ["y"]);
    Ok(())
}

fn token(run: u64, step: u32) -> Token {
    Token { job: "nightly".into(), run, step, digest: "d".into() }
}

async fn append(table: &Table, row: &str, token: Token) -> Result<Committed> {
    write_with(table, Operation::Append, &[("a", &[row])], |c| c.token = Some(token)).await
}

async fn tokens_are_taken_back(place: Place) -> Result<()> {
    let table = place.table();
    append(&table, "1", token(1, 0)).await?;
    append(&table, "2", token(2, 0)).await?;
    append(&table, "3", token(2, 1)).await?;
    let restored = restore(&table, 1).await?;
    assert_eq!(restored.undone.taken_back, [token(2, 1), token(2, 0)]);
    assert!(restored.undone.brought_back.is_empty());
    assert_eq!(table.applied(&token(1, 0)).await?.map(|done| done.version), Some(1));
    assert_eq!(table.applied(&token(2, 0)).await?, None);
    let edited = Token { digest: "e".into(), ..token(1, 0) };
    assert_eq!(table.applied(&edited).await.unwrap_err().kind(), ErrorKind::Refused);
    assert!(append(&table, "1", token(1, 0)).await?.replayed);
    assert!(!append(&table, "2", token(2, 0)).await?.replayed);
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "2"])]));
    assert!(append(&table, "2", token(2, 0)).await?.replayed);
    // Nothing but the tokens differs: that is a commit too.
    write_with(&table, Operation::Append, &[], |c| c.token = Some(token(3, 0))).await?;
    let only = restore(&table, 5).await?;
    assert_eq!((only.committed.version, only.undone.taken_back), (7, vec![token(3, 0)]));
    assert!(!append(&table, "3", token(3, 0)).await?.replayed);
    // What was taken back before isn't taken back again.
    let undone = restore(&table, 3).await?.undone;
    assert_eq!(undone.taken_back, [token(3, 0), token(2, 0)]);
    assert_eq!(undone.brought_back, [token(2, 0), token(2, 1)]);
    assert_eq!(content(&table).await?["p=a"], ["1", "2", "3"]);
    assert!(append(&table, "3", token(2, 1)).await?.replayed);
    Ok(())
}

async fn a_run_that_was_taken_back_is_not_found_again(place: Place) -> Result<()> {
    let table = place.table();
    append(&table, "1", token(1, 0)).await?;
    append(&table, "6", token(6, 0)).await?;
    append(&table, "7", token(7, 0)).await?;
    restore(&table, 1).await?;
    append(&table, "7", token(7, 0)).await?;
    let error = append(&table, "6", token(6, 0)).await.unwrap_err();
    assert!(error.to_string().contains("To backfill"), "{error}");
    assert!(append(&table, "1", token(1, 0)).await?.replayed);
    Ok(())
}

async fn a_restore_counts_for_no_guard_and_to_the_current_version_for_nothing(
    place: Place,
) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[]).await?;
    let twenty = ["x"; 20];
    write(&table, Operation::Append, &[("a", &twenty)]).await?;
    assert_eq!(restore(&table, 2).await?.committed.version, 2);
    let committed = restore(&table, 1).await?.committed;
    assert_eq!((committed.version, committed.rows_removed), (3, 20));
    assert!(content(&table).await?.is_empty());
    assert_eq!(restore(&table, 4).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(table.describe().await?.version, Some(3));
    Ok(())
}

async fn past_the_retention_it_says_why_it_cannot(place: Place) -> Result<()> {
    let table = place.table();
    for n in ["1", "2", "3", "4"] {
        write(&table, dynamic(), &[("a", &[n])]).await?;
    }
    for version in 1..=2 {
        place.date_back(version, 8 * 24).await;
    }
    write(&table, dynamic(), &[("a", &["5"])]).await?;
    let error = restore(&table, 1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("is too old"), "{error}");
    assert!(error.to_string().contains("retention (7 days)"), "{error}");
    restore(&table, 2).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["2"])]));
    let foreign = Table::new(place.location("other"));
    place.put("other/p=a/x.parquet", "1\n").await;
    let error = restore(&foreign, 1).await.unwrap_err();
    assert!(error.to_string().contains("has no log"), "{error}");
    assert_eq!(place.files("other").await, ["other/p=a/x.parquet"]);
    Ok(())
}

async fn another_tools_files_come_back_and_its_later_work_is_named(place: Place) -> Result<()> {
    let table = place.table();
    place.put("report/p=a%20b/data_0.parquet", "1\n").await;
    place.put("report/p=c/000000_0", "2\n").await;
    write(&table, Operation::Append, &[("d", &["3"])]).await?;
    let before = content(&table).await?;
    write(&table, fixed(&[]), &[("d", &["4"])]).await?;
    restore(&table, 1).await?;
    assert_eq!(content(&table).await?, before);
    assert_eq!(table.records().await?[0].totals.rows, Some(3));
    place.put("report/p=a%20b/data_0.parquet", "11\n").await;
    let error = restore(&table, 1).await.unwrap_err();
    assert!(error.to_string().contains("another tool has been at p=a%20b since"), "{error}");
    assert_eq!(content(&table).await?["p=a b"], ["1", "11"]);
    Ok(())
}

async fn appends_at_the_same_time_are_before_or_after(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["0"])]).await?;
    write(&table, dynamic(), &[("a", &["bad"])]).await?;
    let appending = async || {
        let mut made = Vec::new();
        for n in 1..=12 {
            let row = n.to_string();
            let committed = write(&table, Operation::Append, &[("a", &[&row])]).await?;
            made.push((committed.version, row));
        }
        Ok::<_, Error>(made)
    };
    let restoring = async || {
        let mut last = 0;
        for _ in 0..3 {
            last = restore(&table, 1).await?.committed.version;
        }
        Ok::<_, Error>(last)
    };
    let (made, restored) = futures::try_join!(appending(), restoring())?;
    let mut expected = vec!["0".to_string()];
    expected.extend(made.into_iter().filter(|(v, _)| *v > restored).map(|(_, row)| row));
    expected.sort();
    assert_eq!(content(&table).await?["p=a"], expected);
    assert_eq!(place.data_files().await.len(), expected.len());
    Ok(())
}

async fn overwrites_at_the_same_time_never_lose_or_double_a_row(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["0"]), ("b", &["0"])]).await?;
    let overwriting = async || {
        for n in 1..=12 {
            let row = n.to_string();
            write(&table, dynamic(), &[("a", &[&row]), ("b", &[&row])]).await?;
        }
        Ok::<_, Error>(())
    };
    let restoring = async || {
        for _ in 0..6 {
            restore(&table, 1).await?;
            tokio::task::yield_now().await;
        }
        Ok::<_, Error>(())
    };
    futures::try_join!(overwriting(), restoring())?;
    let newest = &table.records().await?[0];
    let now = content(&table).await?;
    assert_eq!((now["p=a"].len(), &now["p=a"]), (1, &now["p=b"]));
    assert_eq!(now["p=a"] == ["0"], newest.restored == Some(1), "{now:?}");
    assert_eq!(place.data_files().await.len(), 2);
    assert_eq!(newest.totals.rows, Some(2));
    Ok(())
}

async fn a_reader_across_restores_sees_one_version(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["0"]), ("b", &["0"]), ("c", &["0"])]).await?;
    let writer = {
        let table = table.clone();
        tokio::spawn(async move {
            for n in 1..=15 {
                let text = n.to_string();
                let row: &[&str] = &[&text];
                write(&table, dynamic(), &[("a", row), ("b", row), ("c", row)]).await?;
                let back = table.describe().await?.version.unwrap_or(1) - 1;
                restore(&table, back).await?;
            }
            Ok::<(), Error>(())
        })
    };
    let mut answers = 0;
    while !writer.is_finished() {
        let seen = content(&table).await?;
        let values: Vec<&Vec<String>> = seen.values().collect();
        assert_eq!(values.len(), 3, "{seen:?}");
        assert!(values.iter().all(|rows| rows.len() == 1 && *rows == values[0]), "{seen:?}");
        let then = content_at(&table, 1, &schema()).await?;
        assert!(then.values().all(|rows| rows == &["0"]), "{then:?}");
        answers += 1;
    }
    writer.await.unwrap()?;
    assert!(answers > 0);
    assert_eq!(content(&table).await?["p=a"], ["0"]);
    Ok(())
}

async fn partitions_of_odd_values_come_back(place: Place) -> Result<()> {
    let table = place.table();
    let odd = ["a/b", "a=b", "a%b", "a b", "\u{e9}", "..", "NULL", "{}"];
    let mut files: Vec<(PartitionKey, &[&str])> = odd.map(|o| (key(o), &["x"][..])).to_vec();
    files.push((PartitionKey::new(vec![PartitionValue::Null]), &["x"]));
    write_keys(&table, &schema(), Operation::Create, &files, |_| {}).await?;
    let before = content(&table).await?;
    write(&table, fixed(&[]), &[]).await?;
    assert!(content(&table).await?.is_empty());
    restore(&table, 1).await?;
    assert_eq!(content(&table).await?, before);
    Ok(())
}

async fn what_another_tool_removed_is_told_to_be_missing(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    write(&table, dynamic(), &[("a", &["bad"])]).await?;
    let files = place.data_files().await;
    place.remove(files.iter().find(|file| file.contains("p=b")).unwrap()).await;
    let committed = restore(&table, 1).await?.committed;
    assert_eq!(committed.warnings.len(), 1, "{:?}", committed.warnings);
    assert!(committed.warnings[0].contains("had 2 files by the log and 1 are found"));
    assert_eq!(content(&table).await?, rows(&[("a", &["1"])]));
    Ok(())
}

#[tokio::test]
async fn on_a_disk_a_file_comes_back_by_a_second_name_or_without_such_by_a_copy() -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    for links in [true, false] {
        let place = Place::local();
        let Location::Local { dir, .. } = place.location("report") else { panic!("local") };
        let disk = FaultyDisk::sound();
        let disk = if links { disk } else { disk.without_links() };
        let table = Table::new(Location::Local { disk: Arc::new(disk), dir: dir.clone() });
        write(&table, Operation::Create, &[("a", &["1"])]).await?;
        let inode = |file: &str| {
            std::fs::metadata(dir.join(file.trim_start_matches("report/"))).unwrap().ino()
        };
        let before = inode(&place.data_files().await[0]);
        write(&table, dynamic(), &[("a", &["bad"])]).await?;
        restore(&table, 1).await?;
        assert_eq!(content(&table).await?, rows(&[("a", &["1"])]));
        assert_eq!(inode(&place.data_files().await[0]) == before, links);
    }
    Ok(())
}

/// Stopped at every call of the disk, where columns and layout come back too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_restore_of_other_columns_is_before_or_after() -> Result<()> {
    let day = keyed_schema(&[("day", DataType::Date32)]);
    let template = Place::local();
    let on = |place: &Place, disk: FaultyDisk| {
        let Location::Local { dir, .. } = place.location("report") else { panic!("local") };
        Table::new(Location::Local { disk: Arc::new(disk), dir })
    };
    let sound = on(&template, FaultyDisk::sound());
    replace(&sound, &schema(), key("a"), "1").await?;
    write(&sound, Operation::Append, &[("b", &["2"])]).await?;
    replace(&sound, &day, PartitionKey::new(vec![PartitionValue::Date(0)]), "x").await?;
    let state = async |table: &Table| {
        let schema = table.describe().await?.schema.unwrap();
        content_of(table, schema.partition_columns()).await
    };
    let (before, after) = (state(&sound).await?, content_at(&sound, 2, &schema()).await?);
    for at in 0.. {
        let place = template.copy();
        let disk = FaultyDisk::new(Fault::Stop, at);
        let result = restore(&on(&place, disk.clone()), 2).await;
        let point = format!("at {at} {:?}: {result:?}", disk.calls().get(at));
        let table = on(&place, FaultyDisk::sound());
        let seen = state(&table).await?;
        assert!(seen == after || (result.is_err() && seen == before), "{point}: {seen:?}");
        // Whoever writes next finishes it, and a restore of the restore does nothing more.
        restore(&table, 2).await?;
        assert_eq!(state(&table).await?, after, "{point}");
        assert_eq!(place.data_files().await.len(), 2, "{point}");
        assert!(place.files("_partwise/report/staging").await.is_empty(), "{point}");
        if !disk.hit() {
            assert!(at > 100, "{at}");
            return result.map(drop);
        }
    }
    Ok(())
}
