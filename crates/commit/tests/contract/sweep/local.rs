//! The sweep over the calls of a local disk.

use std::sync::Arc;

use partwise_commit::*;
use partwise_testkit::{Fault, Faults, FaultyDisk};
use rustix::io::Errno;

use super::*;

type Kind = fn(FaultyDisk) -> FaultyDisk;

fn on(place: &Place, disk: FaultyDisk) -> Table {
    let Location::Local { dir, .. } = place.location("report") else { panic!("a local place") };
    Table::new(Location::Local { disk: Arc::new(disk), dir })
}

/// The calls that change something: a fault that does its work differs from an error there.
fn changes(call: &str) -> bool {
    let reads = ["real_path", "metadata", "link_metadata", "list", "read", "open", "try_lock"];
    !reads.contains(&call.split(' ').next().unwrap_or_default())
}

/// How many points a sweep tried.
struct Swept {
    points: usize,
    /// Those at the call right after two directories were swapped.
    after_a_swap: usize,
}

impl Swept {
    /// Among the points is the one right after the swap, of each partition that these replace.
    fn has_swaps_of(&self, which: impl Fn(&Statement) -> bool) {
        let statements = statements();
        let swaps = statements.iter().filter(|statement| which(statement)).map(|s| s.swaps);
        assert_eq!(self.after_a_swap, swaps.sum::<usize>());
    }
}

/// A fault at every call of every statement that `which` names.
async fn sweep(
    fault: Fault,
    kind: Kind,
    which: impl Fn(&Statement) -> bool,
    point: impl Fn(&str) -> bool,
) -> Result<Swept> {
    let (mut points, mut after_a_swap) = (0, 0);
    for statement in statements().iter().filter(|statement| which(statement)) {
        let template = Place::local();
        let open = |place: &Place, faults| on(place, kind(FaultyDisk::with(faults)));
        statement.prepare(&template, &open(&template, Faults::none())).await?;
        let trial = template.copy();
        let calls = calls_of(&Stage { place: &trial, open: &open }, statement).await?;
        after_the_switch(statement, &calls, "rename _partwise/report/published");
        let mut at = 0;
        loop {
            let place = template.copy();
            if calls.get(at).is_none_or(|call| point(call)) {
                let stage = Stage { place: &place, open: &open };
                if !stage.try_at(statement, fault, at).await? {
                    break;
                }
                points += 1;
                let swapped =
                    at > 0 && calls.get(at - 1).is_some_and(|call| call.starts_with("exchange "));
                after_a_swap += usize::from(swapped);
            }
            at += 1;
        }
        assert!(at > 50, "{}: {at}", statement.name);
    }
    println!("{points} points of {fault:?} on a local disk, {after_a_swap} right after a swap");
    Ok(Swept { points, after_a_swap })
}

/// In halves, as tests run beside each other.
fn overwrites(statement: &Statement) -> bool {
    statement.name.contains("overwrite")
}

fn others(statement: &Statement) -> bool {
    !overwrites(statement)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overwrite_stopped_at_any_call_is_before_or_after() -> Result<()> {
    sweep(Fault::Stop, |disk| disk, overwrites, |_| true).await?.has_swaps_of(overwrites);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_other_statement_stopped_at_any_call_is_before_or_after() -> Result<()> {
    sweep(Fault::Stop, |disk| disk, others, |_| true).await?.has_swaps_of(others);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overwrite_with_an_error_at_any_call_is_before_or_after() -> Result<()> {
    sweep(Fault::Error, |disk| disk, overwrites, |_| true).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_other_statement_with_an_error_at_any_call_is_before_or_after() -> Result<()> {
    sweep(Fault::Error, |disk| disk, others, |_| true).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_works_and_says_it_did_not_is_before_or_after() -> Result<()> {
    sweep(Fault::Landed, |disk| disk, |_| true, changes).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_written_by_half_is_never_seen() -> Result<()> {
    let swept =
        sweep(Fault::Partial, |disk| disk, |_| true, |call| call.starts_with("write")).await?;
    assert!(swept.points > 20, "{}", swept.points);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_is_full_at_any_call_is_before_or_after() -> Result<()> {
    let full = Fault::Os(Errno::NOSPC.raw_os_error());
    sweep(full, |disk| disk, |_| true, changes).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_exchange_a_stopped_overwrite_is_before_or_after() -> Result<()> {
    sweep(Fault::Stop, FaultyDisk::without_exchange, overwrites, |_| true).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_hard_links_a_stopped_statement_is_before_or_after() -> Result<()> {
    let which = |s: &Statement| ["append", "dynamic overwrite", "restore"].contains(&s.name);
    sweep(Fault::Stop, FaultyDisk::without_links, which, |_| true).await.map(drop)
}
