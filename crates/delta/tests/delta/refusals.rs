//! What isn't allowed is refused, with the reason and the ways on.

use std::collections::BTreeMap;

use deltalake::kernel::{DataType, StructField};
use deltalake::protocol::SaveMode;
use partwise_delta::{DeltaFactory, DeltaSink};
use partwise_stream::ErrorKind::{self, Refused};
use partwise_stream::OutputMode::{Append, Complete, Update};
use partwise_stream::sink::{Sink, SinkFactory};
use partwise_stream::{SinkDefinition, Step};

use crate::kit::{Lab, copy_folder, run};

const ROWS: &str = "SELECT zone, price FROM trips";
const BY_ZONE: &str = "SELECT zone, count(*) AS n FROM trips GROUP BY zone";

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_checkpoint_over_a_used_table_is_named_with_the_ways_on() {
    for (sql, mode) in [(ROWS, Append), (BY_ZONE, Update), (BY_ZONE, Complete)] {
        let lab = Lab::with_trips(4).await;
        let writer = async |name: &str| lab.query(sql, name, mode).await.sink(lab.sink("t"));
        run(writer("q").await).await.unwrap();
        let rows = lab.rows("t").await;
        std::fs::remove_dir_all(lab.path("ck-q")).unwrap();
        let error = run(writer("q").await).await.unwrap_err();
        assert_eq!(error.kind(), Refused);
        let said = error.to_string();
        for words in ["another checkpoint", "start with the checkpoint", "under another name"] {
            assert!(said.contains(words), "{said}");
        }
        assert_eq!(lab.rows("t").await, rows);
        let another = run(writer("another").await).await;
        match mode {
            Complete => {
                let said = another.unwrap_err().to_string();
                assert!(said.contains("write to a table of its own"), "{said}");
            }
            _ => drop(another.unwrap()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_result_doesn_t_replace_what_others_wrote_meanwhile() {
    let lab = Lab::with_trips(2).await;
    let complete = async || lab.query(BY_ZONE, "c", Complete).await.sink(lab.sink("t"));
    run(complete().await).await.unwrap();
    let sql = "SELECT zone, CAST(1 AS BIGINT) AS n FROM trips";
    run(lab.query(sql, "a", Append).await.sink(lab.sink("t"))).await.unwrap();
    let rows = lab.rows("t").await;
    lab.land(2..4);
    let error = run(complete().await).await.unwrap_err();
    assert_eq!(error.kind(), Refused);
    assert_eq!(lab.rows("t").await, rows);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_without_what_was_delivered_is_named_with_the_ways_on() {
    let lab = Lab::with_trips(4).await;
    let writer = async || lab.query(ROWS, "q", Append).await.sink(lab.sink("t"));
    run(writer().await).await.unwrap();
    copy_folder(&lab.path("t"), &lab.path("full"));
    // The last commit is gone; then the whole table; then it is another one.
    std::fs::remove_file(lab.path("t/_delta_log/00000000000000000002.json")).unwrap();
    let lacking = run(writer().await).await.unwrap_err();
    std::fs::remove_dir_all(lab.path("t")).unwrap();
    let missing = run(writer().await).await.unwrap_err();
    assert!(!lab.path("t").exists());
    run(lab.query(ROWS, "other", Append).await.sink(lab.sink("t"))).await.unwrap();
    let another = run(writer().await).await.unwrap_err();
    for error in [lacking, missing, another] {
        assert_eq!(error.kind(), Refused, "{error}");
        assert!(error.to_string().contains("lacks batch 1 of q"), "{error}");
        assert!(error.to_string().contains("bring the table back"), "{error}");
    }
    std::fs::remove_dir_all(lab.path("t")).unwrap();
    copy_folder(&lab.path("full"), &lab.path("t"));
    lab.land(4..6);
    run(writer().await).await.unwrap();
    assert_eq!(lab.rows("t").await, lab.batch(ROWS).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_changes_behind_a_running_query_is_noticed() {
    // In the middle: the commit of batch 1 is lost; the table is made anew, after a batch and before.
    for (at, change, words) in [
        (2, "lost", "lacks batch 1 of q"),
        (2, "anew", "was made anew while the query writes to it"),
        (0, "anew", "was made anew while the query writes to it"),
        (1, "gone", "is gone or was made anew"),
    ] {
        for (sql, mode) in [(ROWS, Append), (BY_ZONE, Update), (BY_ZONE, Complete)] {
            let lab = Lab::with_trips(8).await;
            let another = lab.query(sql, "another", mode).await.sink(lab.sink("other"));
            run(another).await.unwrap();
            let (t, other) = (lab.path("t"), lab.path("other"));
            let writer = lab.query(sql, "q", mode).await.sink(lab.sink("t"));
            let query = writer.before_each_step(move |step, batch| {
                match (step, change) {
                    (Step::Sink, _) if batch != at => {}
                    (Step::Sink, "lost") => {
                        std::fs::remove_file(t.join("_delta_log/00000000000000000002.json"))
                            .unwrap();
                    }
                    (Step::Sink, _) => {
                        std::fs::remove_dir_all(&t).unwrap();
                        if change == "anew" {
                            copy_folder(&other, &t);
                        }
                    }
                    _ => {}
                }
                Ok(())
            });
            let error = run(query).await.unwrap_err();
            assert_eq!(error.kind(), Refused, "{change} {mode}: {error}");
            assert!(error.to_string().contains(words), "{change} {mode}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_that_don_t_fit_are_named_before_anything_runs() {
    let lab = Lab::with_trips(2).await;
    run(lab.query(ROWS, "q", Append).await.sink(lab.sink("t"))).await.unwrap();
    let version = lab.table("t").await.version();
    for (sql, words) in [
        ("SELECT zone, price, tag FROM trips", "has no column tag"),
        ("SELECT tag AS zone, price FROM trips", "column zone takes Int32 and the query gives"),
        ("SELECT zone, ts AS price FROM trips", "column price takes Decimal128(10, 2)"),
    ] {
        let error = run(lab.query(sql, "b", Append).await.sink(lab.sink("t"))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(words), "{error}");
        std::fs::remove_dir_all(lab.path("ck-b")).unwrap();
    }
    let parts = lab.sink("t").partition_by(["zone"]);
    let error = run(lab.query(ROWS, "d", Append).await.sink(parts)).await.unwrap_err();
    assert!(error.to_string().contains("is partitioned by (), not by (zone)"), "{error}");
    assert_eq!(lab.table("t").await.version(), version);
    // Fewer columns, in another case, are fine.
    let sql = "SELECT CAST(1 AS INT) AS \"ZONE\" FROM trips";
    run(lab.query(sql, "c", Append).await.sink(lab.sink("t"))).await.unwrap();
    assert_eq!(lab.rows("t").await.iter().filter(|row| *row == "1 | NULL").count(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_rows_that_are_added_are_refused() {
    let lab = Lab::with_trips(2).await;
    for mode in [Append, Update] {
        let sink = lab.sink("t").with_keys(["zone"]);
        let writer = lab.query(ROWS, mode.name(), mode).await.sink(sink);
        let error = run(writer).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let said = error.to_string();
        assert!(said.contains("KEYS (zone)") && said.contains("Leave KEYS out"), "{said}");
        assert!(said.contains("last_value(..) .. GROUP BY zone"), "{said}");
        assert!(!lab.path("t").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_the_table_computes_is_named_with_how() {
    for (without, mode) in [
        ("SELECT zone, CAST(7 AS BIGINT) AS n FROM trips", Append),
        (BY_ZONE, Update),
        (BY_ZONE, Complete),
    ] {
        let lab = Lab::with_trips(4).await;
        let metadata = [("delta.generationExpression", "zone * 10")];
        let computed = StructField::nullable("tens", DataType::INTEGER).with_metadata(metadata);
        std::fs::create_dir(lab.path("t")).unwrap();
        deltalake::DeltaTable::try_from_url(url::Url::from_directory_path(lab.path("t")).unwrap())
            .await
            .unwrap()
            .create()
            .with_columns([
                StructField::nullable("zone", DataType::INTEGER),
                StructField::nullable("n", DataType::LONG),
                computed,
            ])
            .await
            .unwrap();
        let error = run(lab.query(without, "q", mode).await.sink(lab.sink("t"))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let said = error.to_string();
        assert!(
            said.contains("generated column tens") && said.contains("zone * 10 AS tens"),
            "{said}"
        );
        let with = without.replace(" FROM", ", CAST(zone * 10 AS INT) AS tens FROM");
        run(lab.query(&with, "with", mode).await.sink(lab.sink("t"))).await.unwrap();
        assert_eq!(lab.rows("t").await, lab.batch(&with).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_can_t_be_made_are_refused() {
    let lab = Lab::with_trips(2).await;
    for (at, (sql, parts, words)) in [
        ("SELECT zone, 1 AS \"a b\" FROM trips", &[][..], "no column named 'a b'"),
        ("SELECT zone, 1 AS \"ZONE\" FROM trips", &[], "two columns are named"),
        (ROWS, &["day"], "the query has no such column"),
        (ROWS, &["zone", "price"], "every column is a partition column"),
        ("SELECT zone, ts - ts AS took FROM trips", &[], "took"),
    ]
    .into_iter()
    .enumerate()
    {
        let sink = lab.sink("t").partition_by(parts.iter().copied());
        let writer = lab.query(sql, &format!("q{at}"), Append).await;
        let error = run(writer.sink(sink)).await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(!lab.path("t").exists(), "{sql}");
    }
    std::fs::create_dir(lab.path("used")).unwrap();
    std::fs::write(lab.path("used/a.parquet"), "x").unwrap();
    let used = lab.query(ROWS, "used", Append).await.sink(lab.sink("used"));
    let error = run(used).await.unwrap_err();
    assert_eq!(error.kind(), Refused);
    assert!(error.to_string().contains("a.parquet and no Delta log"), "{error}");
    let spelled = lab.sink("t").partition_by(["ZONE"]);
    run(lab.query(ROWS, "q", Append).await.sink(spelled)).await.unwrap();
    assert_eq!(lab.table("t").await.snapshot().unwrap().metadata().partition_columns(), ["zone"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_for_appends_alone_takes_no_update() {
    let lab = Lab::with_trips(2).await;
    let rows = lab.session.sql("SELECT 1 AS zone, CAST(1 AS BIGINT) AS n").await.unwrap();
    std::fs::create_dir(lab.path("t")).unwrap();
    let url = url::Url::from_directory_path(lab.path("t")).unwrap();
    let table = deltalake::DeltaTable::try_from_url(url).await.unwrap();
    table
        .write(rows.collect().await.unwrap())
        .with_save_mode(SaveMode::ErrorIfExists)
        .with_configuration([("delta.appendOnly", Some("true"))])
        .await
        .unwrap();
    for mode in [Update, Complete] {
        let writer = lab.query(BY_ZONE, mode.name(), mode).await.sink(lab.sink("t"));
        let said = run(writer).await.unwrap_err().to_string();
        assert!(said.contains("append-only"), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn options_are_checked_and_secrets_not_shown() {
    let lab = Lab::new();
    let sink = async |target: Option<&str>, options: &[(&str, &str)]| {
        let definition = SinkDefinition {
            kind: "DELTA".to_owned(),
            target: target.map(str::to_owned),
            options: options.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect(),
            ..SinkDefinition::default()
        };
        DeltaFactory.sink(&lab.session, &definition).await
    };
    let key = ("aws.secret_access_key", "hush");
    for (target, options, words) in [
        (None, &[][..], "needs the option 'location'"),
        (Some("t"), &[("location", "t")], "takes its table as an option"),
        (
            None,
            &[("location", "t"), ("path", "u")],
            "no option 'path'; it has location, those of an object store",
        ),
        (None, &[("location", "t"), key], "the location is a path"),
        (None, &[("location", "s3://me:hush@b/t")], "OPTIONS"),
        (None, &[("location", "hdfs://n/t")], "s3://bucket/prefix"),
        (None, &[("location", "s3://b")], "a prefix of its own"),
        (None, &[("location", "abfss://c@a.dfs.core.windows.net/t")], "az://container/prefix"),
    ] {
        let said = sink(target, options).await.unwrap_err().to_string();
        assert!(said.contains(words) && !said.contains("hush"), "{said}");
    }
    let options = [("location", "s3://b/t"), ("aws.access_key_id", "me"), key];
    let sink = sink(None, &options).await.unwrap();
    let shown = format!("{} {sink:?}", sink.describe());
    assert!(shown.starts_with("DELTA s3://b/t ") && !shown.contains("hush"), "{shown}");
}

#[test]
fn a_path_is_told_in_full_and_as_an_address_of_a_file() {
    let described = |location: &str| DeltaSink::new(location, &BTreeMap::new()).unwrap().describe();
    let here = std::env::current_dir().unwrap();
    assert_eq!(described("lake/t"), format!("DELTA {}", here.join("lake/t").display()));
    assert_eq!(described("file:///lake/t"), "DELTA /lake/t");
}
