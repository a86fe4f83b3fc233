//! A streaming query from a bucket's folder into a bucket's table.

use std::path::Path;

use object_store::ObjectStoreExt;

use super::{Bucket, bucket};

/// Puts a file of clicks into the folder `landing` beside the lake's tables.
fn land(bucket: &Bucket, number: usize, clicks: &[&str]) {
    let text = format!("page,ts\n{}\n", clicks.join("\n"));
    let key = bucket.prefix().join("landing").join(format!("{number}.csv"));
    let store = bucket.store();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(store.put(&key, text.into())).expect("an object");
}

fn script(bucket: &Bucket, mode: &str, query: &str) -> String {
    format!(
        "CREATE STREAM clicks (page STRING, ts TIMESTAMP) FROM FILES '{}' \
         OPTIONS ('format' 'csv', 'max_files_per_trigger' '1'); \
         START QUERY q_{mode} OUTPUT MODE {mode} CHECKPOINT 'ck/{mode}' \
         INTO TABLE t_{mode} PARTITIONED BY (day) AS {query}; AWAIT QUERY q_{mode}",
        bucket.address("landing")
    )
}

/// Takes the last commit away, as if the process had died before it.
fn forget_last_commit(checkpoint: &Path) {
    let commits = checkpoint.join("commits");
    let names = std::fs::read_dir(&commits).expect("commits").map(|entry| entry.expect("a name"));
    let number = |name: std::fs::DirEntry| name.file_name().to_string_lossy().parse::<u64>();
    let last = names.map(|name| number(name).expect("a number")).max().expect("a commit");
    std::fs::remove_file(commits.join(last.to_string())).expect("removed");
}

#[test]
fn a_bucket_has_each_batch_once() {
    let Some(bucket) = bucket("streams of a bucket") else { return };
    land(&bucket, 0, &["home,2024-01-01 00:00:00", "about,2024-01-02 00:00:00"]);
    land(&bucket, 1, &["home,2024-01-01 01:00:00", "home,2024-01-02 01:00:00"]);
    let day = "CAST(ts AS DATE) AS day";
    let added = script(&bucket, "append", &format!("SELECT page, ts, {day} FROM clicks"));
    let counted = format!("SELECT {day}, page, count(*) AS views FROM clicks GROUP BY 1, 2");
    let counted = script(&bucket, "update", &counted);
    for _ in 0..2 {
        for script in [&added, &counted] {
            bucket.sql(script).ok();
        }
        assert_eq!(bucket.rows("SELECT count(*) FROM t_append"), ["4"]);
        let views = "SELECT day, page, views FROM t_update ORDER BY 1, 2";
        let expected = ["2024-01-01,home,2", "2024-01-02,about,1", "2024-01-02,home,1"];
        assert_eq!(bucket.rows(views), expected);
        for mode in ["append", "update"] {
            forget_last_commit(&bucket.folder.path().join("ck").join(mode));
        }
    }
    land(&bucket, 2, &["about,2024-01-02 05:00:00"]);
    for script in [&added, &counted] {
        bucket.sql(script).ok();
    }
    assert_eq!(bucket.rows("SELECT count(*) FROM t_append"), ["5"]);
    let about = "SELECT views FROM t_update WHERE day = DATE '2024-01-02' AND page = 'about'";
    assert_eq!(bucket.rows(about), ["2"]);
}
