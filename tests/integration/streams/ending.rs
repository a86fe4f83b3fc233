//! How a run ends whose queries still run.

use std::process::Stdio;

use rustix::process::Signal;

use super::instances::ticking;
use super::{CLICKS, ENDLESS, VIEWS, land, landed, two_files};
use crate::support::Folder;
use crate::support::process::Process;
use crate::support::tmux::{PROMPT, Terminal};

/// The rows of whole batches: the sink has what the checkpoint says, and a restart goes on.
fn is_whole(folder: &Folder) {
    let ck = folder.path().join("ck/ticking");
    let count = |name: &str| std::fs::read_dir(ck.join(name)).expect(name).count();
    assert_eq!(count("offsets"), count("commits"));
    let stop = format!("{ENDLESS} STOP QUERY ticking");
    folder.sql(&stop).ok();
}

#[test]
fn a_script_waits_for_the_queries_that_end_by_themselves() {
    let folder = two_files();
    let ran = folder.sql(&format!("{CLICKS} {VIEWS}")).ok();
    assert!(ran.err.contains("waiting for the end of views\n"), "{}", ran.err);
    assert!(ran.err.contains("views batch 1: "), "{}", ran.err);
    assert_eq!(folder.row("SELECT sum(views) FROM views"), "4");
    land(&folder, 2, &["1,home,2024-01-01 00:07:00"]);
    let ran = folder.run(&["-q", "-c", &format!("{CLICKS} {VIEWS}")]).ok();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    assert_eq!(folder.row("SELECT sum(views) FROM views"), "5");
}

#[test]
fn ctrl_c_or_sigterm_ends_endless_queries_well() {
    for signal in [Signal::INT, Signal::TERM] {
        let folder = Folder::new();
        let mut process = ticking(&folder, "");
        process.send(signal);
        let ran = process.end().ok();
        assert!(ran.err.contains("running until Ctrl-C or SIGTERM: ticking"), "{}", ran.err);
        is_whole(&folder);
    }
}

#[test]
fn a_wait_that_is_cancelled_ends_the_script_and_stops_its_queries() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let folder = Folder::new();
        let mut process =
            ticking(&folder, "AWAIT QUERY ticking; CREATE TABLE never AS SELECT 1 AS a");
        process.send(signal);
        let ran = process.end();
        assert_eq!(ran.status, Some(status), "{}{}", ran.out, ran.err);
        assert!(!folder.table("never").exists());
        is_whole(&folder);
    }
}

#[test]
fn a_statement_that_fails_stops_the_queries_of_its_script() {
    let folder = Folder::new();
    let mut process = ticking(&folder, "");
    process.send(Signal::TERM);
    process.end().ok();
    folder.sql(&format!("{ENDLESS} SELECT nosuch")).fails(1, &["nosuch"]);
    is_whole(&folder);
}

/// A query whose only batch fails.
const FAILING: &str = "CREATE STREAM broken (a INT) FROM FILES 'broken/'; \
     START QUERY failing CHECKPOINT 'ck/failing' INTO TABLE t AS SELECT a FROM broken;";

fn with_broken_file() -> Folder {
    let folder = landed(&[]);
    std::fs::create_dir(folder.path().join("broken")).expect("a folder");
    std::fs::write(folder.path().join("broken/1.parquet"), "no Parquet at all").expect("a file");
    folder
}

#[test]
fn a_query_that_fails_is_told_by_the_exit_status() {
    let folder = with_broken_file();
    let told = ["the query failing has failed: ", "broken/1.parquet"];
    folder.sql(FAILING).fails(1, &told);
    folder.sql(&format!("{FAILING} AWAIT QUERY failing; SELECT 1")).fails(1, &told);
    folder.sql(&format!("{FAILING} {ENDLESS}")).fails(1, &told);
    let waited = format!("{FAILING} AWAIT QUERY failing");
    let ran = folder.sql(&waited);
    assert_eq!(ran.err.matches("has failed").count(), 1, "{}", ran.err);
}

#[test]
fn the_prompt_tells_of_a_query_that_failed_and_stops_those_that_run() {
    let folder = with_broken_file();
    let Some(terminal) = Terminal::open(&folder, 200, 50) else { return };
    terminal.wait_for(PROMPT);
    terminal.enter(&format!("{FAILING} SELECT 1 AS one;"));
    terminal.wait_for("| 1   |");
    terminal.enter("SELECT count(*) AS many FROM generate_series(1, 3000000);");
    terminal.wait_for("error: the query failing has failed: ");
    terminal.enter(ENDLESS);
    terminal.wait_for("ticking runs");
    terminal.enter("AWAIT QUERY ticking;");
    terminal.wait_for("ticking batch 1: ");
    terminal.press("C-c");
    terminal.wait_for("cancelled");
    terminal.enter("SELECT state FROM (SELECT 'still ' || 'there' AS state);");
    terminal.wait_for("| still there |");
    terminal.enter("\\q");
    terminal.wait_for("stopping ticking");
    terminal.wait_end();
    is_whole(&folder);
}

#[test]
fn a_query_that_is_cut_off_before_its_end_is_an_interrupted_run() {
    let folder = two_files();
    let slow = "START QUERY slow CHECKPOINT 'ck/slow' INTO TABLE s AS SELECT count(*) AS n FROM clicks \
         CROSS JOIN generate_series(1, 100000) AS a CROSS JOIN generate_series(1, 100000) AS b";
    let slow = slow.replace("CHECKPOINT", "OUTPUT MODE complete CHECKPOINT");
    let mut command = folder.partwise();
    command.args(["-c", &format!("{CLICKS} {slow}")]).stdin(Stdio::null());
    let mut process = Process::start(command);
    let offsets = folder.path().join("ck/slow/offsets/0");
    crate::support::process::within(crate::support::process::LONGEST, "a batch", || {
        offsets.exists()
    });
    process.send(Signal::INT);
    let ran = process.end();
    assert_eq!(ran.status, Some(130), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("the running batch of slow took too long"), "{}", ran.err);
}
