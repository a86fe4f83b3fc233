//! Eight processes that append to, overwrite, fold and read the same partitions and others at once.
//! Each statement is a process of its own; what all of them did and saw must have one order, also
//! when some of them are killed.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::number_or;
use super::serial::{Outcome, Run, State, Statement, explain};
use crate::support::commits::number_after;
use crate::support::process::Process;
use crate::support::{Folder, Ran};

/// How many seconds they work.
const SECONDS: &str = "PARTWISE_SECONDS";
const WORKERS: u64 = 8;
const PARTITIONS: u64 = 4;
const READ: &str = "SELECT p, tag, seen FROM t ORDER BY p, tag, seen";

fn sql(statement: &Statement, tag: u64) -> String {
    let row = |p: &u64| format!("SELECT {tag} AS tag, 0 AS seen, {p} AS p");
    match statement {
        Statement::Append(p) => format!("INSERT INTO t {}", row(p)),
        Statement::Overwrite(of) => {
            let rows: Vec<String> = of.iter().map(row).collect();
            format!("INSERT OVERWRITE t {}", rows.join(" UNION ALL "))
        }
        Statement::Fold(p) => format!(
            "INSERT OVERWRITE t SELECT {tag} AS tag, (SELECT count(*) FROM t WHERE p = {p}) AS seen, \
             {p} AS p"
        ),
        Statement::Read => READ.to_owned(),
    }
}

fn any(random: &mut SmallRng) -> Statement {
    let p = random.random_range(0..PARTITIONS);
    match random.random_range(0..10) {
        0..3 => Statement::Append(p),
        3..5 => Statement::Overwrite(vec![p]),
        5 => Statement::Overwrite(vec![p, (p + 1) % PARTITIONS]),
        6 => Statement::Fold(p),
        _ => Statement::Read,
    }
}

fn outcome(statement: &Statement, ran: Ran) -> Outcome {
    match (statement, ran.status) {
        (Statement::Read, Some(0)) => Outcome::Saw(state(&ran.out)),
        (_, Some(0)) => {
            let version = number_after(&ran.out, "\"version\":");
            Outcome::Committed(version.unwrap_or_else(|| panic!("no version in {}", ran.out)))
        }
        (Statement::Read, _) => panic!("a read failed: {}", ran.err),
        // Others kept changing what it reads.
        (_, Some(4)) => Outcome::Failed,
        _ => panic!("{statement:?}: {}", ran.err),
    }
}

/// The rows of a read: lines of `p,tag,seen` below a header.
fn state(csv: &str) -> State {
    let mut state = State::new();
    for line in csv.lines().skip(1) {
        let cells: Vec<u64> = line.split(',').map(|cell| cell.parse().expect("a number")).collect();
        state.entry(cells[0]).or_default().push((cells[1], cells[2]));
    }
    state
}

fn run(folder: &Folder, clock: Instant, statement: Statement, tag: u64) -> Run {
    let format = if statement == Statement::Read { "csv" } else { "json" };
    let begin = clock.elapsed().as_nanos() as u64;
    let ran = folder.run(&["--format", format, "-c", &sql(&statement, tag)]);
    let end = clock.elapsed().as_nanos() as u64;
    Run { tag, outcome: outcome(&statement, ran), statement, begin, end }
}

/// Starts a write and kills it some time later: whether it is done is told by the log alone.
fn kill(folder: &Folder, clock: Instant, statement: Statement, tag: u64, life: Duration) -> Run {
    let begin = clock.elapsed().as_nanos() as u64;
    let process = Process::sql(folder, &sql(&statement, tag));
    std::thread::sleep(life);
    process.kill();
    // Whoever comes next may finish it at any time.
    Run { tag, outcome: Outcome::Failed, statement, begin, end: u64::MAX }
}

/// Of so many writes one is killed; none: all live.
type Kills = Option<u32>;

fn work(folder: &Folder, clock: Instant, limit: Duration, worker: u64, kills: Kills) -> Vec<Run> {
    let mut random = SmallRng::seed_from_u64(worker);
    let mut runs: Vec<Run> = Vec::new();
    let mut pace = None;
    for tag in (worker * 1_000_000..).take_while(|_| clock.elapsed() < limit) {
        let statement = any(&mut random);
        let killed =
            statement != Statement::Read && kills.is_some_and(|of| random.random_ratio(1, of));
        if let Some(pace) = pace.filter(|_| killed) {
            // Most of a process's time goes by before it has anything to lose.
            let life = random.random_range(pace / 2..pace);
            runs.push(kill(folder, clock, statement, tag, life));
        } else {
            let run = run(folder, clock, statement, tag);
            pace = Some(Duration::from_nanos(run.end - run.begin));
            runs.push(run);
        }
    }
    runs
}

/// Versions that nobody tells of are of those killed whose rows they brought; how many.
fn find_killed(folder: &Folder, runs: &mut [Run], versions: &[u64]) -> usize {
    let told: BTreeSet<u64> = runs.iter().filter_map(version).collect();
    let untold: Vec<u64> =
        versions.iter().copied().filter(|v| *v > 1 && !told.contains(v)).collect();
    for version in &untold {
        let read = format!("SELECT p, tag, seen FROM at('t', {version})");
        let rows = state(&folder.run(&["--format", "csv", "-c", &read]).ok().out);
        let tags: BTreeSet<u64> = rows.values().flatten().map(|(tag, _)| *tag).collect();
        let killed = |run: &&mut Run| run.end == u64::MAX && run.outcome == Outcome::Failed;
        let mut killed = runs.iter_mut().filter(killed);
        let one = killed.find(|run| tags.contains(&run.tag));
        one.expect("a killed writer's version").outcome = Outcome::Committed(*version);
    }
    untold.len()
}

fn version(run: &Run) -> Option<u64> {
    match run.outcome {
        Outcome::Committed(version) => Some(version),
        _ => None,
    }
}

fn at_once(kills: Kills) {
    let folder = Folder::new();
    let create =
        "CREATE TABLE t (tag BIGINT, seen BIGINT, p BIGINT) USING parquet PARTITIONED BY (p)";
    folder.sql(create).ok();
    let (clock, limit) = (Instant::now(), Duration::from_secs(number_or(SECONDS, 8) as u64));
    let mut runs: Vec<Run> = std::thread::scope(|scope| {
        let start = |worker| {
            let folder = &folder;
            scope.spawn(move || work(folder, clock, limit, worker, kills))
        };
        let workers: Vec<_> = (1..=WORKERS).map(start).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("a worker")).collect()
    });
    // What a killed one may have left is finished first.
    runs.push(run(&folder, clock, Statement::Append(0), 1));
    runs.push(run(&folder, clock, Statement::Read, 0));
    let versions = folder.rows("SELECT version FROM history('t') ORDER BY version");
    let versions: Vec<u64> = versions.iter().map(|v| v.parse().expect("a version")).collect();
    let found = find_killed(&folder, &mut runs, &versions);
    let killed = runs.iter().filter(|run| run.end == u64::MAX).count();
    match explain(&runs, &versions) {
        Ok(explained) => {
            let seconds = limit.as_secs();
            println!(
                "{WORKERS} processes, {seconds} s: {explained:?}; {killed} were killed, {found} of \
                 them done"
            );
            assert!(explained.writes as u64 > WORKERS && explained.reads > 1, "{explained:?}");
        }
        Err(error) => {
            runs.sort_by_key(|run| run.begin);
            panic!("{error}\n{runs:#?}");
        }
    }
}

#[test]
fn what_eight_processes_did_and_saw_has_one_order() {
    at_once(None);
}

#[test]
fn what_eight_processes_did_and_saw_has_one_order_also_when_some_are_killed() {
    at_once(Some(3));
}
