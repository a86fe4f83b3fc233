//! The sweep over the requests to a memory store.

use std::sync::Arc;

use object_store::memory::InMemory;
use partwise_testkit::{FaultyStore, OpenUploads};

use super::*;

fn memory(place: &Place) -> Arc<InMemory> {
    let Place::Memory(store) = place else { panic!("a memory place") };
    Arc::clone(store)
}

/// The requests that change something.
fn changes(call: &str) -> bool {
    let reads = ["get ", "head ", "list ", "list_with_delimiter ", "get_ranges "];
    !reads.iter().any(|read| call.starts_with(read))
}

/// A fault at every request of every statement for which `point` holds; how many there were.
async fn sweep(fault: Fault, point: impl Fn(&str) -> bool) -> Result<usize> {
    let mut points = 0;
    for statement in statements() {
        let uploads = OpenUploads::default();
        let open = |place: &Place, faults| {
            let store = FaultyStore::new(memory(place), faults).noting(&uploads);
            let Location::Store { prefix, .. } = place.location("report") else { panic!() };
            Table::new(Location::store(Arc::new(store), prefix))
        };
        let template = Place::memory();
        statement.prepare(&template, &open(&template, Faults::none())).await?;
        let left = uploads.all();
        let trial = template.fork();
        let calls = calls_of(&Stage { place: &trial, open: &open }, &statement).await?;
        after_the_switch(&statement, &calls, "put _partwise/report/published");
        let mut at = 0;
        loop {
            let place = template.fork();
            if calls.get(at).is_none_or(|call| point(call)) {
                uploads.reset(&left);
                let stage = Stage { place: &place, open: &open };
                if !stage.try_at(&statement, fault, at).await? {
                    break;
                }
                // One whose id was lost with the answer, or with the process, nobody knows: it
                // holds nothing.
                let open = uploads.all();
                let empty = open.iter().all(|(_, upload)| !upload.has_parts);
                assert!(open.len() <= 1 && empty, "{} at {at}: {open:?}", statement.name);
                points += 1;
            }
            at += 1;
        }
        assert!(at > 20, "{}: {at}", statement.name);
    }
    println!("{points} points of {fault:?} on a memory store");
    Ok(points)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_stopped_at_any_request_is_before_or_after() -> Result<()> {
    sweep(Fault::Stop, |_| true).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_with_an_error_at_any_request_is_before_or_after() -> Result<()> {
    sweep(Fault::Error, |_| true).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_works_and_says_it_did_not_is_before_or_after() -> Result<()> {
    sweep(Fault::Landed, changes).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_cut_in_half_is_before_or_after() -> Result<()> {
    sweep(Fault::Partial, |call| !changes(call)).await.map(drop)
}
