//! What a place can't do is found out before anything is written, and said with the way on.

use std::sync::Arc;

use partwise_commit::*;
use partwise_testkit::{Faults, FaultyDisk, FaultyStore, Lack};
use rustix::io::Errno;

use crate::place::Place;
use crate::support::*;

const BEFORE: &[(&str, &[&str])] = &[("a", &["1"]), ("b", &["2"])];

/// The table on a disk that lacks something.
fn on(place: &Place, disk: FaultyDisk) -> Table {
    let Location::Local { dir, .. } = place.location("report") else { panic!("a local place") };
    Table::new(Location::Local { disk: Arc::new(disk), dir })
}

async fn is_refused(place: &Place, disk: FaultyDisk, what: &str) -> Result<()> {
    let files = place.files("").await;
    let error = write(&on(place, disk), dynamic(), &[("a", &["9"])]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    for said in [what, "report can't be written", "copy the table to a local disk"] {
        assert!(error.to_string().contains(said), "{said}: {error}");
    }
    assert_eq!(place.files("").await, files);
    assert_eq!(content(&place.table()).await?, rows(BEFORE));
    Ok(())
}

#[tokio::test]
async fn a_disk_without_locks_or_without_names_made_once_is_refused() -> Result<()> {
    let place = Place::local();
    write(&place.table(), Operation::Create, BEFORE).await?;
    let flock = "locking (flock)";
    is_refused(&place, FaultyDisk::sound().without_locking(), flock).await?;
    for errno in [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS] {
        is_refused(&place, FaultyDisk::sound().lock_answers(errno), flock).await?;
    }
    let once = "creating a file only once";
    is_refused(&place, FaultyDisk::sound().without_create_once(), once).await?;
    is_refused(&place, FaultyDisk::sound().without_links().without_create_once(), once).await
}

#[tokio::test]
async fn without_hard_links_what_comes_back_is_copied_and_that_is_said() -> Result<()> {
    let place = Place::local();
    let table = on(&place, FaultyDisk::sound().without_links());
    let created = write(&table, Operation::Create, BEFORE).await?;
    let replaced = write(&table, dynamic(), &[("a", &["9"])]).await?;
    assert!(created.warnings.is_empty() && replaced.warnings.is_empty(), "{replaced:?}");
    let restored = table.restore(&Restore::to(1), &Lines).await?.committed;
    assert_eq!(restored.warnings.len(), 1, "{restored:?}");
    assert!(restored.warnings[0].contains("report has no hard links"), "{restored:?}");
    assert_eq!(content(&table).await?, rows(BEFORE));
    place.put("report/p=a/.sidecar", "x").await;
    let replaced = write(&table, dynamic(), &[("a", &["9"])]).await?;
    assert!(replaced.warnings[0].contains("has no hard links"), "{replaced:?}");
    assert_eq!(content(&table).await?["p=a"], ["9"]);
    assert!(place.exists("report/p=a/.sidecar").await);
    Ok(())
}

async fn a_store_without_conditional_puts_is_read_only(place: Place) -> Result<()> {
    write(&place.table(), Operation::Create, BEFORE).await?;
    let files = place.files("report").await;
    let create = "put-if-absent";
    let update = "conditional update";
    for (lack, said) in [
        (Lack::CreateOnce, create),
        (Lack::CreateRefused, create),
        (Lack::Update, update),
        (Lack::UpdateRefused, update),
    ] {
        let Location::Store { store, prefix } = place.location("report") else { panic!("a store") };
        let store = FaultyStore::new(store, Faults::none()).lacking(lack);
        let table = Table::new(Location::store(Arc::new(store), prefix));
        let error = write(&table, dynamic(), &[("a", &["9"])]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{lack:?}: {error}");
        for said in [said, "report is read-only for partwise", "copy the table to"] {
            assert!(error.to_string().contains(said), "{lack:?}: {said}: {error}");
        }
        assert_eq!(content(&table).await?, rows(BEFORE), "{lack:?}");
        assert_eq!(place.files("report").await, files, "{lack:?}");
    }
    Ok(())
}

/// Asking costs requests: it is done once per store.
async fn a_store_is_asked_once(place: Place) -> Result<()> {
    let faults = Faults::none();
    let table = place.failing(faults.clone());
    write(&table, Operation::Create, BEFORE).await?;
    let puts = || faults.trace().iter().filter(|call| call.ends_with("/begun")).count();
    let first = puts();
    write(&table, Operation::Append, BEFORE).await?;
    let second = puts() - first;
    assert!(first > second && second > 0, "{first} {second}");
    Ok(())
}

crate::on_stores!(a_store_without_conditional_puts_is_read_only, a_store_is_asked_once);
