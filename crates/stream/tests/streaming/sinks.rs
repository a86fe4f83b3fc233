//! Where rows go, and who else writes there.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use datafusion::prelude::SessionContext;
use partwise_commit::{Location, Table};
use partwise_stream::{
    ConsoleSink, OutputMode, QueryDefinition, SinkDefinition, Step, StreamDefinition, TableSink,
    Trigger,
};

use crate::kit::{Lab, REPORT, TO_THE_CENT, rows, run};

#[tokio::test(flavor = "multi_thread")]
async fn two_queries_share_a_table() {
    let lab = Lab::new();
    lab.trips(6, 2).await;
    let sql = |zones: &str| format!("SELECT zone, amount FROM trips WHERE zone {zones}");
    for (name, zones) in [("low", "< 5"), ("high", ">= 5")] {
        let sink = TableSink::new(lab.path("shared"));
        run(lab.query(&sql(zones), name, OutputMode::Append).await.sink(sink)).await.unwrap();
    }
    let then = "SELECT zone, amount FROM shared";
    let all = "SELECT zone, amount FROM trips WHERE zone IS NOT NULL";
    let shared = lab.table(lab.path("shared"), "shared", then).await;
    assert_eq!(shared, lab.batch(all, then, "shared").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_batch_job_stay_where_an_update_has_no_key_for_them() {
    let lab = Lab::new();
    lab.trips(6, 2).await;
    let sink = || TableSink::new(lab.path("report")).partition_by(["month"]);
    let query = async || lab.query(REPORT, "q", OutputMode::Update).await.sink(sink());
    run(query().await.trigger(Trigger::Once)).await.unwrap();
    append_by_a_batch_job(lab.path("report")).await;
    run(query().await).await.unwrap();
    let mut expected = lab.expected().await;
    expected.push("2024-01-05T00:30:00 | 99 | 2024-01 | 1 | 150".to_owned());
    expected.sort();
    assert_eq!(lab.table(lab.path("report"), "report", TO_THE_CENT).await, expected);
}

/// One row of an hour and zone that no trip has.
async fn append_by_a_batch_job(dir: PathBuf) {
    use partwise_table::{OpenOptions, PartwiseTable};
    let session = SessionContext::new();
    let location = Location::local(dir);
    let state = session.state();
    let table = PartwiseTable::open(location, OpenOptions::default(), &state).await.unwrap();
    session.register_table("report", Arc::new(table.unwrap())).unwrap();
    let insert = "INSERT INTO report (hour, zone, month, trips, revenue) \
         VALUES (TIMESTAMP '2024-01-05 00:30:00', 99, '2024-01', 1, 1.5)";
    session.sql(insert).await.unwrap().collect().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_one_commit_that_names_query_and_batch() {
    let lab = Lab::new();
    lab.trips(4, 2).await;
    let sink = TableSink::new(lab.path("report")).partition_by(["month"]);
    let query = run(lab.query(REPORT, "q", OutputMode::Update).await.sink(sink)).await.unwrap();
    let table = Table::new(Location::local(lab.path("report")));
    let records = table.records().await.unwrap();
    let tokens: Vec<_> = records.iter().rev().filter_map(|record| record.token.clone()).collect();
    let full_name = format!("q@{}", query.id());
    assert!(tokens.iter().all(|token| token.job == full_name));
    assert_eq!(tokens.iter().map(|token| token.run).collect::<Vec<_>>(), [0, 1]);
    assert_ne!(tokens[0].digest, tokens[1].digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_rewrites_the_partitions_of_its_rows_alone() {
    let lab = Lab::new();
    lab.trips(40, 1).await;
    let sink = TableSink::new(lab.path("report")).partition_by(["month"]);
    run(lab.query(REPORT, "q", OutputMode::Update).await.sink(sink)).await.unwrap();
    let table = Table::new(Location::local(lab.path("report")));
    let records = table.records().await.unwrap();
    let of_first_days = records.iter().find(|r| r.token.as_ref().is_some_and(|t| t.run == 3));
    let paths: Vec<&str> =
        of_first_days.unwrap().partitions.iter().map(|p| p.path.as_str()).collect();
    assert!(!paths.is_empty() && paths.iter().all(|path| !path.contains("2024-02")), "{paths:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_of_a_table_without_partitions_and_with_null_keys() {
    let lab = Lab::new();
    lab.trips(6, 1).await;
    let sql = "SELECT zone, count(*) AS trips FROM trips GROUP BY zone";
    let sink = TableSink::new(lab.path("zones"));
    run(lab.query(sql, "q", OutputMode::Update).await.sink(sink)).await.unwrap();
    let then = "SELECT zone, trips FROM zones";
    let streamed = lab.table(lab.path("zones"), "zones", then).await;
    assert_eq!(streamed, lab.batch(sql, then, "zones").await);
    assert!(streamed.iter().any(|line| line.starts_with("NULL")), "{streamed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_job_that_writes_between_and_meanwhile_loses_nothing() {
    let lab = Lab::new();
    lab.trips(12, 1).await;
    let sink = || TableSink::new(lab.path("report")).partition_by(["month"]);
    let query = async || lab.query(REPORT, "q", OutputMode::Update).await.sink(sink());
    run(query().await.trigger(Trigger::Once)).await.unwrap();
    let appends = Arc::new(Mutex::new(Vec::new()));
    let (dir, begun) = (lab.path("report"), Arc::clone(&appends));
    let streaming = query().await.before_each_step(move |step, _| {
        if step == Step::Sink {
            begun.lock().unwrap().push(tokio::spawn(append_by_a_batch_job(dir.clone())));
        }
        Ok(())
    });
    run(streaming).await.unwrap();
    let begun = std::mem::take(&mut *appends.lock().unwrap());
    let appended = begun.len();
    for append in begun {
        append.await.unwrap();
    }
    assert_eq!(appended, 11);
    let mut expected = lab.expected().await;
    let foreign = "2024-01-05T00:30:00 | 99 | 2024-01 | 1 | 150".to_owned();
    expected.extend(std::iter::repeat_n(foreign, appended));
    expected.sort();
    assert_eq!(lab.table(lab.path("report"), "report", TO_THE_CENT).await, expected);
}

/// What was written, shared.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<u8>>>);

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_shows_each_batch() {
    let lab = Lab::new();
    lab.trips(2, 1).await;
    let shown = Shown::default();
    let sql = "SELECT count(*) AS trips FROM trips";
    let sink = ConsoleSink::to(shown.clone());
    run(lab.query(sql, "q", OutputMode::Complete).await.sink(sink)).await.unwrap();
    let text = String::from_utf8(shown.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("q batch 0") && text.contains("| 120 "), "{text}");
    assert!(text.contains("q batch 1") && text.contains("| 240 "), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_start_queries_as_statements_do() {
    let lab = Lab::new();
    lab.trips(4, 2).await;
    let definition = |kind: &str, target: Option<String>| QueryDefinition {
        name: format!("q_{kind}"),
        mode: OutputMode::Update,
        trigger: Trigger::AvailableNow,
        checkpoint: lab.path(&format!("ck-{kind}")),
        sink: SinkDefinition {
            kind: kind.to_owned(),
            target,
            partitioned_by: vec![],
            keys: vec!["zone".to_owned()],
            options: BTreeMap::new(),
        },
    };
    let sql = "SELECT zone, count(*) AS trips FROM trips GROUP BY zone";
    let frame = lab.session.sql(sql).await.unwrap();
    let memory = definition("memory", Some("zones".to_owned()));
    let query = lab.streams.start(&memory, frame.clone()).await.unwrap();
    query.await_termination().await.unwrap();
    let in_memory = lab.session.sql("SELECT zone, trips FROM zones").await.unwrap();
    let in_memory = rows(in_memory.collect().await.unwrap());
    let dir = lab.path("zones");
    let table = definition("table", Some(dir.display().to_string()));
    lab.streams.start(&table, frame.clone()).await.unwrap().await_termination().await.unwrap();
    assert_eq!(lab.table(&dir, "t", "SELECT zone, trips FROM t").await, in_memory);
    let names: Vec<String> =
        lab.streams.queries().iter().map(|query| query.name().to_owned()).collect();
    assert_eq!(names, ["q_memory", "q_table"]);
    let unknown = lab.streams.start(&definition("tape", None), frame).await.unwrap_err();
    assert!(unknown.to_string().contains("CONSOLE, MEMORY, TABLE"), "{unknown}");
    let stream = StreamDefinition::new("s", "tape");
    let unknown = lab.streams.create_stream(&stream).await.unwrap_err();
    assert!(unknown.to_string().contains("FILES, RATE"), "{unknown}");
}
