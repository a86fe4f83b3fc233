//! What a batch that is run again must have in common with its first run, and what may change in
//! between.

use std::sync::{Arc, Mutex};

use partwise_stream::{Error, ErrorKind, ForeachBatch, MemorySink, OutputMode, Step, TableSink};

use crate::kit::{Lab, REPORT, TO_THE_CENT, events, rows, run, trips_of, watermark, write_parquet};

const ROWS: &str = "SELECT zone, amount FROM trips";

/// Stops a query before a step of a batch, as a crash would.
fn stop(at: Step, batch: u64) -> impl Fn(Step, u64) -> Result<(), Error> + Send + Sync {
    move |step, number| match (step, number) == (at, batch) {
        true => Err(Error::internal("stopped")),
        false => Ok(()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_made_anew_between_two_batches_is_noticed() {
    let lab = Lab::new();
    lab.trips(6, 2).await;
    let (table, log) = (lab.path("report"), lab.path("_partwise/report"));
    let sink = || TableSink::new(lab.path("report")).partition_by(["month"]);
    let writer = lab.query(REPORT, "q", OutputMode::Update).await.sink(sink());
    let error = run(writer.before_each_step(move |step, batch| {
        if (step, batch) == (Step::Sink, 2) {
            std::fs::remove_dir_all(&table).unwrap();
            std::fs::remove_dir_all(&log).unwrap();
        }
        Ok(())
    }))
    .await
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("lacks batch 1 of q"), "{error}");
    assert!(!lab.path("report").exists(), "it goes on in a table of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_fails_gets_the_same_rows_again_whatever_it_failed_with() {
    let lab = Lab::new();
    lab.trips(2, 10).await;
    let calls: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let sink = || {
        let calls = Arc::clone(&calls);
        ForeachBatch::new(move |frame, _| {
            let calls = Arc::clone(&calls);
            async move {
                let lines = rows(frame.collect().await?);
                let mut calls = calls.lock().unwrap();
                calls.push(lines);
                // As an error of DataFusion's is told.
                if calls.len() == 1 { Err(Error::invalid("no")) } else { Ok(()) }
            }
        })
    };
    run(lab.query(ROWS, "q", OutputMode::Append).await.sink(sink())).await.unwrap_err();
    write_parquet(&lab.path("landing/009.parquet"), &trips_of(9));
    run(lab.query(ROWS, "q", OutputMode::Append).await.sink(sink())).await.unwrap();
    let calls = calls.lock().unwrap();
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[0], calls[1]);
    assert_eq!((calls[1].len(), calls[2].len()), (240, 120));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_input_went_before_it_was_anywhere_is_planned_anew() {
    let queries = [(ROWS, OutputMode::Append), (REPORT, OutputMode::Update)];
    for (sql, mode) in queries {
        let lab = Lab::new();
        lab.trips(3, 1).await;
        let writer = async || lab.query(sql, "q", mode).await.sink(TableSink::new(lab.path("t")));
        run(writer().await.before_each_step(stop(Step::Run, 1))).await.unwrap_err();
        std::fs::write(lab.path("landing/001.parquet"), "damaged").unwrap();
        let changed = run(writer().await).await.unwrap_err();
        assert!(changed.to_string().contains("001.parquet has changed"), "{changed}");
        std::fs::remove_file(lab.path("landing/001.parquet")).unwrap();
        run(writer().await).await.unwrap();
        let kept = lab.table(lab.path("t"), "t", "SELECT * FROM t").await;
        let expected = lab.batch(sql, "SELECT * FROM t", "t").await;
        assert_eq!(kept.len(), expected.len(), "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_was_delivered_keeps_its_input() {
    let lab = Lab::new();
    lab.trips(3, 1).await;
    let writer =
        async || lab.query(ROWS, "q", OutputMode::Append).await.sink(TableSink::new(lab.path("t")));
    run(writer().await.before_each_step(stop(Step::Commit, 1))).await.unwrap_err();
    std::fs::remove_file(lab.path("landing/001.parquet")).unwrap();
    for _ in 0..2 {
        let gone = run(writer().await).await.unwrap_err();
        assert!(gone.to_string().contains("001.parquet is gone"), "{gone}");
    }
    write_parquet(&lab.path("landing/003.parquet"), &trips_of(3));
    assert_eq!(lab.table(lab.path("t"), "t", "SELECT * FROM t").await.len(), 240);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shorter_delay_loses_no_window_of_a_batch_that_is_run_again() {
    let lab = Lab::new();
    let clicks = lab.memory("clicks", events(&[]).schema(), watermark(60));
    let sql = "SELECT tumble(ts, INTERVAL '1 hour') AS start, count(*) AS n FROM clicks GROUP BY 1";
    let writer =
        async || lab.query(sql, "q", OutputMode::Append).await.sink(TableSink::new(lab.path("t")));
    clicks.add(events(&[(Some(0), 1), (Some(70), 2)])).unwrap();
    clicks.add(events(&[(Some(125), 3)])).unwrap();
    run(writer().await.before_each_step(stop(Step::Commit, 1))).await.unwrap_err();
    lab.streams.drop_stream("clicks").await.unwrap();
    lab.streams.add_stream("clicks", Arc::new(clicks.clone()), watermark(0)).unwrap();
    clicks.add(events(&[(Some(200), 4)])).unwrap();
    run(writer().await).await.unwrap();
    let windows = lab.table(lab.path("t"), "t", "SELECT * FROM t").await;
    let expected =
        ["1970-01-01T00:00:00 | 1", "1970-01-01T01:00:00 | 1", "1970-01-01T02:00:00 | 1"];
    assert_eq!(windows, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_batch_is_the_same_when_it_is_run_again() {
    let lab = Lab::new();
    lab.trips(2, 1).await;
    let given: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let sink = || {
        let given = Arc::clone(&given);
        ForeachBatch::new(move |frame, _| {
            let given = Arc::clone(&given);
            async move {
                let frame = frame.select_columns(&["at"])?.distinct()?;
                let lines = rows(frame.collect().await?);
                given.lock().unwrap().push(lines);
                Ok(())
            }
        })
    };
    let sql = "SELECT zone, now() AS at FROM trips WHERE ts < now()";
    let writer = async || lab.query(sql, "q", OutputMode::Append).await.sink(sink());
    run(writer().await.before_each_step(stop(Step::Commit, 1))).await.unwrap_err();
    run(writer().await).await.unwrap();
    let given = given.lock().unwrap();
    let [first, second, again] = given.as_slice() else { panic!("{given:?}") };
    assert_eq!(second, again);
    assert!(first.len() == 1 && second.len() == 1 && first < second, "{given:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_day_that_is_computed_from_the_clock_below_the_aggregate_is_a_group() {
    let lab = Lab::new();
    lab.trips(2, 1).await;
    let sql =
        "SELECT day, count(*) AS n FROM (SELECT current_date() AS day FROM trips) GROUP BY day";
    let sink = MemorySink::new("m");
    run(lab.query(sql, "q", OutputMode::Update).await.sink(sink.clone())).await.unwrap();
    let days = rows(sink.rows());
    let counted: u64 =
        days.iter().map(|day| day.split(" | ").nth(1).unwrap().parse::<u64>().unwrap()).sum();
    // Two days where the run goes over midnight.
    assert!(counted == 240 && days.len() <= 2, "{days:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_another_version_the_query_is_compared_with_what_this_one_makes_of_it() {
    let lab = Lab::new();
    lab.trips(2, 1).await;
    let sink = || TableSink::new(lab.path("report")).partition_by(["month"]);
    let writer = async |sql: &str| lab.query(sql, "q", OutputMode::Update).await.sink(sink());
    run(writer(REPORT).await).await.unwrap();
    let path = lab.path("ck-q/query.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut identity: serde_json::Value = serde_json::from_str(&text).unwrap();
    identity["engine"] = "partwise 0.0.1".into();
    identity["fingerprint"]["plan"] = "as an older optimizer wrote it".into();
    std::fs::write(&path, identity.to_string()).unwrap();
    run(writer(REPORT).await).await.unwrap();
    let filtered = REPORT.replace("FROM trips", "FROM trips WHERE amount > 3");
    let changed = run(writer(&filtered).await).await.unwrap_err();
    assert!(changed.to_string().contains("its plan"), "{changed}");
    assert_eq!(lab.table(lab.path("report"), "report", TO_THE_CENT).await, lab.expected().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lake_that_was_moved_still_has_its_batches() {
    let lab = Lab::new();
    lab.trips(2, 1).await;
    let in_lake = |lake: &str| TableSink::new(lab.path(lake).join("t"));
    let writer =
        async |lake: &str| lab.query(ROWS, "q", OutputMode::Append).await.sink(in_lake(lake));
    run(writer("one").await).await.unwrap();
    std::fs::rename(lab.path("one"), lab.path("two")).unwrap();
    write_parquet(&lab.path("landing/009.parquet"), &trips_of(9));
    run(writer("two").await).await.unwrap();
    assert_eq!(lab.table(lab.path("two/t"), "t", "SELECT * FROM t").await.len(), 360);
    let lacks = run(writer("one").await).await.unwrap_err();
    assert!(lacks.to_string().contains("lacks batch 2 of q"), "{lacks}");
}
