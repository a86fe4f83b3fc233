//! The protocol's model: every order in which writers, a reader, a helper and another tool can take
//! their steps, and every place where one of them can crash.
//!
//! ```text
//!              stateright: breadth first, each state once
//!                   |  Step(process) | Crash(process) | Foreign
//!   protocol   what processes there are, what can come next, what has to hold in each state
//!                   |
//!   programs   plan: hold, settle, sweep, take_for_commit, decide, log          \
//!              bring_in: complete, publish        clean: after_publish, house     } the product's own
//!              look_around: take                  fetch: open, read              /
//!                   |
//!   table      the product's backend, with others in between; mutations tamper with it
//!                   |  LocalTable, StoreTable: bring_in, clean_up, log, publish, ...
//!   disk, store   each call of the product is asked of the script
//!                   |
//!   script     answers what was answered before, does the next call, then stops
//!                   |
//!   world      names and files; locks; open uploads, a put that arrives late
//! ```
//! Nothing of the protocol is written down a second time: a process is the product's code, run on
//! a disk or a store in memory. Its state is what it was answered so far. A step runs the code
//! once more with those answers, lets it make its next calls, and leaves it where it asks for more.
//! So a change of the product changes what is explored.
//!
//! What has to hold, in `protocol`: a reader sees one version, whole, across both partitions
//! (nothing lost, nothing united); what a writer was told is so; an outcome is settled once; no
//! step fails; on a disk nothing becomes void; and wherever all have ended or crashed, a reader
//! needs no writer, whoever comes next finishes all that was logged as it was meant, and to do it
//! all once more changes nothing. What another tool put there after the commit point stands.
//!
//! Each trap of the design is a [`Mutation`](table::Mutation): the tests demand that it is found,
//! and print the steps to it. `cargo test -p partwise-commit model -- --nocapture` shows the states
//! explored. `PARTWISE_MODEL=wide` makes every call a step of its own: hours, not a minute.
//!
//! On a store a helper rolls forward what it found logged, however late it comes, and a sweeper
//! aborts uploads that it found unlogged: only those may make a version void.
//!
//! Left out: loss of what wasn't synced, and a tool that needs several steps itself. Known limits
//! that are no failure here: after a crash in a swap that met another tool's new content, readers
//! of that partition fail until the next write; on a store, a tool that comes between the identity
//! check of an object and its delete (no tool is at work there).

mod claims;
mod disk;
mod programs;
mod protocol;
mod scenario;
mod script;
mod state;
mod store;
mod table;
mod world;

use std::time::Instant;

use protocol::Protocol;
use scenario::{Role, Scenario, dynamic, fixed, whole};
use stateright::{Checker, HasDiscoveries, Model};
use table::Mutation;

use crate::Operation;

/// Two overwrites that meet in a partition, a reader across both partitions.
fn overwrites() -> Scenario {
    let roles = vec![
        Role::Writer(dynamic(), vec![("a", 3), ("b", 4)]),
        Role::Writer(fixed("a"), vec![("a", 5)]),
        Role::Reader,
    ];
    Scenario { name: "overwrites", roles, crashes: 1, ..Scenario::default() }
}

/// An overwrite of the whole table that leaves a partition empty, an append.
fn emptied() -> Scenario {
    let roles = vec![
        Role::Writer(whole(), vec![("a", 3)]),
        Role::Writer(Operation::Append, vec![("a", 5)]),
        Role::Reader,
    ];
    Scenario { name: "a partition emptied", roles, crashes: 1, ..Scenario::default() }
}

/// Nothing is kept, old records go: a slow reader finds gaps.
fn trimmed() -> Scenario {
    let mut scenario = outrun();
    scenario.roles.remove(1);
    Scenario { name: "retention 0", ..scenario }
}

/// The same with a commit more: also the records go that a reader has to walk back.
fn outrun() -> Scenario {
    let roles = vec![
        Role::Writer(dynamic(), vec![("a", 3)]),
        Role::Writer(Operation::Append, vec![("b", 4)]),
        Role::Writer(Operation::Append, vec![("b", 5)]),
        Role::Reader,
    ];
    Scenario { name: "retention 0, outrun", roles, trims: true, ..Scenario::default() }
}

/// Another tool replaces a partition while it is being overwritten; in the wide exploration with
/// another partition.
fn meddled() -> Scenario {
    let mut files = vec![("a", 3)];
    files.extend(protocol::is_wide().then_some(("b", 4)));
    let roles = vec![Role::Writer(dynamic(), files), Role::Helper, Role::Reader];
    Scenario { name: "another tool", roles, crashes: 1, foreign: true, ..Scenario::default() }
}

fn on_store(name: &'static str, roles: Vec<Role>) -> Scenario {
    Scenario { name, roles, on_store: true, ..Scenario::default() }
}

/// Two writers at once in one partition; in the wide exploration with a reader.
fn at_once() -> Scenario {
    let roles =
        vec![Role::Writer(dynamic(), vec![("a", 3)]), Role::Writer(dynamic(), vec![("a", 5)])];
    let scenario = Scenario { crashes: 1, ..on_store("store, overwrites at once", roles) };
    with_reader_if_wide(scenario)
}

/// A reader across two partitions, one of which an overwrite leaves empty.
fn watched() -> Scenario {
    let roles = vec![Role::Writer(whole(), vec![("a", 3)]), Role::Reader];
    Scenario { crashes: 1, ..on_store("store, a reader", roles) }
}

/// A helper in the middle of a commit; in the wide exploration with a reader.
fn helped() -> Scenario {
    let roles = vec![Role::Writer(whole(), vec![("a", 3)]), Role::Helper];
    let scenario = Scenario { crashes: 1, ..on_store("store, a helper", roles) };
    with_reader_if_wide(scenario)
}

fn with_reader_if_wide(mut scenario: Scenario) -> Scenario {
    scenario.roles.extend(protocol::is_wide().then_some(Role::Reader));
    scenario
}

/// A helper that is late by a whole commit.
fn outlived() -> Scenario {
    let roles = vec![
        Role::Writer(dynamic(), vec![("a", 3)]),
        Role::Writer(dynamic(), vec![("a", 5)]),
        Role::Helper,
    ];
    on_store("store, a helper that is late", roles)
}

/// A sweeper of uploads meets a writer and a helper.
fn swept() -> Scenario {
    let roles =
        vec![Role::Writer(dynamic(), vec![("a", 3), ("b", 4)]), Role::Helper, Role::Sweeper];
    Scenario { crashes: 1, ..on_store("store, a sweeper", roles) }
}

/// A record that is put arrives late.
fn late() -> Scenario {
    let roles = vec![
        Role::Writer(dynamic(), vec![("a", 3)]),
        Role::Writer(Operation::Append, vec![("b", 5)]),
    ];
    Scenario { loses: true, ..on_store("store, a record arrives late", roles) }
}

/// What an exploration came to.
struct Explored {
    states: usize,
    /// What doesn't hold, in how many steps that is shown, and how.
    failure: Option<(&'static str, usize, String)>,
    /// What was seen to happen.
    seen: Vec<&'static str>,
}

fn explore(scenario: Scenario) -> Explored {
    let (name, started) = (scenario.name, Instant::now());
    let mutation = scenario.mutation;
    let checker = Protocol::new(scenario)
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let states = checker.unique_state_count();
    let mut explored = Explored { states, failure: None, seen: Vec::new() };
    for (property, path) in checker.discoveries() {
        if let stateright::DiscoveryClassification::Example =
            checker.discovery_classification(property)
        {
            explored.seen.push(property);
        } else {
            let why = checker.model().finishes(path.last_state());
            let last = format!("{why:?}\n{:#?}", path.last_state());
            let actions = path.into_actions();
            let steps = actions.len();
            explored.failure = Some((property, steps, format!("{actions:?}\n{last}")));
        }
    }
    print!("{name}, {mutation:?}: {states} states, {:.1?}", started.elapsed());
    match &explored.failure {
        Some((property, steps, _)) => println!(", {steps} steps to break '{property}'"),
        None => println!(),
    }
    explored
}

fn holds(scenario: Scenario) {
    let reads = scenario.roles.iter().any(|role| matches!(role, Role::Reader));
    let explored = explore(scenario);
    if let Some((property, _, how)) = explored.failure {
        panic!("'{property}' doesn't hold:\n{how}");
    }
    assert!(
        !reads || explored.seen.contains(&"a reader read the newest"),
        "too little was explored"
    );
}

fn breaks(scenario: Scenario, mutation: Mutation) {
    let explored = explore(Scenario { mutation, ..scenario });
    assert!(explored.failure.is_some(), "{mutation:?} isn't found in {} states", explored.states);
}

macro_rules! tests {
    ($($name:ident: $work:expr;)*) => { $(#[test] fn $name() { $work; })* };
}

mod disk_holds {
    use super::*;
    tests! {
        overwrites_that_meet: holds(overwrites());
        a_partition_left_empty: holds(emptied());
        a_log_that_is_trimmed: holds(trimmed());
        another_tool_in_between: holds(meddled());
    }
}

mod disk_breaks {
    use super::*;
    tests! {
        publish_before_complete: breaks(overwrites(), Mutation::PublishBeforeComplete);
        clean_before_publish: breaks(emptied(), Mutation::CleanBeforePublish);
        the_next_logged_before_the_last_is_clean: breaks(emptied(), Mutation::LogBeforeClean);
        a_path_for_an_identity: breaks(meddled(), Mutation::PathIsIdentity);
        staging_of_a_logged_transaction_swept: breaks(overwrites(), Mutation::SweepLogged);
        a_name_added_twice: breaks(overwrites(), Mutation::NameTwice);
        what_the_version_removed_not_taken_away: breaks(emptied(), Mutation::KeepRemoved);
        put_back_without_a_look_at_what_was_added: breaks(meddled(), Mutation::PutBackUnseen);
        records_asked_for_before_the_listing: breaks(overwrites(), Mutation::RecordsBeforeListing);
        published_read_only_before_the_listing: breaks(emptied(), Mutation::PublishedOnce);
        no_new_start_at_a_gap: breaks(outrun(), Mutation::OverTheGap);
    }
}

mod store_holds {
    use super::*;
    tests! {
        overwrites_at_once: holds(at_once());
        a_reader_of_two_partitions: holds(watched());
        a_helper_in_the_middle: holds(helped());
        a_helper_late_by_a_commit: holds(outlived());
        a_sweeper_of_uploads: holds(swept());
        a_record_that_arrives_late: holds(late());
    }
}

mod store_breaks {
    use super::*;
    tests! {
        publish_before_complete: breaks(watched(), Mutation::PublishBeforeComplete);
        clean_before_publish: breaks(watched(), Mutation::CleanBeforePublish);
        an_upload_completed_again: breaks(outlived(), Mutation::CompleteAgain);
        an_outcome_of_ones_own: breaks(outlived(), Mutation::OwnOutcome);
        uploads_of_a_logged_transaction_swept: breaks(swept(), Mutation::SweepLogged);
        a_put_of_unknown_outcome_not_repeated: breaks(late(), Mutation::PutOnce);
    }
}
