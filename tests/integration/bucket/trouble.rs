//! Stores that can't be reached, or not like that: told plainly, and in time.

use std::time::{Duration, Instant};

use super::{bucket, with_keys};
use crate::support::{Folder, ran};

/// Nothing listens there.
const CLOSED: &str = "http://127.0.0.1:1";
/// Far above what the client tries for.
const BOUND: Duration = Duration::from_secs(120);

#[test]
fn a_store_that_is_down_is_named_in_time() {
    let folder = Folder::new();
    for sql in ["SELECT * FROM r", "CREATE TABLE r (n INT) USING parquet"] {
        let started = Instant::now();
        let mut command = with_keys(folder.partwise(), CLOSED);
        command.args(["--lake", "s3://down/lake", "-c", sql]);
        ran(command.output().expect("runs")).fails(1, &["s3://down", CLOSED, "after 8 retries"]);
        assert!(started.elapsed() < BOUND, "{:?}", started.elapsed());
    }
}

#[test]
fn a_bucket_or_keys_that_are_wrong_are_told_without_tags() {
    let Some(bucket) = bucket("wrong buckets and keys") else { return };
    let mut command = bucket.partwise();
    command.args(["--lake", "s3://nosuch/lake", "-c", "CREATE TABLE r (n INT) USING parquet"]);
    let said = ran(command.output().expect("runs")).fails(1, &["s3://nosuch", "NoSuchBucket"]);
    assert!(!said.err.contains('<'), "{}", said.err);
    let mut command = bucket.partwise();
    command.env("AWS_SECRET_ACCESS_KEY", "wrong-one");
    command.args(["--lake", &bucket.address(""), "-c", "SELECT * FROM r"]);
    let said = ran(command.output().expect("runs")).fails(1, &["403", "SignatureDoesNotMatch"]);
    assert!(!said.err.contains('<') && !said.err.contains("wrong-one"), "{}", said.err);
}

#[test]
fn an_address_that_is_none_is_refused_with_those_that_are() {
    let folder = Folder::new();
    let lakes = ["hdfs://host/lake", "http://host/lake", "s3://"];
    for lake in lakes {
        folder.run(&["--lake", lake, "-c", "SELECT 1"]).fails(1, &["s3://bucket/prefix"]);
    }
    let copy = "COPY (SELECT 1 AS a) TO 'hdfs://host/d/' STORED AS PARQUET";
    folder.run(&["-c", copy]).fails(1, &["hdfs://host/d", "s3://bucket/prefix"]);
    let create = "CREATE TABLE t (n INT) USING parquet OPTIONS ('aws.region' 'eu-west-1')";
    folder.run(&["-c", create]).fails(1, &["aws.region", "LOCATION"]);
    let here = "CREATE TABLE t (n INT) USING parquet LOCATION 'd' OPTIONS ('aws.region' 'x')";
    folder.run(&["-c", here]).fails(1, &["aws.region", "a path of this machine"]);
    assert!(!folder.path().join("d").exists() && !folder.path().join("hdfs:").exists());
}

#[test]
fn what_is_not_there_is_named_by_its_address() {
    let Some(bucket) = bucket("addresses with nothing there") else { return };
    for (from, words) in [
        (bucket.address("none/"), "holds no Parquet file"),
        (bucket.address("none/*.parquet"), "no file matches"),
        (bucket.address("none/x.csv"), "no file matches"),
    ] {
        let said = bucket.sql(&format!("SELECT * FROM '{from}'")).fails(1, &[words]);
        assert!(said.err.contains(from.trim_end_matches('/')), "{}", said.err);
    }
    let lake = bucket.address("");
    bucket.sql("SELECT * FROM nosuch").fails(1, &["nosuch", &lake]);
}
