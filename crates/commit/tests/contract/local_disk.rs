//! What only a local disk does.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::Arc;
use std::time::Duration;

use partwise_commit::*;
use partwise_testkit::FaultyDisk;

use crate::place::Place;
use crate::support::*;

fn lake(place: &Place) -> &std::path::Path {
    let Place::Local(lake) = place else { panic!("a local place") };
    lake.path()
}

#[tokio::test]
async fn a_replaced_partition_is_swapped_in_one_step() -> Result<()> {
    let place = Place::local();
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    let inode = |path: &str| std::fs::metadata(lake(&place).join(path)).unwrap().ino();
    let before = inode("report/p=a");
    let disk = FaultyDisk::sound();
    let counted = Table::new(Location::Local {
        disk: Arc::new(disk.clone()),
        dir: lake(&place).join("report"),
    });
    write(&counted, dynamic(), &[("a", &["3"])]).await?;
    assert_eq!(disk.calls().iter().filter(|call| **call == "exchange").count(), 1);
    assert_eq!(inode("_partwise/report/retained/2/p=a"), before);
    Ok(())
}

#[tokio::test]
async fn waiting_for_another_writer_names_it() -> Result<()> {
    let place = Place::local();
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let path = lake(&place).join("_partwise/report/lock");
    let held =
        LocalDisk.try_lock(&path, "process 42 on somewhere (INSERT OVERWRITE report)").unwrap();
    let error = write_with(&table, Operation::Append, &[("a", &["2"])], |change| {
        change.lock_timeout = Duration::ZERO;
    })
    .await
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().contains("process 42 on somewhere (INSERT OVERWRITE"), "{error}");
    assert!(error.to_string().contains("partwise.lock_timeout"), "{error}");
    drop(held);
    write(&table, Operation::Append, &[("a", &["2"])]).await?;
    assert!(place.files("_partwise/report/staging").await.is_empty());
    Ok(())
}

#[tokio::test]
async fn whoever_has_the_turn_commits_next() -> Result<()> {
    let place = Place::local();
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let turn = table.turn(Duration::ZERO, "UPDATE report").await?;
    let others = || {
        write_with(&table, Operation::Append, &[("a", &["2"])], |change| {
            change.lock_timeout = Duration::ZERO;
        })
    };
    let error = others().await.unwrap_err();
    assert!(error.to_string().contains("(UPDATE report)"), "{error}");
    let given = turn.clone();
    write_with(&table, dynamic(), &[("a", &["3"])], move |change| change.turn = Some(given))
        .await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["3"])]));
    assert_eq!(others().await.unwrap_err().kind(), ErrorKind::Busy);
    drop(turn);
    others().await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["2", "3"])]));
    Ok(())
}

#[tokio::test]
async fn new_files_take_mode_and_group_of_the_directory() -> Result<()> {
    let place = Place::local();
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let mode = |path: &str, bits| {
        let permissions = std::fs::Permissions::from_mode(bits);
        std::fs::set_permissions(lake(&place).join(path), permissions).unwrap();
    };
    mode("report", 0o2770);
    mode("report/p=a", 0o2750);
    write(&table, dynamic(), &[("a", &["2"]), ("b", &["3"])]).await?;
    let bits = |path: &str| {
        std::fs::metadata(lake(&place).join(path)).unwrap().permissions().mode() & 0o7777
    };
    assert_eq!((bits("report/p=a"), bits("report/p=b")), (0o2750, 0o2770));
    for file in place.data_files().await {
        assert_eq!(bits(&file), 0o660, "{file}");
    }
    Ok(())
}

#[tokio::test]
async fn the_real_path_decides_where_the_log_stands() -> Result<()> {
    let place = Place::local();
    std::fs::create_dir_all(lake(&place).join("real/report")).unwrap();
    symlink(lake(&place).join("real/report"), lake(&place).join("linked")).unwrap();
    let linked = Table::new(place.location("linked"));
    write(&linked, Operation::Create, &[("a", &["1"])]).await?;
    let real = Table::new(place.location("real/report/"));
    assert_eq!(content(&real).await?, rows(&[("a", &["1"])]));
    assert_eq!(real.describe().await?.version, Some(1));
    assert!(place.exists("real/_partwise/report/published").await);
    assert!(!place.exists("_partwise").await);
    linked.purge().await?;
    assert!(place.files("").await.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_linked_partition_is_replaced_file_by_file() -> Result<()> {
    let place = Place::local();
    place.put("elsewhere/x.parquet", "1\n").await;
    std::fs::create_dir(lake(&place).join("report")).unwrap();
    symlink(lake(&place).join("elsewhere"), lake(&place).join("report/p=a")).unwrap();
    let table = place.table();
    assert_eq!(content(&table).await?, rows(&[("a", &["1"])]));
    write(&table, dynamic(), &[("a", &["2"])]).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["2"])]));
    assert!(lake(&place).join("report/p=a").is_symlink());
    Ok(())
}

#[tokio::test]
async fn a_name_that_is_not_text_is_passed_over_and_survives() -> Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::local();
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let odd = std::ffi::OsStr::from_bytes(b"\xff\xfe.parquet");
    let path = lake(&place).join("report/p=a").join(odd);
    std::fs::write(&path, "no\n").unwrap();
    let snapshot = table.snapshot(schema().partition_columns(), &AllPartitions).await?;
    assert_eq!(snapshot.partitions[0].files.len(), 1);
    assert_eq!(snapshot.warnings.len(), 1, "{:?}", snapshot.warnings);
    write(&table, dynamic(), &[("a", &["2"])]).await?;
    assert!(path.exists());
    assert_eq!(content(&table).await?, rows(&[("a", &["2"])]));
    Ok(())
}

#[tokio::test]
async fn a_record_of_a_later_format_is_refused_with_the_version_to_use() -> Result<()> {
    let place = Place::local();
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let path = lake(&place).join("_partwise/report/table.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"format\":1", "\"format\":2")).unwrap();
    let error = write(&table, Operation::Append, &[("a", &["2"])]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("has format 2"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_damaged_record_is_named() -> Result<()> {
    let place = Place::local();
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let path = "_partwise/report/log/00000000000000000001.json";
    place.put(path, "{\"format\":1,").await;
    for error in [
        content(&table).await.unwrap_err(),
        write(&table, Operation::Append, &[("a", &["2"])]).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(path), "{error}");
    }
    place.remove(path).await;
    let error = content(&table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    Ok(())
}

#[tokio::test]
async fn a_lost_log_loses_history_and_never_data() -> Result<()> {
    let place = Place::local();
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    write(&table, Operation::Append, &[("a", &["2"])]).await?;
    std::fs::remove_dir_all(lake(&place).join("_partwise")).unwrap();
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "2"])]));
    assert_eq!(write(&table, Operation::Append, &[("a", &["3"])]).await?.version, 1);
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "2", "3"])]));
    std::fs::remove_file(lake(&place).join("_partwise/report/published")).unwrap();
    write(&table, Operation::Append, &[("a", &["4"])]).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "2", "3", "4"])]));
    std::fs::remove_file(lake(&place).join("_partwise/report/published")).unwrap();
    let error = write(&table, Operation::Append, &[("a", &["5"])]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    Ok(())
}

#[tokio::test]
async fn a_file_where_the_log_should_stand_makes_the_table_read_only() -> Result<()> {
    let place = Place::local();
    place.put("report/p=a/x.parquet", "1\n").await;
    place.put("_partwise", "in the way").await;
    let table = place.table();
    assert_eq!(content(&table).await?, rows(&[("a", &["1"])]));
    let error = write(&table, Operation::Append, &[("a", &["2"])]).await.unwrap_err();
    assert!(error.to_string().contains("is read-only for partwise"), "{error}");
    assert_eq!(place.files("").await, ["_partwise", "report/p=a/x.parquet"]);
    Ok(())
}

#[tokio::test]
async fn a_file_system_that_does_not_lock_is_refused() -> Result<()> {
    let place = Place::local();
    let disk = FaultyDisk::sound().without_locking();
    let dir = lake(&place).join("report");
    let table = Table::new(Location::Local { disk: Arc::new(disk), dir });
    let error = write(&table, Operation::Create, &[("a", &["1"])]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("locking (flock)"), "{error}");
    assert!(place.files("").await.is_empty());
    Ok(())
}

#[tokio::test]
async fn planning_one_partition_looks_at_one_directory() -> Result<()> {
    struct Only;
    impl PartitionSelector for Only {
        fn select(&self, prefixes: &[Vec<PartitionValue>]) -> Result<Vec<bool>> {
            Ok(prefixes.iter().map(|p| p[0] == PartitionValue::Text("05".into())).collect())
        }
    }
    let place = Place::local();
    let names: Vec<String> = (0..91).map(|n| format!("{n:02}")).collect();
    let files: Vec<(&str, &[&str])> = names.iter().map(|n| (n.as_str(), &["1"][..])).collect();
    write(&place.table(), Operation::Create, &files).await?;
    let disk = FaultyDisk::sound();
    let dir = lake(&place).join("report");
    let table = Table::new(Location::Local { disk: Arc::new(disk.clone()), dir });
    let snapshot = table.snapshot(schema().partition_columns(), &Only).await?;
    assert_eq!(snapshot.partitions.len(), 1);
    let calls = disk.calls();
    assert_eq!(calls.iter().filter(|call| **call == "list").count(), 2);
    assert_eq!(calls.iter().filter(|call| call.contains("metadata")).count(), 9, "{calls:?}");
    Ok(())
}
