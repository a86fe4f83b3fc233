//! Faults by lot on a store, all kinds mixed: what landed late, what landed unsaid.

use std::sync::Arc;

use partwise_testkit::{FaultyStore, Seed};

use super::*;

/// How many runs; each is a writer that tries every statement against a store that fails.
const RUNS: u64 = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_lot_a_statement_is_before_or_after_whatever_lands_late() -> Result<()> {
    let first = Seed::of_this_run();
    println!("{RUNS} runs from {first}");
    let mut faulty = 0;
    for run in 0..RUNS {
        let seed = if run == 0 { first } else { first.nth(run) };
        let all = statements();
        let statement = &all[(seed.0 % all.len() as u64) as usize];
        let place = Place::memory();
        let Location::Store { store, prefix } = place.location("report") else { panic!() };
        let open = |place: &Place, faults| place.failing(faults);
        let stage = Stage { place: &place, open: &open };
        statement.prepare(&place, &stage.sound()).await?;
        let faults = Faults::seeded(seed, 12);
        let faulted = FaultyStore::new(store, faults.clone());
        let table = Table::new(Location::store(Arc::new(faulted.clone()), prefix));
        let result = statement.run(&table).await;
        faulted.settle().await;
        faulty += usize::from(faults.hit());
        let point = format!("{} with {seed}: {result:?}", statement.name);
        stage.check(statement, result.is_ok(), &point).await?;
    }
    assert!(faulty * 2 > RUNS as usize, "{faulty}");
    Ok(())
}
