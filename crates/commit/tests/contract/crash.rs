//! Stopped or failed at every call of the disk: the table is before or after, exactly, and the next
//! write repairs it without leaving anything over.

use std::sync::Arc;

use partwise_commit::*;
use partwise_testkit::{Fault, FaultyDisk};

use crate::place::Place;
use crate::support::*;

type Files = &'static [(&'static str, &'static [&'static str])];

/// A statement on a table that holds `a: 1`, `b: 2` in two files, `c: 3` or, for a creation, on none.
struct Statement {
    operation: Operation,
    files: Files,
    before: Files,
    after: Files,
}

const BEFORE: Files = &[("a", &["1"]), ("b", &["2", "2"]), ("c", &["3"])];

fn statements() -> Vec<Statement> {
    let on_table = |operation, files, after| Statement { operation, files, before: BEFORE, after };
    let create: Files = &[("a", &["1"]), ("b", &["2"])];
    vec![
        Statement { operation: Operation::Create, files: create, before: &[], after: create },
        on_table(
            Operation::Append,
            &[("a", &["5"]), ("n", &["6"])],
            &[("a", &["1", "5"]), ("b", &["2", "2"]), ("c", &["3"]), ("n", &["6"])],
        ),
        on_table(
            dynamic(),
            &[("a", &["5"]), ("b", &["6"]), ("n", &["7"])],
            &[("a", &["5"]), ("b", &["6"]), ("c", &["3"]), ("n", &["7"])],
        ),
        on_table(fixed(&[]), &[("b", &["6"]), ("n", &["7"])], &[("b", &["6"]), ("n", &["7"])]),
        on_table(fixed(&["a"]), &[], &[("b", &["2", "2"]), ("c", &["3"])]),
        on_table(Operation::Replace, &[("b", &["6"])], &[("b", &["6"])]),
    ]
}

/// The table before, with a foreign file in `c` and a sidecar in `a`.
async fn prepare(place: &Place, statement: &Statement) -> Result<()> {
    if statement.before.is_empty() {
        return Ok(());
    }
    let table = sound(place);
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    write(&table, Operation::Append, &[("b", &["2"])]).await?;
    place.put("report/p=c/data_0.parquet", "3\n").await;
    place.put("report/p=a/.sidecar", "x").await;
    Ok(())
}

fn on(place: &Place, disk: FaultyDisk) -> Table {
    let Location::Local { dir, .. } = place.location("report") else { panic!("a local place") };
    Table::new(Location::Local { disk: Arc::new(disk), dir })
}

/// Without faults, and without waiting for the hardware.
fn sound(place: &Place) -> Table {
    on(place, FaultyDisk::sound())
}

async fn check(place: &Place, statement: &Statement, done: bool, point: &str) -> Result<()> {
    let table = sound(place);
    let seen = content(&table).await?;
    assert_eq!(table.describe().await?.has_data, !seen.is_empty(), "{point}");
    let (before, after) = (rows(statement.before), rows(statement.after));
    assert!(seen == after || (!done && seen == before), "{point}: {seen:?}");
    write(&table, Operation::Append, &[("z", &["9"])]).await?;
    let sidecar = place.exists("report/p=a/.sidecar").await;
    assert!(sidecar || statement.before.is_empty(), "{point}: the sidecar");
    let with_z = |mut content: Content| {
        content.insert("p=z".to_string(), vec!["9".to_string()]);
        content
    };
    let repaired = content(&table).await?;
    let rolled_forward = repaired == with_z(after.clone());
    assert!(
        rolled_forward || (seen == before && repaired == with_z(before)),
        "{point}: {repaired:?}"
    );
    no_orphans(place, &table, point).await
}

/// Every data file on disk is in the snapshot or was retained by a record, and nothing is staged.
async fn no_orphans(place: &Place, table: &Table, point: &str) -> Result<()> {
    let snapshot = table.snapshot(schema().partition_columns(), &AllPartitions).await?;
    let files = snapshot.partitions.iter().flat_map(|partition| &partition.files);
    let mut known: Vec<String> = files.map(|file| format!("report/{}", file.path)).collect();
    known.sort();
    assert_eq!(place.data_files().await, known, "{point}");
    assert!(place.files("_partwise/report/staging").await.is_empty(), "{point}: staging");
    let records = table.records().await?;
    for file in place.files("_partwise/report/retained").await {
        let path = file.strip_prefix("_partwise/report/retained/").unwrap_or_default();
        let (version, path) = path.split_once('/').unwrap();
        let record = records.iter().find(|record| record.version.to_string() == version);
        let mut removed = record.iter().flat_map(|r| &r.partitions).flat_map(|p| &p.removed);
        assert!(removed.any(|file| file.path == path), "{point}: {file}");
    }
    let logs = place.files("_partwise/report").await;
    let left: Vec<_> = logs.iter().filter(|file| file.ends_with(".new")).collect();
    assert!(left.is_empty(), "{point}: {left:?}");
    assert!(place.exists("report/_SUCCESS").await, "{point}: _SUCCESS");
    Ok(())
}

/// Runs a statement with a fault at every call; how many calls it has.
async fn sweep(
    statement: &Statement,
    fault: Fault,
    disk: fn(FaultyDisk) -> FaultyDisk,
) -> Result<usize> {
    let template = Place::local();
    prepare(&template, statement).await?;
    sweep_from(&template, statement, fault, disk, async |table| {
        write(table, statement.operation.clone(), statement.files).await.map(drop)
    })
    .await
}

async fn sweep_from(
    template: &Place,
    statement: &Statement,
    fault: Fault,
    disk: fn(FaultyDisk) -> FaultyDisk,
    run: impl AsyncFn(&Table) -> Result<()>,
) -> Result<usize> {
    let mut at = 0;
    loop {
        let place = template.copy();
        let faulty = disk(FaultyDisk::new(fault, at));
        let table = on(&place, faulty.clone());
        let result = run(&table).await;
        drop(table);
        let calls = faulty.calls();
        let point =
            format!("{:?} {fault:?} at {at} {:?}: {result:?}", statement.operation, calls.get(at));
        if !faulty.hit() {
            assert!(result.is_ok(), "{point}");
            return Ok(at);
        }
        check(&place, statement, result.is_ok(), &point).await?;
        at += 1;
    }
}

/// A restore of `BEFORE`, after everything was replaced.
async fn sweep_restore(fault: Fault, disk: fn(FaultyDisk) -> FaultyDisk) -> Result<()> {
    let replaced: Files = &[("a", &["8"]), ("n", &["7"])];
    sweep_undoing(fixed(&[]), replaced, replaced, fault, disk).await
}

async fn sweep_undoing(
    operation: Operation,
    files: Files,
    before: Files,
    fault: Fault,
    disk: fn(FaultyDisk) -> FaultyDisk,
) -> Result<()> {
    let statement = Statement { operation: operation.clone(), files, before, after: BEFORE };
    let template = Place::local();
    prepare(&template, &statement).await?;
    write(&sound(&template), operation, files).await?;
    let restore = async |table: &Table| table.restore(&Restore::to(2), &Lines).await.map(drop);
    let calls = sweep_from(&template, &statement, fault, disk, restore).await?;
    println!("restore: {calls} points, {fault:?}");
    assert!(calls > 100, "{calls}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_stopped_at_any_call_is_before_or_after() -> Result<()> {
    sweep_restore(Fault::Stop, |disk| disk).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_with_an_error_at_any_call_is_before_or_after() -> Result<()> {
    sweep_restore(Fault::Error, |disk| disk).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_that_undoes_an_append_is_before_or_after() -> Result<()> {
    let appended: Files = &[("b", &["8"]), ("c", &["9"])];
    let before: Files = &[("a", &["1"]), ("b", &["2", "2", "8"]), ("c", &["3", "9"])];
    sweep_undoing(Operation::Append, appended, before, Fault::Stop, |disk| disk).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_hard_links_a_stopped_restore_is_before_or_after() -> Result<()> {
    sweep_restore(Fault::Stop, FaultyDisk::without_links).await
}

async fn sweep_all(
    fault: Fault,
    disk: fn(FaultyDisk) -> FaultyDisk,
    which: impl Fn(&Operation) -> bool,
) -> Result<()> {
    for statement in statements().iter().filter(|statement| which(&statement.operation)) {
        let calls = sweep(statement, fault, disk).await?;
        println!("{:?}: {calls} points, {fault:?}", statement.operation);
        assert!(calls > 50, "{calls}");
    }
    Ok(())
}

fn overwrites(operation: &Operation) -> bool {
    matches!(operation, Operation::Overwrite(_))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_creation_or_append_stopped_at_any_call_is_before_or_after() -> Result<()> {
    sweep_all(Fault::Stop, |disk| disk, |operation| !overwrites(operation)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overwrite_stopped_at_any_call_is_before_or_after() -> Result<()> {
    sweep_all(Fault::Stop, |disk| disk, overwrites).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_creation_or_append_with_an_error_at_any_call_is_before_or_after() -> Result<()> {
    sweep_all(Fault::Error, |disk| disk, |operation| !overwrites(operation)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overwrite_with_an_error_at_any_call_is_before_or_after() -> Result<()> {
    sweep_all(Fault::Error, |disk| disk, overwrites).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_exchange_a_stopped_overwrite_is_before_or_after() -> Result<()> {
    sweep_all(Fault::Stop, FaultyDisk::without_exchange, |o| *o == dynamic()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_hard_links_a_stopped_write_is_before_or_after() -> Result<()> {
    let which = |operation: &Operation| *operation == dynamic() || *operation == Operation::Append;
    sweep_all(Fault::Stop, FaultyDisk::without_links, which).await
}
