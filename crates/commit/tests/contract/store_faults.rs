//! A store that stops or fails at every request: the table is before or after, and the next write
//! finishes it.

use std::sync::Arc;

use partwise_commit::*;
use partwise_testkit::Fault;

use crate::counting::CountingStore;
use crate::place::Place;
use crate::support::*;

const FIRST: &[(&str, &[&str])] = &[("a", &["1"]), ("b", &["2"]), ("c", &["3"])];
const BAD: &[(&str, &[&str])] = &[("a", &["8"]), ("c", &["3"]), ("n", &["7"])];

/// A table of `FIRST`, and of `BAD` after it.
async fn prepared() -> Result<Place> {
    let place = Place::memory();
    let table = place.table();
    write(&table, Operation::Create, FIRST).await?;
    write(&table, fixed(&["b"]), &[]).await?;
    write(&table, dynamic(), &[("a", &["8"]), ("n", &["7"])]).await?;
    assert_eq!(content(&table).await?, rows(BAD));
    Ok(place)
}

/// Runs something with a fault at every request; how many it has.
async fn sweep(
    fault: Fault,
    after: &[(&str, &[&str])],
    run: impl AsyncFn(&Table) -> Result<()>,
) -> Result<usize> {
    let template = prepared().await?;
    let (before, after) = (rows(BAD), rows(after));
    let mut at = 0;
    loop {
        let place = template.fork();
        let Place::Memory(memory) = &place else { panic!("a memory place") };
        let store = Arc::new(CountingStore::failing(memory, fault, at));
        let Location::Store { prefix, .. } = place.location("report") else { panic!("a store") };
        let shared: Arc<CountingStore> = Arc::clone(&store);
        let result = run(&Table::new(Location::store(shared, prefix))).await;
        let point = format!("{fault:?} at {at}: {result:?}");
        if store.requests() <= at {
            assert!(result.is_ok(), "{point}");
            return Ok(at);
        }
        let table = place.table();
        let seen = content(&table).await?;
        assert!(seen == after || (result.is_err() && seen == before), "{point}: {seen:?}");
        write(&table, Operation::Append, &[("z", &["9"])]).await?;
        let mut repaired = content(&table).await?;
        assert_eq!(repaired.remove("p=z"), Some(vec!["9".to_string()]), "{point}");
        assert!(repaired == after || (seen == before && repaired == before), "{point}");
        let files: usize = repaired.values().map(Vec::len).sum();
        assert_eq!(place.data_files().await.len(), files + 1, "{point}: nothing is left over");
        at += 1;
    }
}

async fn restore(table: &Table) -> Result<()> {
    table.restore(&Restore::to(1), &Lines).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_stopped_at_any_request_is_before_or_after() -> Result<()> {
    let requests = sweep(Fault::Stop, FIRST, restore).await?;
    assert!(requests > 60, "{requests}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restore_with_an_error_at_any_request_is_before_or_after() -> Result<()> {
    let requests = sweep(Fault::Error, FIRST, restore).await?;
    assert!(requests > 60, "{requests}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scoped_overwrite_stopped_at_any_request_is_before_or_after() -> Result<()> {
    let overwrite = async |table: &Table| {
        let scoped = |change: &mut Change| change.scope = Some(one_of(&["a", "n"]));
        write_with(table, dynamic(), &[("a", &["5"])], scoped).await.map(drop)
    };
    sweep(Fault::Stop, &[("a", &["5"]), ("c", &["3"])], overwrite).await.map(drop)
}
