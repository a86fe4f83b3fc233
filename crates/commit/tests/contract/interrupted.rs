//! Commits that stop between the log and the end, and what another tool does before the next write.

use std::sync::Arc;

use partwise_commit::*;
use partwise_testkit::FaultyDisk;

use crate::place::Place;
use crate::support::*;

fn on(place: &Place, disk: FaultyDisk) -> Table {
    let Location::Local { dir, .. } = place.location("report") else { panic!("a local place") };
    Table::new(Location::Local { disk: Arc::new(disk), dir })
}

/// A table of `a: 1` and `b: 2`, and an overwrite of `a` with 9 and a new `n` that was stopped.
async fn interrupted(disk: FaultyDisk) -> Result<(Place, Table)> {
    let place = Place::local();
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    let stopped = write(&on(&place, disk), dynamic(), &[("a", &["9"]), ("n", &["8"])]).await;
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Unavailable);
    Ok((place, table))
}

/// Stopped with the record logged and nothing moved: the first link is the probe's.
async fn logged() -> Result<(Place, Table)> {
    let (place, table) = interrupted(FaultyDisk::stopping_after("link", 2)).await?;
    assert_eq!(place.files("_partwise/report/log").await.len(), 2);
    assert!(place.files("_partwise/report/retained").await.is_empty());
    assert_eq!(place.data_files().await.len(), 2);
    Ok((place, table))
}

/// Stopped right after `a` was swapped.
async fn swapped() -> Result<(Place, Table)> {
    let (place, table) = interrupted(FaultyDisk::stopping_after("exchange", 1)).await?;
    assert_eq!(place.files("_partwise/report/retained/2/p=a").await.len(), 1);
    assert_eq!(place.files("_partwise/report/staging").await.len(), 2);
    Ok((place, table))
}

fn old(place: &Place, partition: &str) -> String {
    let Place::Local(lake) = place else { panic!("a local place") };
    let dir = format!("report/p={partition}");
    let entry = std::fs::read_dir(lake.path().join(&dir)).unwrap().next().unwrap().unwrap();
    format!("{dir}/{}", entry.file_name().to_str().unwrap())
}

const BEFORE: &[(&str, &[&str])] = &[("a", &["1"]), ("b", &["2"])];
const AFTER: &[(&str, &[&str])] = &[("a", &["9"]), ("b", &["2"]), ("n", &["8"])];

#[tokio::test]
async fn readers_see_the_old_table_until_the_next_write_finishes_it() -> Result<()> {
    let (_place, table) = logged().await?;
    assert_eq!(content(&table).await?, rows(BEFORE));
    assert_eq!(write(&table, dynamic(), &[]).await?.version, 2);
    assert_eq!(content(&table).await?, rows(AFTER));
    Ok(())
}

#[tokio::test]
async fn a_partition_that_another_tool_replaced_in_between_is_skipped() -> Result<()> {
    let (place, table) = logged().await?;
    place.remove(&old(&place, "a")).await;
    place.put("report/p=a/data_0.parquet", "77\n").await;
    assert_eq!(content(&table).await?, rows(&[("a", &["77"]), ("b", &["2"])]));
    assert_eq!(write(&table, Operation::Append, &[("z", &["5"])]).await?.version, 3);
    let expected = rows(&[("a", &["77"]), ("b", &["2"]), ("n", &["8"]), ("z", &["5"])]);
    assert_eq!(content(&table).await?, expected);
    let previous = table.records().await?[0].previous.clone();
    assert_eq!(previous, Some(Outcome::Skipped { partitions: vec!["p=a".to_string()] }));
    assert_eq!(place.data_files().await.len(), 4);
    Ok(())
}

#[tokio::test]
async fn a_partition_that_another_tool_replaced_under_the_same_name_is_skipped() -> Result<()> {
    let (place, table) = logged().await?;
    place.put(&old(&place, "a"), "777\n").await;
    write(&table, Operation::Append, &[("z", &["5"])]).await?;
    assert_eq!(content(&table).await?["p=a"], ["777"]);
    Ok(())
}

#[tokio::test]
async fn what_another_tool_appended_in_between_stays() -> Result<()> {
    let (place, table) = logged().await?;
    place.put("report/p=a/data_0.parquet", "77\n").await;
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "77"]), ("b", &["2"])]));
    write(&table, Operation::Append, &[("z", &["5"])]).await?;
    assert_eq!(content(&table).await?["p=a"], ["77", "9"]);
    Ok(())
}

#[tokio::test]
async fn a_commit_whose_staged_file_is_gone_is_void() -> Result<()> {
    let (place, table) = logged().await?;
    let staged = place.files("_partwise/report/staging").await;
    let gone = staged.iter().find(|file| file.contains("p=n")).unwrap();
    place.remove(gone).await;
    assert_eq!(content(&table).await?, rows(BEFORE));
    assert_eq!(write(&table, Operation::Append, &[("z", &["5"])]).await?.version, 3);
    let expected = rows(&[("a", &["1"]), ("b", &["2"]), ("z", &["5"])]);
    assert_eq!(content(&table).await?, expected);
    let versions: Vec<u64> = table.records().await?.iter().map(|record| record.version).collect();
    assert_eq!(versions, [3, 1]);
    assert_eq!(place.data_files().await.len(), 3);
    assert!(place.files("_partwise/report/staging").await.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_commit_voided_after_a_swap_is_undone() -> Result<()> {
    let (place, table) = swapped().await?;
    assert_eq!(content(&table).await?, rows(BEFORE));
    let staged = place.files("_partwise/report/staging").await;
    let gone = staged.iter().find(|file| file.contains("p=n"));
    place.remove(gone.unwrap()).await;
    assert_eq!(content(&table).await?, rows(BEFORE));
    write(&table, Operation::Append, &[("z", &["5"])]).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["1"]), ("b", &["2"]), ("z", &["5"])]));
    assert!(place.files("_partwise/report/retained").await.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_file_that_arrives_in_the_middle_of_a_swap_stays() -> Result<()> {
    let (place, table) = interrupted(FaultyDisk::stopping_before("exchange", 1)).await?;
    place.put("report/p=a/data_0.parquet", "77\n").await;
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "77"]), ("b", &["2"])]));
    write(&table, Operation::Append, &[("z", &["5"])]).await?;
    assert_eq!(content(&table).await?["p=a"], ["77", "9"]);
    Ok(())
}

#[tokio::test]
async fn after_the_swap_another_tools_content_stands() -> Result<()> {
    let (place, table) = swapped().await?;
    assert_eq!(content(&table).await?, rows(BEFORE));
    place.remove(&old(&place, "a")).await;
    place.put("report/p=a/data_0.parquet", "77\n").await;
    assert_eq!(content(&table).await?["p=a"], ["77"]);
    write(&table, Operation::Append, &[("z", &["5"])]).await?;
    assert_eq!(content(&table).await?["p=a"], ["77"]);
    Ok(())
}

/// Another tool replaced `a` between the last look at it and the swap, which took the tool's file
/// along; then the writer was stopped.
#[tokio::test]
async fn what_a_swap_took_along_of_another_tools_content_comes_back() -> Result<()> {
    let (place, table) = interrupted(FaultyDisk::stopping_before("exchange", 1)).await?;
    let Place::Local(lake) = &place else { panic!("a local place") };
    let live = lake.path().join("report/p=a");
    let retained = lake.path().join("_partwise/report/retained/2/p=a");
    let aside = lake.path().join("aside");
    place.remove(&old(&place, "a")).await;
    place.put("report/p=a/data_0.parquet", "77\n").await;
    std::fs::rename(&live, &aside).unwrap();
    std::fs::rename(&retained, &live).unwrap();
    std::fs::rename(&aside, &retained).unwrap();
    write(&table, Operation::Append, &[("z", &["5"])]).await?;
    let expected = rows(&[("a", &["77"]), ("b", &["2"]), ("n", &["8"]), ("z", &["5"])]);
    assert_eq!(content(&table).await?, expected);
    assert_eq!(place.files("report/p=a").await, ["report/p=a/data_0.parquet"]);
    Ok(())
}

#[tokio::test]
async fn a_file_planted_in_staging_is_never_published() -> Result<()> {
    let (place, table) = logged().await?;
    let staged = place.files("_partwise/report/staging").await;
    for file in staged.iter().filter(|file| file.ends_with(".parquet")) {
        let dir = file.rsplit_once('/').unwrap().0;
        place.put(&format!("{dir}/planted.parquet"), "bad\n").await;
    }
    write(&table, Operation::Append, &[("z", &["5"])]).await?;
    let mut expected = rows(AFTER);
    expected.insert("p=z".to_string(), vec!["5".to_string()]);
    assert_eq!(content(&table).await?, expected);
    assert!(!place.files("").await.iter().any(|file| file.contains("planted")));
    Ok(())
}

#[tokio::test]
async fn a_dead_writers_staging_is_swept_and_a_living_ones_is_not() -> Result<()> {
    let place = Place::local();
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let living = table.begin(&schema(), Default::default()).await?;
    let staged = stage(&living, &[(key("a"), &["2"])]).await?;
    place.put("_partwise/report/staging/dead/p=a/part-x.parquet", "bad\n").await;
    write(&table, Operation::Append, &[("b", &["3"])]).await?;
    let left = place.files("_partwise/report/staging").await;
    assert!(left.iter().all(|file| file.contains(living.id().as_str())), "{left:?}");
    assert_eq!(left.len(), 2, "{left:?}");
    living.commit(Change::new(Operation::Append, staged), &Lines).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "2"]), ("b", &["3"])]));
    Ok(())
}
