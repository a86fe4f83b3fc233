//! That the explanation can fail: for each kind of fault a history that has it.

use super::*;

fn write(tag: u64, statement: Statement, times: (u64, u64), version: u64) -> Run {
    let outcome = Outcome::Committed(version);
    Run { tag, statement, begin: times.0, end: times.1, outcome }
}

fn saw(times: (u64, u64), rows: &[(u64, &[Row])]) -> Run {
    let state = rows.iter().map(|(partition, rows)| (*partition, rows.to_vec())).collect();
    let outcome = Outcome::Saw(state);
    Run { tag: 0, statement: Statement::Read, begin: times.0, end: times.1, outcome }
}

/// An append, an overwrite of two partitions and a fold, one after the other, and reads of all.
fn sound() -> Vec<Run> {
    vec![
        write(1, Statement::Append(1), (0, 10), 2),
        write(2, Statement::Overwrite(vec![1, 2]), (20, 30), 3),
        write(3, Statement::Append(2), (40, 50), 4),
        write(4, Statement::Fold(2), (45, 60), 5),
        saw((1, 5), &[]),
        saw((11, 15), &[(1, &[(1, 0)])]),
        saw((21, 25), &[(1, &[(2, 0)]), (2, &[(2, 0)])]),
        saw((70, 80), &[(1, &[(2, 0)]), (2, &[(4, 2)])]),
    ]
}

fn refused(runs: &[Run], why: &str) {
    let error = explain(runs, &[1, 2, 3, 4, 5]).expect_err(why);
    assert!(error.contains(why), "{error}");
}

#[test]
fn a_sound_history_is_explained() {
    let mut runs = sound();
    runs.push(Run { outcome: Outcome::Failed, ..write(5, Statement::Append(1), (0, 90), 0) });
    let explained = explain(&runs, &[1, 2, 3, 4, 5]);
    assert_eq!(explained, Ok(Explained { writes: 4, reads: 4, failed: 1 }));
}

#[test]
fn a_lost_and_a_doubled_commit_are_found() {
    let mut runs = sound();
    runs[2].outcome = Outcome::Failed;
    refused(&runs, "the writers tell of [2, 3, 5]");
    runs[2].outcome = Outcome::Committed(5);
    refused(&runs, "version 5 is claimed");
    let error = explain(&sound(), &[1, 2, 3, 4]).expect_err("a version that nobody logged");
    assert!(error.contains("the history holds [2, 3, 4]"), "{error}");
}

#[test]
fn a_later_write_with_a_lower_version_is_found() {
    let mut runs = sound();
    (runs[0].outcome, runs[1].outcome) = (Outcome::Committed(3), Outcome::Committed(2));
    refused(&runs, "began after a later one had ended");
}

#[test]
fn a_lost_update_is_found() {
    let mut runs = sound();
    // The fold counted the rows before version 4 and yet replaced what version 4 appended.
    runs[7] = saw((70, 80), &[(1, &[(2, 0)]), (2, &[(4, 1)])]);
    refused(&runs, "no version from 5");
}

#[test]
fn torn_stale_and_early_reads_and_those_that_go_back_are_found() {
    for (read, why) in [
        (saw((21, 25), &[(1, &[(2, 0)])]), "no version from 2 to 3"),
        (saw((31, 35), &[(1, &[(1, 0)])]), "no version from 3 to 3"),
        (saw((5, 8), &[(1, &[(2, 0)]), (2, &[(2, 0)])]), "no version from 1 to 2"),
        (saw((26, 27), &[(1, &[(1, 0)])]), "no version from 3"),
        (saw((70, 80), &[(1, &[(2, 0), (2, 0)]), (2, &[(4, 2)])]), "no version from 5"),
    ] {
        let mut runs = sound();
        runs.push(read);
        refused(&runs, why);
    }
}
