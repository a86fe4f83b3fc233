//! The example programs, and what a program outside the workspace builds to run one.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Place;
use crate::support::{Ran, quarter, ran};

/// Runs an example; `cargo test --workspace` builds them beside the tests' binary.
fn example(name: &str, arguments: &[&str]) -> Ran {
    let binary = Path::new(env!("CARGO_BIN_EXE_partwise")).with_file_name("examples").join(name);
    assert!(binary.exists(), "{} isn't built: cargo test --workspace", binary.display());
    ran(Command::new(binary).args(arguments).output().expect("the example runs"))
}

fn nightly(place: &Place, file: &str, run: &str) -> Ran {
    let files = quarter().join(file).display().to_string();
    example("nightly_job", &[&files, &place.path().display().to_string(), run])
}

#[test]
fn the_nightly_job_replaces_its_month_once_and_stops_at_the_guard() {
    let place = Place::new();
    let february = "yellow_tripdata_2024-02.parquet";
    let first = nightly(&place, february, "20240301");
    assert_eq!(first.status, Some(0), "{}", first.err);
    assert!(first.out.contains("version 1: created"), "{}", first.out);
    let again = nightly(&place, february, "20240301");
    assert!(again.out.contains("already applied by this job and run"), "{}", again.out);
    assert!(again.out.contains("run 20240301 is in since version 1"), "{}", again.out);
    let march = nightly(&place, "yellow_tripdata_2024-03.parquet", "20240401");
    assert_eq!(march.status, Some(3), "March's file holds stragglers of February: {}", march.out);
    assert!(march.err.contains("pickup_month=2024-02"), "{}", march.err);
    assert_eq!(nightly(&place, "nosuch.parquet", "20240501").status, Some(1));
    assert_eq!(nightly(&place, february, "tonight").status, Some(2));
}

#[tokio::test]
async fn the_one_day_app_reads_one_partition_and_sees_an_overwrite() {
    let place = Place::new();
    let trips = "SELECT 10.0 AS fare, '2024-01-' || (10 + value % 5) AS day \
                 FROM generate_series(1, 100)";
    place.write(trips).await.partition_by(["day"]).save().await.expect("five days");
    let path = place.path().display().to_string();
    let app = example("one_day_app", &[&path, "2024-01-11", "2024-01-12", "2024-01-13"]);
    assert_eq!(app.status, Some(0), "{}", app.err);
    for day in ["2024-01-11", "2024-01-12", "2024-01-13"] {
        let answer = format!("{day}: 20 trips, 200.00; partitions=1, rows_read=20");
        assert!(app.out.contains(&answer), "{}", app.out);
    }
    let last = app.out.lines().last();
    assert_eq!(last, Some("2024-01-11: 20 trips, 400.00; partitions=1, rows_read=20"));
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_nightly_job_is_a_program_of_under_forty_lines() {
    let source = root().join("crates/partwise/examples/nightly_job.rs");
    let source = std::fs::read_to_string(source).expect("the example");
    assert!(source.lines().count() < 40, "{} lines", source.lines().count());
}

/// Every package that a program outside the workspace builds, by name.
fn built_outside() -> Vec<String> {
    let place = Place::new();
    let manifest = std::fs::read_to_string(root().join("tests/outside/Cargo.toml"));
    let manifest = manifest.expect("a program").replace("../..", &root().display().to_string());
    let outside = place.folder.path();
    std::fs::write(outside.join("Cargo.toml"), manifest).expect("its manifest");
    std::fs::copy(root().join("Cargo.lock"), outside.join("Cargo.lock")).expect("our versions");
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal,build", "--prefix", "none"])
        .args(["--format", "{p}", "--manifest-path"])
        .arg(outside.join("Cargo.toml"))
        .output();
    let tree = ran(tree.expect("cargo"));
    assert_eq!(tree.status, Some(0), "{}", tree.err);
    let names = tree.out.lines().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

#[test]
fn a_program_outside_builds_no_code_of_kafka_postgres_delta_or_aws() {
    let built = built_outside();
    for wanted in ["nightly", "partwise", "partwise-commit", "datafusion", "parquet"] {
        assert!(built.iter().any(|name| name == wanted), "{wanted} is missing in {built:?}");
    }
    let heavy = ["rdkafka", "tokio-postgres", "deltalake", "delta_kernel", "aws-", "reqwest"];
    let heavy = |name: &&String| heavy.iter().any(|heavy| name.starts_with(heavy));
    let found: Vec<&String> = built.iter().filter(heavy).collect();
    assert!(found.is_empty(), "{found:?}");
    let ours = ["partwise-cli", "partwise-taxi", "partwise-testkit", "datafusion-cli", "clap"];
    let found: Vec<&String> =
        built.iter().filter(|name| ours.iter().any(|ours| name.starts_with(ours))).collect();
    assert!(found.is_empty(), "{found:?}");
}
