//! `kill -9` at any moment of an overwrite of three partitions in a bucket.
//!
//! Half of the moments are uniform over the time that an overwrite takes, half are right after the
//! record has appeared. How far a commit came is told by what is in the bucket afterwards.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use object_store::ObjectStoreExt;
use object_store::path::Path as StorePath;
use partwise::TableStore;

use super::{Bucket, bucket};
use crate::support::commits::{Stage, number_after};
use crate::support::process::Process;

const KILLS: &str = "PARTWISE_BUCKET_KILLS";
const FEW: usize = 20;

/// The log of the table `r`.
struct Log {
    store: Arc<dyn TableStore>,
    home: String,
    runtime: tokio::runtime::Runtime,
}

impl Log {
    fn of(bucket: &Bucket) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        Self { store: bucket.store(), home: format!("{}/_partwise/r", bucket.prefix()), runtime }
    }

    fn text(&self, name: &str) -> Option<String> {
        let path = StorePath::from(format!("{}/{name}", self.home));
        self.runtime.block_on(async {
            let found = self.store.get(&path).await.ok()?;
            let bytes = found.bytes().await.ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        })
    }

    fn holds(&self, version: u64) -> bool {
        self.text(&format!("log/{version:020}.json")).is_some()
    }

    fn published(&self) -> u64 {
        number_after(&self.text("published").unwrap_or_default(), "\"version\":").unwrap_or(0)
    }

    fn stage_of(&self, version: u64) -> Stage {
        match (self.published() >= version, self.holds(version)) {
            (true, _) => Stage::Published,
            (false, true) => Stage::Logged,
            (false, false) => Stage::Staging,
        }
    }
}

fn overwrite(bucket: &Bucket, value: u64) -> Process {
    let rows = "(VALUES ('a'), ('b'), ('c')) AS v(p)";
    let sql = format!("INSERT OVERWRITE r SELECT CAST({value} AS BIGINT) AS n, p FROM {rows}");
    let mut command = bucket.partwise();
    command.args(["--lake", &bucket.address(""), "-c", &sql]);
    Process::start(command)
}

fn timed(bucket: &Bucket, version: u64) -> Duration {
    let started = Instant::now();
    overwrite(bucket, version).end().ok();
    started.elapsed()
}

fn kill(mut process: Process, log: &Log, version: u64, at: Duration, at_record: bool) {
    let started = Instant::now();
    if at_record {
        while process.is_running() && !log.holds(version) {
            thread::yield_now();
        }
    } else {
        thread::sleep(at.saturating_sub(started.elapsed()));
    }
    process.kill();
}

#[test]
fn kills_at_any_moment_leave_the_old_rows_or_the_new_ones_in_a_bucket() {
    let Some(bucket) = bucket("kills of writers of a bucket") else { return };
    let kills = std::env::var(KILLS).map_or(FEW, |kills| kills.parse().expect("a number"));
    bucket.sql("CREATE TABLE r (n BIGINT, p STRING) USING parquet PARTITIONED BY (p)").ok();
    // The quickest of some: others use the store at the same time.
    let whole = (2..5).map(|version| timed(&bucket, version)).min().expect("some");
    let log = Log::of(&bucket);
    let read = "SELECT p, n FROM r ORDER BY p";
    let rows = |n: u64| ["a", "b", "c"].map(|p| format!("{p},{n}"));
    // Each version's number is the one in its rows.
    let mut version = 5;
    let mut found = [0; 3];
    for n in 0..kills {
        let at = whole.mul_f64((n as f64 + 0.5) / kills as f64);
        kill(overwrite(&bucket, version), &log, version, at, n % 2 == 1);
        let stage = log.stage_of(version);
        found[stage as usize] += 1;
        assert_eq!(bucket.rows(read), rows(log.published()), "kill {n}, {stage:?}");
        version += u64::from(stage >= Stage::Logged);
    }
    println!(
        "{kills} kills of writers of a bucket over {} ms: {} in staging, {} between record and \
         switch, {} after",
        whole.as_millis(),
        found[0],
        found[1],
        found[2]
    );
    assert!(found[0] > 0 && found[1] > 0, "{found:?}");
    overwrite(&bucket, version).end().ok();
    assert_eq!(bucket.rows(read), rows(version));
    bucket.sql("VACUUM r RETAIN 0 HOURS").ok();
    assert_eq!(bucket.rows(read), rows(version));
    let data = bucket.objects().into_iter().filter(|(key, _)| key.contains("/r/p="));
    let data: Vec<String> =
        data.map(|(key, _)| key).filter(|key| !key.contains("/_partwise/")).collect();
    assert_eq!(data.len(), 3, "{data:?}");
}
