//! A table under another name.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use partwise_commit::*;
use partwise_testkit::{Fault, Faults, FaultyDisk};

use crate::place::Place;
use crate::support::*;

const BEFORE: &[(&str, &[&str])] = &[("a", &["1"]), ("b", &["2", "3"])];

fn lake(place: &Place) -> &Path {
    let Place::Local(lake) = place else { panic!("a local place") };
    lake.path()
}

fn on(place: &Place, disk: FaultyDisk, name: &str) -> Location {
    Location::Local { disk: Arc::new(disk), dir: lake(place).join(name) }
}

fn renamed(place: &Place) -> Table {
    Table::new(place.location("other"))
}

async fn rename(table: &Table, place: &Place) -> Result<()> {
    table.rename(&place.location("other"), Duration::from_secs(5), "ALTER TABLE").await
}

/// A table of two versions and a retained file.
async fn filled(place: &Place) -> Result<Table> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["0"]), ("b", &["2", "3"])]).await?;
    write(&table, dynamic(), &[("a", &["1"])]).await?;
    Ok(table)
}

#[tokio::test]
async fn data_history_and_undo_move_along() -> Result<()> {
    let place = Place::local();
    let table = filled(&place).await?;
    rename(&table, &place).await?;
    let other = renamed(&place);
    assert_eq!(content(&other).await?, rows(BEFORE));
    assert_eq!(other.history().await?.len(), 2);
    assert!(!table.describe().await?.has_data);
    let names = |dir: &str| {
        let entries = std::fs::read_dir(lake(&place).join(dir)).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string()).collect();
        names.sort();
        names
    };
    assert_eq!(names(""), [Ok("_partwise".to_string()), Ok("other".to_string())]);
    assert_eq!(names("_partwise"), [Ok("other".to_string())]);
    other.restore(&Restore::to(1), &Lines).await?;
    assert_eq!(content(&other).await?, rows(&[("a", &["0"]), ("b", &["2", "3"])]));
    write(&table, Operation::Create, &[("x", &["9"])]).await?;
    assert_eq!(content(&table).await?, rows(&[("x", &["9"])]));
    Ok(())
}

#[tokio::test]
async fn a_tree_of_another_tool_is_renamed_too() -> Result<()> {
    let place = Place::local();
    place.put("report/p=a/data_0.parquet", "1\n").await;
    rename(&place.table(), &place).await?;
    assert_eq!(place.files("").await, ["other/p=a/data_0.parquet"]);
    Ok(())
}

#[tokio::test]
async fn a_taken_name_is_refused() -> Result<()> {
    let place = Place::local();
    let table = filled(&place).await?;
    place.put("other/p=a/data_0.parquet", "7\n").await;
    let error = rename(&table, &place).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("other is there already"), "{error}");
    assert_eq!(table.history().await?.len(), 2);
    std::fs::create_dir(lake(&place).join("empty")).unwrap();
    let free = place.location("free");
    let empty = Table::new(place.location("empty"));
    let error = empty.rename(&free, Duration::ZERO, "").await.unwrap_err();
    assert!(error.to_string().contains("holds no Parquet file"), "{error}");
    let nothing = Table::new(place.location("nothing"));
    let error = rename(&nothing, &place).await.unwrap_err();
    assert!(error.to_string().contains("there is no table"), "{error}");
    Ok(())
}

#[tokio::test]
async fn the_log_of_a_removed_table_of_that_name_is_kept_aside() -> Result<()> {
    let place = Place::local();
    let table = filled(&place).await?;
    write(&renamed(&place), Operation::Create, &[("x", &["9"])]).await?;
    std::fs::remove_dir_all(lake(&place).join("other")).unwrap();
    rename(&table, &place).await?;
    assert_eq!(content(&renamed(&place)).await?, rows(BEFORE));
    assert_eq!(renamed(&place).history().await?.len(), 2);
    let logs = place.files("_partwise").await;
    let aside: Vec<_> = logs.iter().filter(|file| file.starts_with("_partwise/other.")).collect();
    assert!(aside.iter().any(|file| file.ends_with("table.json")), "{aside:?}");
    Ok(())
}

#[tokio::test]
async fn a_rename_stopped_between_its_moves_leaves_a_plain_tree() -> Result<()> {
    let place = Place::local();
    let table = filled(&place).await?;
    let logs = lake(&place).join("_partwise");
    std::fs::rename(logs.join("report"), logs.join("other")).unwrap();
    assert_eq!(content(&table).await?, rows(BEFORE));
    assert_eq!(table.describe().await?.version, None);
    assert!(!renamed(&place).describe().await?.has_data);
    rename(&table, &place).await?;
    assert_eq!(renamed(&place).history().await?.len(), 2);
    assert_eq!(content(&renamed(&place)).await?, rows(BEFORE));
    Ok(())
}

#[tokio::test]
async fn what_is_logged_is_finished_before() -> Result<()> {
    let place = Place::local();
    let table = filled(&place).await?;
    let disk = FaultyDisk::stopping_after("exchange", 1);
    let stopped = Table::new(on(&place, disk, "report"));
    write(&stopped, dynamic(), &[("a", &["8"]), ("b", &["9"])]).await.unwrap_err();
    rename(&table, &place).await?;
    assert_eq!(content(&renamed(&place)).await?, rows(&[("a", &["8"]), ("b", &["9"])]));
    assert_eq!(renamed(&place).history().await?.len(), 3);
    Ok(())
}

#[tokio::test]
async fn a_write_begun_before_runs_again() -> Result<()> {
    let place = Place::local();
    let table = filled(&place).await?;
    let transaction = table.begin(&schema(), Default::default()).await?;
    let staged = stage(&transaction, &[(key("a"), &["7"])]).await?;
    rename(&table, &place).await?;
    let change = Change::new(Operation::Append, staged);
    let error = transaction.commit(change, &Lines).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(content(&renamed(&place)).await?, rows(BEFORE));
    assert!(!lake(&place).join("report").exists());
    Ok(())
}

#[tokio::test]
async fn a_link_and_another_folder_are_refused() -> Result<()> {
    let place = Place::local();
    let table = filled(&place).await?;
    std::os::unix::fs::symlink(lake(&place).join("report"), lake(&place).join("link")).unwrap();
    let error = rename(&Table::new(place.location("link")), &place).await.unwrap_err();
    assert!(error.to_string().contains("is a link"), "{error}");
    let elsewhere = place.location("elsewhere/other");
    let error = table.rename(&elsewhere, Duration::ZERO, "").await.unwrap_err();
    assert!(error.to_string().contains("within its folder"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_store_has_no_rename() -> Result<()> {
    let place = Place::memory();
    write(&place.table(), Operation::Create, BEFORE).await?;
    let error = rename(&place.table(), &place).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("CREATE TABLE .. AS SELECT"), "{error}");
    Ok(())
}

/// A fault at every call: the data is whole under one of the names, and the same rename run again
/// brings the history along.
async fn sweep(fault: Fault) -> Result<()> {
    let template = Place::local();
    filled(&template).await?;
    for at in 0.. {
        let place = template.copy();
        let faults = Faults::at(fault, at);
        let on = |name| on(&place, FaultyDisk::with(faults.clone()), name);
        let result = Table::new(on("report"))
            .rename(&on("other"), Duration::from_secs(5), "ALTER TABLE")
            .await;
        let point = format!("{fault:?} at {at} {:?}: {result:?}", faults.trace().get(at));
        let (table, other) = (place.table(), renamed(&place));
        let is_old = table.describe().await?.has_data;
        assert!(is_old != other.describe().await?.has_data, "{point}");
        assert!(!is_old || result.is_err(), "{point}");
        let seen = content(if is_old { &table } else { &other }).await?;
        assert_eq!(seen, rows(BEFORE), "{point}");
        if is_old {
            rename(&table, &place).await?;
        }
        assert_eq!(content(&other).await?, rows(BEFORE), "{point}");
        assert_eq!(other.history().await?.len(), 2, "{point}");
        write(&other, Operation::Append, &[("z", &["9"])]).await?;
        let vacuumed = other.vacuum(&Vacuum::default()).await?;
        assert!(vacuumed.warnings.is_empty(), "{point}: {vacuumed:?}");
        if !faults.hit() {
            assert!(at > 20, "{at}");
            return result;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped_at_any_call_a_rename_can_be_finished() -> Result<()> {
    sweep(Fault::Stop).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_an_error_at_any_call_a_rename_can_be_finished() -> Result<()> {
    sweep(Fault::Error).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_work_and_say_they_did_not_end_in_one_name() -> Result<()> {
    sweep(Fault::Landed).await
}
