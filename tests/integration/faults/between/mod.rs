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

use case::{Brought, Case};
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
    /// The first partition has been swapped; our process is killed.
    Swapped,
    /// All is done.
    Done,
}

const MOMENTS: &[Moment] =
    &[Moment::Staged, Moment::Logged, Moment::Killed, Moment::Swapped, Moment::Done];
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
fn expected(ours: Ours, moment: Moment, act: Act, swapped: bool) -> &'static [&'static [i64]] {
    match (ours, moment, act) {
        // We decide on what the tool left.
        (Ours::Overwrite, Moment::Staged, _) => &[&[10]],
        (Ours::Overwrite, _, Act::Append) => &[&[10, 77]],
        (Ours::Overwrite, _, Act::Reuse) if swapped => &[&[10, 77]],
        (Ours::Overwrite, _, Act::Overwrite | Act::Reuse) => &[&[77]],
        (Ours::Overwrite, _, Act::Delete) => &[&[]],
        (Ours::Append, _, Act::Append) => &[&[1, 10, 77]],
        (Ours::Append, _, Act::Reuse) => &[&[10, 77]],
        (Ours::Append, Moment::Done, Act::Overwrite) => &[&[77]],
        (Ours::Append, Moment::Done, Act::Delete) => &[&[]],
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
async fn play(tool: &mut Tool, tree: &Path, ours: Ours, moment: Moment, act: Act) -> Vec<String> {
    for _ in 0..ATTEMPTS {
        let case = Case::new(tree, ours, moment);
        let lock = (moment == Moment::Staged).then(|| case.commits.lock());
        let brought = case.bring();
        if matches!(brought, Brought::TooFar) {
            continue;
        }
        let swapped = case.has_left(tree);
        tool.act(act, &case.table);
        let between = case.read().await;
        drop(lock);
        let told = case.end(brought);
        let mut odd = judge(tool, &case, act, swapped, &between).await;
        let skips = ours == Ours::Overwrite && moment == Moment::Logged && !swapped;
        if skips && act != Act::Append && !told.contains("another tool replaced p=a") {
            odd.push(format!("{} {act:?}: that it was skipped isn't told: {told}", tool.name));
        }
        return odd;
    }
    panic!("{} {ours:?} {moment:?}: never stopped in time", tool.name);
}

async fn judge(
    tool: &mut Tool,
    case: &Case,
    act: Act,
    swapped: bool,
    between: &Content,
) -> Vec<String> {
    let mut odd = Vec::new();
    let (name, ours, moment) = (tool.name, case.ours, case.moment);
    let b: &[i64] = if ours == Ours::Overwrite { &[20] } else { &[2, 20] };
    let finals = expected(ours, moment, act, swapped);
    let mut check = |when: &str, seen: &Content, wanted: &[Content]| {
        if !wanted.contains(seen) {
            let case = format!("{name} {act:?}, {ours:?} of ours {moment:?}");
            odd.push(format!("{case} (swapped: {swapped}), {when}: {seen:?}, not {wanted:?}"));
        }
    };
    if moment == Moment::Done {
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
    for ours in [Ours::Overwrite, Ours::Append] {
        // An append swaps nothing.
        let swaps = |moment: &&Moment| ours == Ours::Overwrite || **moment != Moment::Swapped;
        for moment in MOMENTS.iter().filter(swaps) {
            for act in tool.acts() {
                odd.extend(play(&mut tool, &tree, ours, *moment, *act).await);
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
