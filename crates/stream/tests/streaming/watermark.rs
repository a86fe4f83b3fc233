//! Watermarks: what is late, what is equal, when a window is given out.

use partwise_stream::{MemorySink, OutputMode};

use crate::kit::{Lab, events, rows, run, watermark};

const COUNTS: &str = "SELECT tumble(ts, INTERVAL '10 minutes') AS start, count(*) AS events \
     FROM clicks GROUP BY 1";

#[tokio::test(flavor = "multi_thread")]
async fn rows_older_than_the_watermark_are_dropped_and_counted_and_equal_ones_kept() {
    let lab = Lab::new();
    let clicks = lab.memory("clicks", events(&[]).schema(), watermark(5));
    clicks.add(events(&[(Some(20), 1)])).unwrap();
    // The watermark is 00:15 now.
    clicks.add(events(&[(Some(14), 2), (Some(15), 3), (Some(16), 4)])).unwrap();
    let sink = MemorySink::new("counts");
    let query =
        run(lab.query(COUNTS, "q", OutputMode::Update).await.sink(sink.clone())).await.unwrap();
    let late: Vec<u64> = query.history().iter().map(|progress| progress.late_rows).collect();
    assert_eq!(late, [0, 1]);
    assert_eq!(rows(sink.rows()), ["1970-01-01T00:10:00 | 2", "1970-01-01T00:20:00 | 1"]);
    let watermark = query.progress().unwrap().watermark;
    assert_eq!(watermark.as_deref(), Some("1970-01-01T00:15:00"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watermark_moves_between_batches_and_not_within_one() {
    let lab = Lab::new();
    let clicks = lab.memory("clicks", events(&[]).schema(), watermark(5));
    clicks.add(events(&[(Some(100), 1), (Some(1), 2)])).unwrap();
    let sink = MemorySink::new("counts");
    let query =
        run(lab.query(COUNTS, "q", OutputMode::Update).await.sink(sink.clone())).await.unwrap();
    assert_eq!(query.progress().unwrap().late_rows, 0);
    assert_eq!(rows(sink.rows()).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn append_gives_out_each_window_once_when_the_watermark_reaches_its_end() {
    let lab = Lab::new();
    let clicks = lab.memory("clicks", events(&[]).schema(), watermark(5));
    let sink = MemorySink::new("counts");
    let expected = [
        (12, vec![]),
        (14, vec![]),
        // 00:15 - 5 minutes: the first window is over.
        (15, vec!["1970-01-01T00:00:00 | 1"]),
        (24, vec!["1970-01-01T00:00:00 | 1"]),
        (25, vec!["1970-01-01T00:00:00 | 1", "1970-01-01T00:10:00 | 3"]),
        (26, vec!["1970-01-01T00:00:00 | 1", "1970-01-01T00:10:00 | 3"]),
    ];
    clicks.add(events(&[(Some(3), 0)])).unwrap();
    for (minute, given) in expected {
        clicks.add(events(&[(Some(minute), 0)])).unwrap();
        run(lab.query(COUNTS, "q", OutputMode::Append).await.sink(sink.clone())).await.unwrap();
        assert_eq!(rows(sink.rows()), given, "after 00:{minute}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_was_given_out_is_forgotten() {
    let lab = Lab::new();
    let clicks = lab.memory("clicks", events(&[]).schema(), watermark(0));
    for minute in [1, 11, 21, 31] {
        clicks.add(events(&[(Some(minute), 0)])).unwrap();
    }
    for (mode, name) in [(OutputMode::Append, "a"), (OutputMode::Update, "u")] {
        let sink = MemorySink::new("counts");
        let query = run(lab.query(COUNTS, name, mode).await.sink(sink.clone())).await.unwrap();
        assert_eq!(query.progress().unwrap().state_rows, 1, "{mode}");
    }
    let sink = MemorySink::new("counts");
    let complete = lab.query(COUNTS, "c", OutputMode::Complete).await.sink(sink.clone());
    let query = run(complete).await.unwrap();
    assert_eq!(query.progress().unwrap().state_rows, 4);
    assert_eq!(rows(sink.rows()).len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watermark_survives_a_restart() {
    let lab = Lab::new();
    let clicks = lab.memory("clicks", events(&[]).schema(), watermark(5));
    let sink = MemorySink::new("counts");
    clicks.add(events(&[(Some(60), 1)])).unwrap();
    run(lab.query(COUNTS, "q", OutputMode::Update).await.sink(sink.clone())).await.unwrap();
    clicks.add(events(&[(Some(54), 1), (Some(55), 1)])).unwrap();
    let query =
        run(lab.query(COUNTS, "q", OutputMode::Update).await.sink(sink.clone())).await.unwrap();
    assert_eq!(query.progress().unwrap().late_rows, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_by_date_bin_date_trunc_and_through_a_subquery_are_windows_too() {
    let windows = [
        "SELECT date_bin(INTERVAL '10 minutes', ts) AS w, count(*) AS c FROM clicks GROUP BY 1",
        "SELECT date_trunc('minute', ts) AS w, count(*) AS c FROM clicks GROUP BY 1",
        "SELECT ts AS w, count(*) AS c FROM clicks GROUP BY ts",
        "SELECT w, count(*) AS c FROM (SELECT tumble(ts, INTERVAL '1 minute') AS w, n FROM clicks \
         WHERE n > 0) GROUP BY w",
        "WITH t AS (SELECT ts AS at FROM clicks) SELECT tumble(at, INTERVAL '1 minute') AS w, \
         count(*) AS c FROM t GROUP BY 1",
    ];
    for (at, sql) in windows.into_iter().enumerate() {
        let lab = Lab::new();
        let clicks = lab.memory("clicks", events(&[]).schema(), watermark(0));
        clicks.add(events(&[(Some(1), 1), (Some(2), 1)])).unwrap();
        clicks.add(events(&[(Some(60), 1)])).unwrap();
        let sink = MemorySink::new("counts");
        let writer = lab.query(sql, &format!("q{at}"), OutputMode::Append).await;
        run(writer.sink(sink.clone())).await.unwrap();
        let given: usize = sink.rows().iter().map(|batch| batch.num_rows()).sum();
        assert!((1..=2).contains(&given), "{sql}: {given}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_without_an_event_time_come_into_no_window_that_closes() {
    let lab = Lab::new();
    let clicks = lab.memory("clicks", events(&[]).schema(), watermark(0));
    clicks.add(events(&[(None, 1), (Some(1), 1)])).unwrap();
    let sink = MemorySink::new("counts");
    let append = lab.query(COUNTS, "a", OutputMode::Append).await.sink(sink);
    let query = run(append).await.unwrap();
    assert_eq!(query.progress().unwrap().late_rows, 1);
    let sink = MemorySink::new("counts");
    let update = lab.query(COUNTS, "u", OutputMode::Update).await.sink(sink.clone());
    run(update).await.unwrap();
    assert_eq!(rows(sink.rows()), ["1970-01-01T00:00:00 | 1", "NULL | 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_without_an_aggregate_keeps_late_rows() {
    let lab = Lab::new();
    let clicks = lab.memory("clicks", events(&[]).schema(), watermark(0));
    clicks.add(events(&[(Some(60), 1)])).unwrap();
    clicks.add(events(&[(Some(1), 2)])).unwrap();
    let sink = MemorySink::new("all");
    let writer = lab.query("SELECT n FROM clicks", "q", OutputMode::Append).await;
    run(writer.sink(sink.clone())).await.unwrap();
    assert_eq!(rows(sink.rows()), ["1", "2"]);
}
