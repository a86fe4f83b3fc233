//! The sweep over the requests to a real S3.

use futures::{StreamExt, TryStreamExt, stream};
use partwise_testkit::Seed;

use super::*;

/// How many points are tried at once.
const AT_ONCE: usize = 8;
/// One point of so many is tried, another one in each run; `PARTWISE_SWEEP=all` tries all.
const ONE_IN: usize = 6;

async fn sweep(fault: Fault) -> Result<()> {
    let Some(place) = crate::s3::place("the sweep over S3") else { return Ok(()) };
    let all = std::env::var("PARTWISE_SWEEP").is_ok_and(|sweep| sweep == "all");
    let (step, seed) = if all { (1, Seed(0)) } else { (ONE_IN, Seed::of_this_run()) };
    println!("every {step}th point, from {seed}");
    let open = |place: &Place, faults| place.failing(faults);
    let mut points = 0;
    for statement in statements() {
        let trial = place.another();
        statement.prepare(&trial, &trial.table()).await?;
        let calls = calls_of(&Stage { place: &trial, open: &open }, &statement).await?;
        let switched = after_the_switch(&statement, &calls, "put _partwise/report/published");
        let first = (seed.0 % step as u64) as usize;
        let chosen = (0..calls.len()).filter(|n| n % step == first || Some(*n) == switched);
        let tried: Vec<bool> = stream::iter(chosen)
            .map(|at| try_at(place.another(), &statement, fault, at, &open))
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        points += tried.iter().filter(|hit| **hit).count();
    }
    println!("{points} points of {fault:?} on S3");
    assert!(points > 50, "{points}");
    Ok(())
}

async fn try_at(
    place: Place,
    statement: &Statement,
    fault: Fault,
    at: usize,
    open: &(dyn Fn(&Place, Faults) -> Table + Sync),
) -> Result<bool> {
    statement.prepare(&place, &place.table()).await?;
    let hit = Stage { place: &place, open }.try_at(statement, fault, at).await?;
    let Place::S3(bucket) = &place else { panic!("a bucket") };
    // One whose id was lost with the process: it holds nothing.
    let open = bucket.open_uploads();
    assert!(open <= 1, "{} {fault:?} at {at}: {open} open uploads", statement.name);
    Ok(hit)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_stopped_at_any_request_is_before_or_after() -> Result<()> {
    sweep(Fault::Stop).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_with_an_error_at_any_request_is_before_or_after() -> Result<()> {
    sweep(Fault::Error).await
}
