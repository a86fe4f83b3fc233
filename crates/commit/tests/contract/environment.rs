//! What the surroundings do: disks that are full, closed or odd, stores that are down, clocks.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use partwise_commit::*;
use partwise_testkit::{Fault, Faults, FaultyDisk};
use rustix::io::Errno;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    a_clock_that_jumps_back_loses_nothing,
    two_overwrites_leave_one_in_either_order,
    a_place_that_is_down_says_so,
);

const BEFORE: &[(&str, &[&str])] = &[("a", &["1"]), ("b", &["2"])];

fn lake(place: &Place) -> &Path {
    let Place::Local(lake) = place else { panic!("a local place") };
    lake.path()
}

fn on(place: &Place, disk: FaultyDisk) -> Table {
    Table::new(Location::Local { disk: Arc::new(disk), dir: lake(place).join("report") })
}

async fn prepared() -> Result<Place> {
    let place = Place::local();
    write(&place.table(), Operation::Create, BEFORE).await?;
    Ok(place)
}

/// An overwrite of `a` with 9 and a new `n`.
async fn overwrite(table: &Table) -> Result<Committed> {
    write(table, dynamic(), &[("a", &["9"]), ("n", &["8"])]).await
}

fn overwritten() -> Content {
    rows(&[("a", &["9"]), ("b", &["2"]), ("n", &["8"])])
}

async fn a_clock_that_jumps_back_loses_nothing(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, BEFORE).await?;
    overwrite(&table).await?;
    // The records are two days ahead of this machine's clock.
    place.date_back(1, -48).await;
    place.date_back(2, -48).await;
    write(&table, dynamic(), &[("a", &["10"])]).await?;
    let expected = rows(&[("a", &["10"]), ("b", &["2"]), ("n", &["8"])]);
    assert_eq!(content(&table).await?, expected);
    assert_eq!(table.vacuum(&Vacuum::default()).await?, Vacuumed::default());
    assert_eq!(content_at(&table, 2, &schema()).await?, overwritten());
    table.restore(&Restore::to(1), &Lines).await?;
    assert_eq!(content(&table).await?, rows(BEFORE));
    Ok(())
}

async fn two_overwrites_leave_one_in_either_order(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, BEFORE).await?;
    for x_first in [true, false] {
        let (x, y) = (begin(&table, "x").await?, begin(&table, "y").await?);
        let (first, second) = if x_first { (x, y) } else { (y, x) };
        for (transaction, staged) in [first, second] {
            transaction.commit(Change::new(dynamic(), staged), &Lines).await?;
        }
        let last = if x_first { "y" } else { "x" };
        assert_eq!(content(&table).await?, rows(&[("a", &[last, last]), ("b", &["2"])]));
    }
    Ok(())
}

async fn begin(table: &Table, text: &str) -> Result<(Transaction, Vec<StagedFile>)> {
    let transaction = table.begin(&schema(), Default::default()).await?;
    let staged = stage(&transaction, &[(key("a"), &[text, text])]).await?;
    Ok((transaction, staged))
}

async fn a_place_that_is_down_says_so(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, BEFORE).await?;
    let down = place.failing(Faults::at(Fault::Stop, 0));
    for error in [overwrite(&down).await.unwrap_err(), content(&down).await.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("fault at"), "{error}");
    }
    assert_eq!(content(&table).await?, rows(BEFORE));
    Ok(())
}

#[tokio::test]
async fn a_disk_that_fills_up_while_files_are_staged_leaves_the_table_as_it_was() -> Result<()> {
    let place = prepared().await?;
    for room in [0, 1, 3] {
        let error = overwrite(&on(&place, FaultyDisk::sound().with_room(room))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("No space left"), "{error}");
        assert_eq!(content(&place.table()).await?, rows(BEFORE));
        assert!(place.files("_partwise/report/staging").await.is_empty());
    }
    Ok(())
}

/// A small file system of its own; none where this user can't mount.
struct Mount(tempfile::TempDir);

impl Mount {
    fn new(skipped: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
            .arg(dir.path())
            .output();
        if mount.is_ok_and(|done| done.status.success()) {
            return Some(Self(dir));
        }
        eprintln!("skipped: {skipped}: this user can't mount");
        None
    }

    fn table(&self) -> Table {
        Table::new(Location::local(self.0.path().join("report")))
    }

    fn read_only(&self) {
        let args = ["-o", "remount,ro"];
        assert!(Command::new("mount").args(args).arg(self.0.path()).status().unwrap().success());
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[tokio::test]
async fn on_a_full_file_system_the_table_stays_and_can_be_written_once_there_is_room() -> Result<()>
{
    let Some(mount) = Mount::new("a full tmpfs") else { return Ok(()) };
    let table = mount.table();
    write(&table, Operation::Create, BEFORE).await?;
    let ballast = mount.0.path().join("ballast");
    let fills = std::fs::write(&ballast, vec![0; 1 << 20]);
    assert_eq!(fills.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    let error = overwrite(&table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("No space left"), "{error}");
    assert_eq!(content(&table).await?, rows(BEFORE));
    std::fs::remove_file(ballast).unwrap();
    overwrite(&table).await?;
    assert_eq!(content(&table).await?, overwritten());
    Ok(())
}

#[tokio::test]
async fn on_a_read_only_file_system_a_table_is_read_and_not_written() -> Result<()> {
    let Some(mount) = Mount::new("a read-only tmpfs") else { return Ok(()) };
    let table = mount.table();
    write(&table, Operation::Create, BEFORE).await?;
    mount.read_only();
    assert_eq!(content(&table).await?, rows(BEFORE));
    let error = overwrite(&table).await.unwrap_err();
    assert!(error.to_string().contains("Read-only file system"), "{error}");
    assert_eq!(content(&table).await?, rows(BEFORE));
    Ok(())
}

#[tokio::test]
async fn a_directory_that_cannot_be_changed_is_refused_before_anything_is() -> Result<()> {
    let place = prepared().await?;
    write(&place.table(), dynamic(), &[("a", &["1"])]).await?;
    for dir in ["report", "report/p=a", "_partwise/report", "_partwise/report/retained"] {
        let before = place.files("").await;
        let table = on(&place, FaultyDisk::sound().denying(lake(&place).join(dir)));
        let error = overwrite(&table).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let text = error.to_string();
        assert!(text.contains(dir) && text.contains("can't be changed by this user"), "{text}");
        assert!(text.contains("Permission denied"), "{text}");
        let lock = |file: &String| !file.ends_with("/lock");
        let now: Vec<String> = place.files("").await.into_iter().filter(lock).collect();
        assert_eq!(now, before.into_iter().filter(lock).collect::<Vec<_>>());
    }
    overwrite(&place.table()).await?;
    assert_eq!(content(&place.table()).await?, overwritten());
    Ok(())
}

#[tokio::test]
async fn a_folder_where_the_marker_goes_is_refused_before_anything_is_logged() -> Result<()> {
    let place = prepared().await?;
    let marker = lake(&place).join("report/_SUCCESS");
    std::fs::remove_file(&marker).unwrap();
    std::fs::create_dir(&marker).unwrap();
    let error = overwrite(&place.table()).await.unwrap_err();
    assert!(error.to_string().contains("report/_SUCCESS is a folder"), "{error}");
    assert_eq!(content(&place.table()).await?, rows(BEFORE));
    std::fs::remove_dir(&marker).unwrap();
    overwrite(&place.table()).await?;
    assert_eq!(content(&place.table()).await?, overwritten());
    Ok(())
}

#[tokio::test]
async fn a_lost_word_of_what_is_published_is_told_to_readers_as_well() -> Result<()> {
    let place = prepared().await?;
    overwrite(&place.table()).await?;
    std::fs::remove_file(lake(&place).join("_partwise/report/published")).unwrap();
    let error = place.table().describe().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("holds records but no published"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_log_folder_holds_no_tables() -> Result<()> {
    let place = prepared().await?;
    for inside in ["_partwise/t", "_partwise/report/staging/t"] {
        let table = Table::new(Location::local(lake(&place).join(inside)));
        let error = table.describe().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("name a place outside"), "{error}");
    }
    Ok(())
}

#[tokio::test]
async fn without_a_swap_files_are_replaced_one_by_one_and_that_is_said() -> Result<()> {
    for errno in [Errno::NOSYS, Errno::INVAL, Errno::OPNOTSUPP] {
        let place = prepared().await?;
        let table = on(&place, FaultyDisk::sound().exchange_answers(errno));
        let committed = overwrite(&table).await?;
        assert_eq!(committed.warnings.len(), 1, "{errno}: {:?}", committed.warnings);
        assert!(committed.warnings[0].contains("can't swap two directories"), "{errno}");
        assert_eq!(content(&table).await?, overwritten(), "{errno}");
        assert_eq!(content_at(&table, 1, &schema()).await?, rows(BEFORE), "{errno}");
        let appended = write(&table, Operation::Append, &[("a", &["1"])]).await?;
        assert!(appended.warnings.is_empty(), "nothing was replaced: {:?}", appended.warnings);
    }
    Ok(())
}

#[tokio::test]
async fn a_partition_on_another_file_system_is_copied_to_and_from() -> Result<()> {
    let place = prepared().await?;
    let disk = FaultyDisk::sound().with_mount(lake(&place).join("report/p=a"));
    let table = on(&place, disk.clone());
    write(&table, Operation::Append, &[("a", &["5"])]).await?;
    assert_eq!(content(&table).await?["p=a"], ["1", "5"]);
    overwrite(&table).await?;
    assert_eq!(content(&table).await?, overwritten());
    assert_eq!(content_at(&table, 1, &schema()).await?, rows(BEFORE));
    assert_eq!(place.data_files().await.len(), 3);
    assert!(disk.calls().iter().filter(|call| **call == "copy").count() >= 4);
    table.restore(&Restore::to(1), &Lines).await?;
    assert_eq!(content(&table).await?, rows(BEFORE));
    Ok(())
}

#[tokio::test]
async fn a_copy_to_another_file_system_stopped_at_any_call_is_finished_later() -> Result<()> {
    let template = prepared().await?;
    for at in 0.. {
        let place = template.copy();
        let mount = lake(&place).join("report/p=a");
        let faults = Faults::at(Fault::Stop, at);
        let done =
            overwrite(&on(&place, FaultyDisk::with(faults.clone()).with_mount(&mount))).await;
        if !faults.hit() {
            assert!(at > 100 && done.is_ok(), "{at}: {done:?}");
            return Ok(());
        }
        let table = on(&place, FaultyDisk::sound().with_mount(&mount));
        let seen = content(&table).await?;
        assert!(seen == overwritten() || (done.is_err() && seen == rows(BEFORE)), "{at}: {seen:?}");
        write(&table, Operation::Append, &[("z", &["5"])]).await?;
        let mut repaired = content(&table).await?;
        repaired.remove("p=z");
        let kept = seen == rows(BEFORE) && repaired == seen;
        assert!(kept || repaired == overwritten(), "{at}: {repaired:?}");
        let hidden = place.files("report").await;
        assert!(!hidden.iter().any(|file| file.ends_with(".new")), "{at}: {hidden:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_slow_writer_on_a_disk_is_never_swept() -> Result<()> {
    let place = prepared().await?;
    let table = place.table();
    let (slow, staged) = begin(&table, "9").await?;
    let hours_ago = std::time::SystemTime::now() - Duration::from_secs(48 * 3600);
    for file in place.files("_partwise/report/staging").await.iter().filter(|f| f.ends_with("lock"))
    {
        let file = std::fs::File::options().append(true).open(lake(&place).join(file)).unwrap();
        file.set_modified(hours_ago).unwrap();
    }
    let vacuum = Vacuum { retain: Some(Duration::ZERO), ..Vacuum::default() };
    assert_eq!(table.vacuum(&vacuum).await?, Vacuumed::default());
    write(&table, Operation::Append, &[("z", &["5"])]).await?;
    slow.commit(Change::new(dynamic(), staged), &Lines).await?;
    let expected = rows(&[("a", &["9", "9"]), ("b", &["2"]), ("z", &["5"])]);
    assert_eq!(content(&table).await?, expected);
    Ok(())
}
