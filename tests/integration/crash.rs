//! The binary killed in the middle of an overwrite.

use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::job::*;
use crate::support::tree::{data_files, staged};
use crate::support::{Folder, quarter};

/// A write whose files are staged and whose commit waits for a lock that the test holds.
pub struct Held {
    child: Child,
    _lock: std::fs::File,
}

impl Held {
    /// Kills the writer as `kill -9` does.
    pub fn kill(mut self) {
        self.child.kill().expect("the writer runs");
        self.child.wait().expect("the writer ends");
    }
}

fn overwrite(folder: &Folder) -> Child {
    let sql = format!("INSERT OVERWRITE report {}", quarter_rows());
    folder
        .partwise()
        .args(["--set", &format!("data={}", quarter().display()), "-c", &sql])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs")
}

/// Starts an overwrite of the report and returns once all its files are staged.
pub fn hold_a_write(folder: &Folder) -> Held {
    let path = folder.lake().join("_partwise/report/lock");
    let lock = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let lock = lock.expect("the lock file");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("the lock");
    let mut child = overwrite(folder);
    let limit = Instant::now() + Duration::from_secs(60);
    let parquet = |names: Vec<String>| names.iter().filter(|n| n.ends_with(".parquet")).count();
    while parquet(staged(&folder.lake())) < 3 {
        assert!(child.try_wait().expect("a status").is_none(), "the writer ended early");
        assert!(Instant::now() < limit, "no files were staged: {:?}", staged(&folder.lake()));
        thread::yield_now();
    }
    Held { child, _lock: lock }
}

#[test]
fn twenty_kills_during_an_overwrite_leave_whole_totals_and_no_orphans() {
    let folder = reported();
    let started = Instant::now();
    assert!(overwrite(&folder).wait().expect("an overwrite").success());
    let whole = started.elapsed();
    for n in 0..20 {
        let mut child = overwrite(&folder);
        thread::sleep(whole.mul_f64(f64::from(n) / 19.0));
        let _ = child.kill();
        child.wait().expect("the writer ends");
        assert_eq!(folder.row(TOTALS), published_totals(), "after kill {n}");
    }
    folder.sql(&format!("INSERT OVERWRITE report {}", quarter_rows())).ok();
    assert_eq!(folder.row(TOTALS), published_totals());
    assert_eq!(data_files(&folder.table("report")).len(), 3);
    assert!(staged(&folder.lake()).is_empty(), "{:?}", staged(&folder.lake()));
    assert!(folder.table("report").join("_SUCCESS").exists());
}

#[test]
fn a_write_that_waits_too_long_for_the_lock_says_who_holds_it() {
    let folder = reported();
    let held = hold_a_write(&folder);
    let sql = format!("SET partwise.lock_timeout = '1 s'; INSERT INTO report {}", quarter_rows());
    folder.sql(&sql).fails(4, &["lock"]);
    held.kill();
    assert_eq!(folder.row(TOTALS), published_totals());
}
