//! Commits whose caller stops waiting.

use std::time::Duration;

use partwise_commit::*;
use partwise_testkit::{Faults, Gate};

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    a_commit_dropped_while_it_is_logged_is_carried_through,
    a_restore_dropped_while_it_is_logged_is_carried_through,
    a_commit_dropped_before_it_is_logged_changes_nothing,
);

/// How long what goes on in the background may take.
const PATIENCE: Duration = Duration::from_secs(60);

const BEFORE: &[(&str, &[&str])] = &[("a", &["1"]), ("b", &["2"])];
const AFTER: &[(&str, &[&str])] = &[("a", &["9"]), ("b", &["2"]), ("n", &["8"])];

const LOG_2: &str = "_partwise/report/log/00000000000000000002.json";
const LOG_3: &str = "_partwise/report/log/00000000000000000003.json";
const STAGING: &str = "_partwise/report/staging";

/// The call that logs this record waits.
fn logging(record: &'static str, gate: &Gate) -> Faults {
    Faults::waiting(&["link", "put"], record, gate)
}

async fn overwrite(table: &Table) -> Result<Committed> {
    write(table, dynamic(), &[("a", &["9"]), ("n", &["8"])]).await
}

/// Drops `work` as soon as a call of it waits.
async fn dropped_at<T: std::fmt::Debug>(gate: &Gate, work: impl Future<Output = T>) {
    tokio::select! {
        done = work => panic!("it did not wait: {done:?}"),
        () = gate.reached() => {}
    }
}

/// Waits until the table holds what is expected and nothing is left of the commit.
async fn becomes(place: &Place, expected: &Content) -> Result<()> {
    let table = place.table();
    let settled = async {
        while content(&table).await? != *expected
            || !place.exists("report/_SUCCESS").await
            || !place.files(STAGING).await.is_empty()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    };
    match tokio::time::timeout(PATIENCE, settled).await {
        Ok(done) => done,
        Err(_) => panic!("{:?}, {:?}", content(&table).await?, place.files("").await),
    }
}

/// On a disk nobody comes in between, neither to write nor to sweep what waits to be brought in.
async fn nobody_comes_in_between(place: &Place) -> Result<()> {
    if !matches!(place, Place::Local(_)) {
        return Ok(());
    }
    let staged = place.files(STAGING).await;
    let vacuum =
        Vacuum { retain: Some(Duration::ZERO), lock_timeout: Duration::ZERO, ..Vacuum::default() };
    assert_eq!(place.table().vacuum(&vacuum).await.unwrap_err().kind(), ErrorKind::Busy);
    assert_eq!(place.files(STAGING).await, staged);
    Ok(())
}

async fn a_commit_dropped_while_it_is_logged_is_carried_through(place: Place) -> Result<()> {
    write(&place.table(), Operation::Create, BEFORE).await?;
    let gate = Gate::default();
    let slow = place.failing(logging(LOG_2, &gate));
    dropped_at(&gate, overwrite(&slow)).await;
    assert_eq!(content(&place.table()).await?, rows(BEFORE));
    nobody_comes_in_between(&place).await?;
    gate.open();
    becomes(&place, &rows(AFTER)).await?;
    assert_eq!(place.table().describe().await?.version, Some(2));
    Ok(())
}

async fn a_restore_dropped_while_it_is_logged_is_carried_through(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, BEFORE).await?;
    overwrite(&table).await?;
    let gate = Gate::default();
    let slow = place.failing(logging(LOG_3, &gate));
    dropped_at(&gate, slow.restore(&Restore::to(1), &Lines)).await;
    nobody_comes_in_between(&place).await?;
    gate.open();
    becomes(&place, &rows(BEFORE)).await?;
    assert_eq!(table.describe().await?.version, Some(3));
    Ok(())
}

async fn a_commit_dropped_before_it_is_logged_changes_nothing(place: Place) -> Result<()> {
    write(&place.table(), Operation::Create, BEFORE).await?;
    let gate = Gate::default();
    // Looking for what is logged already comes before the decision.
    let slow = place.failing(Faults::waiting(&["metadata", "get"], LOG_2, &gate));
    dropped_at(&gate, overwrite(&slow)).await;
    gate.open();
    becomes(&place, &rows(BEFORE)).await?;
    assert!(!place.exists(LOG_2).await);
    assert_eq!(overwrite(&place.table()).await?.version, 2);
    assert_eq!(content(&place.table()).await?, rows(AFTER));
    Ok(())
}

mod second {
    use super::*;

    /// On a store another writer may take the version while the record is on its way.
    async fn a_dropped_commit_that_comes_second_leaves_nothing(place: Place) -> Result<()> {
        write(&place.table(), Operation::Create, BEFORE).await?;
        let gate = Gate::default();
        let slow = place.failing(logging(LOG_2, &gate));
        dropped_at(&gate, overwrite(&slow)).await;
        write(&place.table(), Operation::Append, &[("a", &["5"])]).await?;
        gate.open();
        becomes(&place, &rows(&[("a", &["1", "5"]), ("b", &["2"])])).await?;
        assert_eq!(place.table().describe().await?.version, Some(2));
        Ok(())
    }

    crate::on_stores!(a_dropped_commit_that_comes_second_leaves_nothing);
}
