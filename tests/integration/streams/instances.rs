//! Two processes with one checkpoint: one runs, the other says who.

use std::process::Stdio;

use rustix::process::Signal;

use super::ENDLESS;
use crate::support::Folder;
use crate::support::process::{LONGEST, Process, within};

/// A query that runs until it is told to end, past its first batch.
pub(super) fn ticking(folder: &Folder, more: &str) -> Process {
    let mut command = folder.partwise();
    command.args(["-c", &format!("{ENDLESS} {more}")]).stdin(Stdio::null());
    let process = Process::start(command);
    let commits = folder.path().join("ck/ticking/commits");
    let begun = || std::fs::read_dir(&commits).is_ok_and(|mut commits| commits.next().is_some());
    within(LONGEST, "the first batch", begun);
    process
}

#[test]
fn the_second_instance_of_a_query_says_who_runs() {
    let folder = Folder::new();
    let mut first = ticking(&folder, "");
    let runner = format!("process {}", first.id());
    folder.sql(ENDLESS).fails(4, &[&runner, "runs the query of the checkpoint", "stop it there"]);
    folder.sql("DROP CHECKPOINT 'ck/ticking'").fails(4, &[&runner]);
    first.send(Signal::TERM);
    first.end().ok();
    let second = ticking(&folder, "STOP QUERY ticking");
    second.end().ok();
}
