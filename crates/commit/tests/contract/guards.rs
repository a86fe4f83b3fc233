//! What stops a write: the guard, tokens, conflicts, the declared partitions.

use std::collections::BTreeMap;

use partwise_commit::*;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    a_table_that_is_gone_is_not_made_anew,
    an_update_keeps_the_number_of_rows,
    an_overwrite_that_would_wipe_out_a_partition_is_stopped,
    the_guard_allows_a_fraction,
    a_named_partition_may_shrink,
    rows_outside_the_declared_partition_are_refused,
    a_token_applies_once,
    a_run_below_the_last_is_told_how_to_backfill,
    a_token_without_rows_counts_too,
    a_later_version_than_the_one_read_is_a_conflict,
    the_guard_counts_the_rows_of_foreign_files,
);

const TEN: &[&str] = &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

async fn an_overwrite_that_would_wipe_out_a_partition_is_stopped(place: Place) -> Result<()> {
    let table = place.table();
    let twenty: Vec<&str> = TEN.iter().chain(TEN).copied().collect();
    write(&table, Operation::Create, &[("a", &twenty), ("b", TEN)]).await?;
    let files = place.files("").await;
    let overwrite: &[(&str, &[&str])] = &[("a", &["x"]), ("b", TEN), ("c", &["y"])];
    let error = write_with(&table, dynamic(), overwrite, |change| change.max_shrink = Some(0.9))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    let text = error.to_string();
    assert!(text.contains("shrink p=a (20 -> 1 row)"), "{text}");
    assert!(!text.contains("p=b"), "{text}");
    assert!(text.contains("PARTITION (...)") && text.contains("partwise.max_shrink = 1"), "{text}");
    assert_eq!(place.files("").await, files, "nothing changed");
    write_with(&table, dynamic(), overwrite, |change| change.max_shrink = Some(1.0)).await?;
    assert_eq!(content(&table).await?["p=a"], ["x"]);
    Ok(())
}

async fn the_guard_allows_a_fraction(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", TEN)]).await?;
    write_with(&table, dynamic(), &[("a", &["x"])], |change| change.max_shrink = Some(0.9)).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["x"])]));
    Ok(())
}

async fn a_named_partition_may_shrink(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", TEN)]).await?;
    write_with(&table, fixed(&["a"]), &[], |change| change.max_shrink = Some(0.0)).await?;
    assert!(content(&table).await?.is_empty());
    Ok(())
}

async fn rows_outside_the_declared_partition_are_refused(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let error = write(&table, fixed(&["a"]), &[("a", &["2"]), ("b", &["3"])]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("p=b: 1 row"), "{error}");
    assert_eq!(content(&table).await?, rows(&[("a", &["1"])]));
    Ok(())
}

fn token(run: u64, step: u32, digest: &str) -> impl FnOnce(&mut Change) {
    let token = Token { job: "nightly".into(), run, step, digest: digest.into() };
    move |change| change.token = Some(token)
}

async fn a_token_applies_once(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[]).await?;
    let append: &[(&str, &[&str])] = &[("a", &["1"])];
    for _ in 0..3 {
        let first = write_with(&table, Operation::Append, append, token(7, 0, "one")).await?;
        let second = write_with(&table, Operation::Append, append, token(7, 1, "two")).await?;
        assert_eq!((first.version, second.version), (2, 3));
    }
    assert!(write_with(&table, Operation::Append, append, token(7, 1, "two")).await?.replayed);
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "1"])]));
    let other = write_with(&table, Operation::Append, append, token(7, 0, "else")).await;
    let error = other.unwrap_err();
    assert!(error.to_string().contains("applied as version 2 by another statement"), "{error}");
    write_with(&table, Operation::Append, append, token(8, 0, "one")).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "1", "1"])]));
    Ok(())
}

async fn a_run_below_the_last_is_told_how_to_backfill(place: Place) -> Result<()> {
    let table = place.table();
    let append: &[(&str, &[&str])] = &[("a", &["1"])];
    write_with(&table, Operation::Append, append, token(5, 0, "x")).await?;
    write_with(&table, Operation::Append, append, token(9, 0, "x")).await?;
    let held = write_with(&table, Operation::Append, append, token(5, 0, "x")).await?;
    assert_eq!((held.version, held.replayed), (1, true));
    let unheld = write_with(&table, Operation::Append, append, token(6, 0, "x")).await;
    let error = unheld.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("To backfill"), "{error}");
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "1"])]));
    Ok(())
}

async fn a_token_without_rows_counts_too(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[]).await?;
    assert_eq!(write_with(&table, Operation::Append, &[], token(1, 0, "x")).await?.version, 2);
    let again =
        write_with(&table, Operation::Append, &[("a", &["late"])], token(1, 0, "x")).await?;
    assert!(again.replayed);
    assert!(content(&table).await?.is_empty());
    Ok(())
}

async fn a_later_version_than_the_one_read_is_a_conflict(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    write(&table, Operation::Append, &[("a", &["2"])]).await?;
    let read = |version| move |change: &mut Change| change.read_version = Some(version);
    let error = write_with(&table, dynamic(), &[("a", &["3"])], read(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("version 2 (append by partwise"), "{error}");
    write_with(&table, dynamic(), &[("a", &["3"])], read(2)).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["3"])]));
    Ok(())
}

async fn the_guard_counts_the_rows_of_foreign_files(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    place.put("report/p=a/data_0.parquet", &"x\n".repeat(99)).await;
    let guarded = |change: &mut Change| change.max_shrink = Some(0.9);
    let error = write_with(&table, dynamic(), &[("a", &["2"])], guarded).await.unwrap_err();
    assert!(error.to_string().contains("p=a (100 -> 1 row)"), "{error}");
    Ok(())
}

async fn a_table_that_is_gone_is_not_made_anew(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let late = table.begin(&schema(), BTreeMap::new()).await?;
    let staged = stage(&late, &[(key("b"), &["2"])]).await?;
    table.purge().await?;
    let mut change = Change::new(Operation::Append, staged);
    change.was_there = true;
    let error = late.commit(change, &Lines).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Unavailable), "{error}");
    for operation in [Operation::Append, dynamic()] {
        let written =
            write_with(&table, operation, &[("b", &["2"])], |change| change.was_there = true);
        let error = written.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert!(error.to_string().contains("dropped or renamed"), "{error}");
    }
    assert!(!table.describe().await?.has_data);
    write(&table, Operation::Append, &[("b", &["2"])]).await?;
    assert_eq!(content(&table).await?, rows(&[("b", &["2"])]));
    Ok(())
}

async fn an_update_keeps_the_number_of_rows(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1", "2"]), ("b", &["3"])]).await?;
    let update = |change: &mut Change| change.recorded_as = Some(RecordedOperation::Update);
    let error = write_with(&table, dynamic(), &[("a", &["1"])], update).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "2"]), ("b", &["3"])]));
    write_with(&table, dynamic(), &[("a", &["1"]), ("b", &["3", "2"])], update).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["1"]), ("b", &["2", "3"])]));
    Ok(())
}
