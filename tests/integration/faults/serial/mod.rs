//! Whether what several processes did and saw can be explained by one order of all of it.
//!
//! A table's versions are the order of its writes. It explains a history of runs if
//! - every version is the work of exactly one write that said it had committed it, and no write that
//!   failed left anything,
//! - a write that ended before another began has the lower version,
//! - every read saw the rows of one version, which it can have been given: none older than what was
//!   committed or read before it began, none younger than what began after it ended.

mod tests;

use std::collections::BTreeMap;

/// A row: who wrote it, and what a fold counted.
pub type Row = (u64, u64);

/// The rows of each partition, in order; a partition without rows isn't there.
pub type State = BTreeMap<u64, Vec<Row>>;

/// What a statement does. The row that a write brings carries its tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// Adds a row to a partition.
    Append(u64),
    /// Leaves a row alone in each of these partitions.
    Overwrite(Vec<u64>),
    /// Overwrites a partition with one row that tells how many there were.
    Fold(u64),
    /// Reads all rows.
    Read,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is this version.
    Committed(u64),
    /// It failed: nothing of it may be seen.
    Failed,
    /// The rows read.
    Saw(State),
}

/// One statement of one process; times on one clock.
#[derive(Debug, Clone)]
pub struct Run {
    /// Tells its rows from all others.
    pub tag: u64,
    /// What was asked for.
    pub statement: Statement,
    /// When it was started.
    pub begin: u64,
    /// When its result was there.
    pub end: u64,
    /// Its result.
    pub outcome: Outcome,
}

/// What was explained.
#[derive(Debug, PartialEq, Eq)]
pub struct Explained {
    /// Writes that committed.
    pub writes: usize,
    /// Reads, each of one version.
    pub reads: usize,
    /// Writes that failed, and left nothing.
    pub failed: usize,
}

/// Explains all runs on a table that is empty at version 1 and had `versions` in its history
/// afterwards, or says what can't be.
pub fn explain(runs: &[Run], versions: &[u64]) -> Result<Explained, String> {
    let writes = in_order(runs)?;
    let logged: Vec<u64> = versions.iter().copied().filter(|version| *version > 1).collect();
    let told: Vec<u64> = writes.iter().map(|(version, _)| *version).collect();
    if logged != told {
        return Err(format!("the history holds {logged:?}, the writers tell of {told:?}"));
    }
    check_real_time(&writes)?;
    let states = replay(&writes);
    let reads = place_reads(runs, &writes, &states)?;
    let failed = runs.iter().filter(|run| run.outcome == Outcome::Failed).count();
    Ok(Explained { writes: writes.len(), reads, failed })
}

type Writes<'a> = Vec<(u64, &'a Run)>;

/// The committed writes by version, each version once.
fn in_order(runs: &[Run]) -> Result<Writes<'_>, String> {
    let mut writes = BTreeMap::new();
    for run in runs {
        let Outcome::Committed(version) = run.outcome else { continue };
        if let Some(other) = writes.insert(version, run) {
            return Err(format!("version {version} is claimed by {other:?} and {run:?}"));
        }
    }
    Ok(writes.into_iter().collect())
}

fn check_real_time(writes: &Writes<'_>) -> Result<(), String> {
    let mut earliest_end = u64::MAX;
    for (version, run) in writes.iter().rev() {
        if run.begin > earliest_end {
            return Err(format!("version {version} began after a later one had ended: {run:?}"));
        }
        earliest_end = earliest_end.min(run.end);
    }
    Ok(())
}

/// The state at each version, from 1 on.
fn replay(writes: &Writes<'_>) -> BTreeMap<u64, State> {
    let mut state = State::new();
    let mut states = BTreeMap::from([(1, state.clone())]);
    for (version, run) in writes {
        apply(&mut state, run);
        states.insert(*version, state.clone());
    }
    states
}

fn apply(state: &mut State, run: &Run) {
    match &run.statement {
        Statement::Append(partition) => {
            let rows = state.entry(*partition).or_default();
            rows.push((run.tag, 0));
            rows.sort_unstable();
        }
        Statement::Overwrite(partitions) => {
            state.extend(partitions.iter().map(|partition| (*partition, vec![(run.tag, 0)])));
        }
        Statement::Fold(partition) => {
            let before = state.get(partition).map_or(0, Vec::len) as u64;
            state.insert(*partition, vec![(run.tag, before)]);
        }
        Statement::Read => {}
    }
}

/// Gives each read, in the order of their beginnings, the lowest version that it can have seen: no
/// choice leaves the later ones more room.
fn place_reads(
    runs: &[Run],
    writes: &Writes<'_>,
    states: &BTreeMap<u64, State>,
) -> Result<usize, String> {
    let mut reads: Vec<(&Run, &State)> = runs.iter().filter_map(read).collect();
    reads.sort_by_key(|(run, _)| run.begin);
    let mut placed: Vec<(u64, u64)> = Vec::new();
    for (run, saw) in reads {
        let ended = writes.iter().filter(|(_, write)| write.end < run.begin).map(|(v, _)| *v);
        let read = placed.iter().filter(|(end, _)| *end < run.begin).map(|(_, v)| *v);
        let oldest = ended.chain(read).max().unwrap_or(1);
        let begun = writes.iter().filter(|(_, write)| write.begin > run.end).map(|(v, _)| *v - 1);
        let newest = begun.min().unwrap_or(u64::MAX).max(oldest);
        let fits = states.range(oldest..=newest).find(|(_, state)| *state == saw);
        let Some((version, _)) = fits else {
            return Err(format!("no version from {oldest} to {newest} is what was read: {run:?}"));
        };
        placed.push((run.end, *version));
    }
    Ok(placed.len())
}

fn read(run: &Run) -> Option<(&Run, &State)> {
    match &run.outcome {
        Outcome::Saw(state) => Some((run, state)),
        _ => None,
    }
}
