//! From rows into a topic.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::DataType;
use partwise_stream::{MemorySource, OutputMode, Result, StreamDefinition, StreamQuery};

use crate::kit::{Got, Lab, forget_last_commit, got, mock, run, schema, sink};

fn batch(numbers: std::ops::Range<i64>) -> RecordBatch {
    let page = |n: i64| (n % 5 != 4).then(|| format!("p{}", n % 5));
    let pages: ArrayRef = Arc::new(numbers.clone().map(page).collect::<StringArray>());
    let n: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
    RecordBatch::try_from_iter_with_nullable([("n", n, true), ("page", pages, true)]).unwrap()
}

/// A lab with two batches of ten rows.
fn lab() -> (Lab, MemorySource) {
    let lab = Lab::new();
    let source = lab.memory(schema(&[("n", DataType::Int64), ("page", DataType::Utf8)]));
    source.add(batch(0..10)).unwrap();
    source.add(batch(10..20)).unwrap();
    (lab, source)
}

async fn into(
    lab: &Lab,
    sql: &str,
    mode: OutputMode,
    servers: &str,
    options: &[(&str, &str)],
) -> Result<StreamQuery> {
    run(lab.query(sql, "q", mode).await.sink(sink(servers, "out", options))).await
}

fn key_values(messages: &[Got]) -> Vec<String> {
    let text = |part: &Option<String>| part.clone().unwrap_or_else(|| "-".to_owned());
    let mut lines: Vec<String> =
        messages.iter().map(|m| format!("{} {}", text(&m.key), text(&m.value))).collect();
    lines.sort();
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn appended_rows_are_objects_and_repeats_can_be_told() {
    let (_mock, servers) = mock("out", 3);
    let (lab, _) = lab();
    let sql = "SELECT n, page FROM rows WHERE n <> 3";
    let key = [("key", "page")];
    into(&lab, sql, OutputMode::Append, &servers, &key).await.unwrap();
    let first = got(&servers, "out");
    assert_eq!(first.len(), 19);
    let lines = key_values(&first);
    assert!(lines.contains(&r#"p1 {"n":1,"page":"p1"}"#.to_owned()), "{lines:?}");
    assert!(lines.contains(&r#"- {"n":4,"page":null}"#.to_owned()), "{lines:?}");
    // The last batch again: its messages come again, with the same headers.
    assert_eq!(forget_last_commit(&lab.path("ck-q")), 1);
    into(&lab, sql, OutputMode::Append, &servers, &key).await.unwrap();
    let both = got(&servers, "out");
    assert_eq!(both.len(), 29);
    let id = |message: &Got| {
        let header = |name| message.header(name).to_owned();
        (header("partwise.query"), header("partwise.batch"), header("partwise.row"))
    };
    let distinct: BTreeSet<_> = both.iter().map(|message| (id(message), message.clone())).collect();
    assert_eq!(distinct.len(), 19);
    let ids: BTreeSet<_> = both.iter().map(id).collect();
    assert_eq!(ids.len(), 19);
    assert!(ids.iter().all(|(query, ..)| query.starts_with("q@")), "{ids:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_have_their_columns_as_key_in_update_and_complete() {
    let sql = "SELECT page, count(*) AS n FROM rows GROUP BY page";
    for (mode, last) in [(OutputMode::Update, 5), (OutputMode::Complete, 5)] {
        let (_mock, servers) = mock("out", 2);
        let (lab, source) = lab();
        into(&lab, sql, mode, &servers, &[]).await.unwrap();
        source.add(batch(2..3)).unwrap();
        into(&lab, sql, mode, &servers, &[]).await.unwrap();
        let all = got(&servers, "out");
        let of = |number| {
            let of = |m: &&Got| m.header("partwise.batch") == number;
            all.iter().filter(of).cloned().collect::<Vec<_>>()
        };
        assert_eq!((of("0").len(), of("1").len()), (5, last));
        let lines = key_values(&of("1"));
        assert!(lines.contains(&r#"p1 {"page":"p1","n":4}"#.to_owned()), "{lines:?}");
        let third = key_values(&of("2"));
        let changed = r#"p2 {"page":"p2","n":5}"#.to_owned();
        assert!(third.contains(&changed), "{third:?}");
        assert_eq!(third.len(), if mode == OutputMode::Update { 1 } else { 5 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_key_columns_are_an_object() {
    let (_mock, servers) = mock("out", 4);
    let (lab, _) = lab();
    let sql = "SELECT n % 2 AS odd, page, max(n) AS n FROM rows GROUP BY 1, 2";
    into(&lab, sql, OutputMode::Update, &servers, &[]).await.unwrap();
    let lines = key_values(&got(&servers, "out"));
    let line = r#"{"odd":1,"page":"p1"} {"odd":1,"page":"p1","n":11}"#.to_owned();
    assert!(lines.contains(&line), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn raw_rows_say_key_value_headers_and_topic() {
    let (mock, servers) = mock("out", 1);
    mock.create_topic("other", 1, 1).unwrap();
    let (lab, _) = lab();
    let sql = "SELECT concat('k', CAST(n AS STRING)) AS key, page AS value, '{\"h\": \"1\"}' AS headers, \
         CASE WHEN n < 10 THEN 'other' END AS topic FROM rows WHERE n % 10 IN (1, 4)";
    into(&lab, sql, OutputMode::Append, &servers, &[("format", "raw")]).await.unwrap();
    assert_eq!(key_values(&got(&servers, "other")), ["k1 p1", "k4 -"]);
    let out = got(&servers, "out");
    assert_eq!(key_values(&out), ["k11 p1", "k14 -"]);
    assert_eq!(out[0].header("h"), "1");
    let error = run(lab.query("SELECT n FROM rows", "r", OutputMode::Append).await.sink(sink(
        &servers,
        "out",
        &[("format", "raw")],
    )))
    .await
    .unwrap_err();
    assert!(error.to_string().contains("no column n"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_come_into_a_topic_and_read_back_exactly() {
    let (_mock, servers) = mock("out", 3);
    let lab = Lab::new();
    let landing = lab.path("landing");
    std::fs::create_dir(&landing).unwrap();
    let line = |n: i64| format!("{n},\"a, {n}\"\n");
    for file in 0..5_i64 {
        let text: String = (file * 100..file * 100 + 100).map(line).collect();
        std::fs::write(landing.join(format!("{file}.csv")), format!("n,text\n{text}")).unwrap();
    }
    let files = StreamDefinition::files("files", landing.to_string_lossy());
    let files = files.option("format", "csv").option("max_files_per_trigger", "2");
    lab.streams.create_stream(&files).await.unwrap();
    let query = lab.query("SELECT n, text FROM files", "q", OutputMode::Append).await;
    let query = run(query.sink(sink(&servers, "out", &[("key", "n")]))).await.unwrap();
    assert_eq!(query.history().len(), 3);
    let mut expected: Vec<String> =
        (0..500).map(|n| format!(r#"{{"n":{n}}} {{"n":{n},"text":"a, {n}"}}"#)).collect();
    expected.sort();
    assert_eq!(key_values(&got(&servers, "out")), expected);
}
