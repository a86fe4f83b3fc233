//! Other tools append to, overwrite and remove a partition before, between and after the steps of a
//! commit of ours, and before another process finishes it.
//!
//! ```text
//!   the tool makes    a: 1   b: 2
//!   we overwrite      a: 10  b: 20     or append them
//!   the tool acts on  a, with 77       at one of the moments
//!   we append to z, which finishes what was left
//! ```

mod case;
mod tools;

use std::path::Path;

use case::{Brought, Case, Found};
use tools::{Act, Content, Tool};

use crate::support::Folder;
use crate::support::tree::staged;

/// What we do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ours {
    Overwrite,
    Append,
}

/// When the tool acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// All files are staged, nothing is decided.
    Staged,
    /// The record is in the log; our process goes on afterwards.
    Logged,
    /// The record is in the log; our process is killed.
    Killed,
    /// The first partition, or its first file, is in place; our process is killed.
    Placed,
    /// Readers are on our version; our process is killed.
    Switched,
    /// All is done.
    Done,
}

const MOMENTS: &[Moment] = &[
    Moment::Staged,
    Moment::Logged,
    Moment::Killed,
    Moment::Placed,
    Moment::Switched,
    Moment::Done,
];
/// What we do, and whether the partition can be swapped: if not, and for an append, our files are
/// brought in one by one.
const WAYS: [(Ours, bool); 3] =
    [(Ours::Overwrite, true), (Ours::Overwrite, false), (Ours::Append, false)];
/// `all`: every tool plays all ways; the tools don't differ much in what is on disk afterwards.
const SCOPE: &str = "PARTWISE_BETWEEN";

/// The ways that a tool plays.
fn ways(name: &str) -> Vec<(Ours, bool)> {
    let all = std::env::var(SCOPE).is_ok_and(|scope| scope == "all");
    let plays = |(ours, swaps): &(Ours, bool)| match name {
        "pyarrow" => true,
        "polars" => *swaps,
        _ => *swaps || *ours == Ours::Append,
    };
    WAYS.into_iter().filter(|way| all || plays(way)).collect()
}

/// How often a process is started to be stopped at a moment.
const ATTEMPTS: usize = 20;

fn sql(ours: Ours) -> String {
    let insert = match ours {
        Ours::Overwrite => "INSERT OVERWRITE t",
        Ours::Append => "INSERT INTO t",
    };
    format!("{insert} SELECT CAST(10 AS BIGINT) AS v, 'a' AS p UNION ALL SELECT 20, 'b'")
}

/// What the partition `a` may hold while our commit isn't published.
fn expected_between(act: Act) -> &'static [i64] {
    match act {
        Act::Append => &[1, 77],
        // Also where its old file has gone to retained: under its name there is the new one.
        Act::Overwrite | Act::Reuse => &[77],
        Act::Delete => &[],
    }
}

/// What the partition `a` may hold in the end: never what the tool removed, never less than it left.
fn expected(ours: Ours, moment: Moment, act: Act, found: Found) -> &'static [&'static [i64]] {
    match (ours, moment, act) {
        // It is there already when the tool comes.
        (_, Moment::Switched | Moment::Done, Act::Overwrite) => &[&[77]],
        (_, Moment::Switched | Moment::Done, Act::Reuse) => &[&[10, 77]],
        (_, Moment::Switched | Moment::Done, Act::Delete) => &[&[]],
        // We decide on what the tool left.
        (Ours::Overwrite, Moment::Staged, _) => &[&[10]],
        (Ours::Overwrite, _, Act::Append) => &[&[10, 77]],
        (Ours::Overwrite, _, Act::Reuse) if found == Found::New => &[&[10, 77]],
        // Our process may have looked for the last time.
        (Ours::Overwrite, Moment::Logged, Act::Reuse) if found == Found::Both => {
            &[&[77], &[10, 77]]
        }
        (Ours::Overwrite, _, Act::Overwrite | Act::Reuse) => &[&[77]],
        (Ours::Overwrite, _, Act::Delete) => &[&[]],
        (Ours::Append, _, Act::Append) => &[&[1, 10, 77]],
        (Ours::Append, _, Act::Reuse) => &[&[10, 77]],
        // Our file may have been there already, and gone with the others.
        (Ours::Append, Moment::Logged, Act::Overwrite) => &[&[10, 77], &[77]],
        (Ours::Append, Moment::Logged, Act::Delete) => &[&[10], &[]],
        (Ours::Append, _, Act::Overwrite) => &[&[10, 77]],
        (Ours::Append, _, Act::Delete) => &[&[10]],
    }
}

fn rows(a: &[i64], b: &[i64], z: &[i64]) -> Content {
    let mut content = Content::new();
    for (partition, values) in [("a", a), ("b", b), ("z", z)] {
        if !values.is_empty() {
            content.insert(partition.to_owned(), values.to_vec());
        }
    }
    content
}

/// Plays one case; what came out otherwise than it should.
async fn play(tool: &mut Tool, act: Act, make: impl Fn() -> Case, tree: &Path) -> Vec<String> {
    for _ in 0..ATTEMPTS {
        let case = make();
        let lock = (case.moment == Moment::Staged).then(|| case.commits.lock());
        let brought = case.bring();
        if matches!(brought, Brought::TooFar) {
            continue;
        }
        let found = case.found(tree);
        tool.act(act, &case.table);
        let between = case.read().await;
        drop(lock);
        let told = case.end(brought);
        let mut odd = judge(tool, &case, act, found, &between).await;
        let skips = case.ours == Ours::Overwrite && case.moment == Moment::Logged;
        if skips
            && found == Found::Old
            && act != Act::Append
            && !told.contains("another tool replaced p=a")
        {
            odd.push(format!("{} {act:?}: that it was skipped isn't told: {told}", tool.name));
        }
        return odd;
    }
    panic!("{} {act:?}: never stopped in time", tool.name);
}

async fn judge(
    tool: &mut Tool,
    case: &Case,
    act: Act,
    found: Found,
    between: &Content,
) -> Vec<String> {
    let mut odd = Vec::new();
    let (name, ours, moment) = (tool.name, case.ours, case.moment);
    let b: &[i64] = if ours == Ours::Overwrite { &[20] } else { &[2, 20] };
    let finals = expected(ours, moment, act, found);
    let mut check = |when: &str, seen: &Content, wanted: &[Content]| {
        if !wanted.contains(seen) {
            let case =
                format!("{name} {act:?}, {ours:?} of ours {moment:?}, swaps: {}", case.swaps);
            odd.push(format!("{case} ({found:?} was there), {when}: {seen:?}, not {wanted:?}"));
        }
    };
    if matches!(moment, Moment::Switched | Moment::Done) {
        let wanted: Vec<_> = finals.iter().map(|a| rows(a, b, &[0])).collect();
        check("at once", between, &wanted);
    } else {
        check("in between", between, &[rows(expected_between(act), &[2], &[0])]);
    }
    case.folder.sql("INSERT INTO t SELECT CAST(5 AS BIGINT) AS v, 'z' AS p").ok();
    let wanted: Vec<_> = finals.iter().map(|a| rows(a, b, &[0, 5])).collect();
    let seen = case.read().await;
    check("in the end", &seen, &wanted);
    check("as the tool reads it", &tool.read(&case.table), &[seen]);
    let left = staged(&case.folder.lake());
    if !left.is_empty() {
        check(&format!("left in staging: {left:?}"), &Content::new(), &[]);
    }
    odd
}

async fn all_cases(name: &'static str) {
    let Some(mut tool) = Tool::start(name) else { return };
    let made = Folder::new();
    let tree = made.path().join("made");
    tool.make(&tree);
    let mut odd = Vec::new();
    let mut cases = 0;
    for (ours, swaps) in ways(name) {
        for moment in MOMENTS {
            for act in tool.acts() {
                let make = || Case::new(&tree, ours, *moment, swaps);
                odd.extend(play(&mut tool, *act, make, &tree).await);
                cases += 1;
            }
        }
    }
    println!("{name}: {cases} cases, {} otherwise than they should be", odd.len());
    assert!(odd.is_empty(), "{}", odd.join("\n"));
}

#[tokio::test]
async fn duckdb_in_between() {
    all_cases("duckdb").await;
}

#[tokio::test]
async fn polars_in_between() {
    all_cases("polars").await;
}

#[tokio::test]
async fn pyarrow_in_between() {
    all_cases("pyarrow").await;
}

#[tokio::test]
async fn spark_in_between() {
    all_cases("spark").await;
}
