//! Each mode to the end, and its last batch once more.

use partwise_stream::{OutputMode, Watermark};

use crate::kit::{Lab, SUMS, events, forget_last_commit, run};

const BATCHES: [&[(Option<i32>, i64)]; 3] = [
    &[(Some(1), 10), (Some(2), 20), (Some(1), 1)],
    &[(Some(2), 2), (Some(3), 30)],
    &[(Some(1), 100), (Some(4), -4)],
];

/// What a table has after a query, and after the same with its last commit forgotten.
async fn twice(lab: &Lab, sql: &str, mode: OutputMode, keys: &[&str], ask: &str) -> Vec<String> {
    let sink = || lab.sink("t").with_keys(keys.iter().copied()).staging_rows(1);
    let first = run(lab.query(sql, "q", mode).await.sink(sink())).await.unwrap();
    let outputs: Vec<_> = first.history().iter().map(|batch| batch.output_rows).collect();
    assert!(outputs.iter().all(Option::is_some), "{outputs:?}");
    let there = lab.sql(ask);
    let all = lab.sql("SELECT * FROM t ORDER BY t");
    forget_last_commit(&lab.path("ck-q"));
    let again = run(lab.query(sql, "q", mode).await.sink(sink())).await.unwrap();
    let replays: Vec<_> =
        again.history().iter().map(|batch| (batch.replayed, batch.output_rows)).collect();
    assert_eq!(replays, [(true, None)]);
    assert_eq!(lab.sql("SELECT * FROM t ORDER BY t"), all);
    there
}

#[tokio::test(flavor = "multi_thread")]
async fn update_keeps_the_current_values_of_each_group() {
    let Some(lab) = Lab::new("update") else { return };
    lab.pairs(&BATCHES);
    let ask = "SELECT k, n, total, batch_id FROM t ORDER BY k";
    let rows = twice(&lab, SUMS, OutputMode::Update, &[], ask).await;
    assert_eq!(rows, ["1|3|111|2", "2|2|22|1", "3|1|30|1", "4|1|-4|2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn append_adds_each_row_once_and_numbers_it() {
    let Some(lab) = Lab::new("append") else { return };
    lab.pairs(&BATCHES);
    let ask = "SELECT batch_id, row_id, k, v FROM t ORDER BY 1, 2";
    let rows = twice(&lab, "SELECT k, v FROM pairs", OutputMode::Append, &[], ask).await;
    let expected =
        ["0|0|1|10", "0|1|2|20", "0|2|1|1", "1|0|2|2", "1|1|3|30", "2|0|1|100", "2|1|4|-4"];
    assert_eq!(rows, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn append_by_key_keeps_the_last_row_of_each() {
    for (schema, staging_rows) in [("append_keys", 10_000), ("append_keys_staged", 1)] {
        // A query without an aggregate gives the same in both modes.
        for (mode, table) in [(OutputMode::Append, "a"), (OutputMode::Update, "u")] {
            let Some(lab) = Lab::new(&format!("{schema}_{table}")) else { return };
            let source = lab.pairs(&BATCHES[..1]);
            let start = async || {
                let sink = lab.sink("t").with_keys(["k"]).staging_rows(staging_rows);
                run(lab.query("SELECT k, v FROM pairs", "q", mode).await.sink(sink)).await.unwrap();
                lab.sql("SELECT k, v, batch_id FROM t ORDER BY k")
            };
            // Two rows of one key in one batch: the last counts.
            assert_eq!(start().await, ["1|1|0", "2|20|0"]);
            BATCHES[1..].iter().for_each(|batch| source.add(crate::kit::pairs(batch)).unwrap());
            assert_eq!(start().await, ["1|100|2", "2|2|1", "3|30|1", "4|-4|2"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn append_gives_out_closed_windows_once() {
    let Some(lab) = Lab::new("windows") else { return };
    let delay = std::time::Duration::from_secs(600);
    let watermark = Some(Watermark { column: "ts".to_owned(), delay });
    let source = lab.memory("events", events(&[]).schema(), watermark);
    for batch in [[(1, 1), (8, 2)], [(12, 3), (3, 4)], [(31, 5), (14, 6)], [(50, 7), (33, 8)]] {
        source.add(events(&batch)).unwrap();
    }
    let sql = "SELECT tumble(ts, INTERVAL '10 minutes') AS start, sum(n) AS total FROM events \
               GROUP BY 1";
    let ask = "SELECT start, total FROM t ORDER BY 1";
    let rows = twice(&lab, sql, OutputMode::Append, &[], ask).await;
    assert_eq!(rows[0], "1970-01-01 00:00:00|7");
    assert!(rows.len() >= 2, "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn complete_replaces_the_rows_of_its_query_alone() {
    let Some(lab) = Lab::new("complete") else { return };
    lab.pairs(&BATCHES);
    let other = "SELECT k, CAST(7 AS BIGINT) AS n, max(v) AS total FROM pairs GROUP BY k";
    let writer = lab.query(other, "other", OutputMode::Complete).await;
    run(writer.sink(lab.sink("t"))).await.unwrap();
    let ask = "SELECT k, n, total, batch_id FROM t WHERE n <> 7 ORDER BY k";
    let rows = twice(&lab, SUMS, OutputMode::Complete, &[], ask).await;
    assert_eq!(rows, ["1|3|111|2", "2|2|22|2", "3|1|30|2", "4|1|-4|2"]);
    assert_eq!(lab.sql("SELECT count(*) FROM t WHERE n = 7"), ["4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_a_complete_result_sees_the_old_or_the_new_one() {
    let Some(lab) = Lab::new("reader") else { return };
    let batch: Vec<(Option<i32>, i64)> = (0..500).map(|k| (Some(k), 1)).collect();
    let source = lab.pairs(&[]);
    for _ in 0..20 {
        source.add(crate::kit::pairs(&batch)).unwrap();
    }
    let writer = lab.query(SUMS, "q", OutputMode::Complete).await.sink(lab.sink("t"));
    let query = writer.start().await.unwrap();
    let mut seen = Vec::new();
    while query.is_running() {
        seen.extend(lab.sql("SELECT count(*), count(DISTINCT n) FROM t"));
    }
    query.await_termination().await.unwrap();
    let whole = |line: &String| line == "0|0" || line == "500|1";
    assert!(!seen.is_empty() && seen.iter().all(whole), "{seen:?}");
    assert_eq!(lab.sql("SELECT min(n), max(n) FROM t"), ["20|20"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_without_keys_is_refused() {
    let Some(lab) = Lab::new("no_keys") else { return };
    lab.pairs(&BATCHES);
    let sql = "SELECT count(*) AS n FROM pairs";
    let writer = lab.query(sql, "q", OutputMode::Update).await.sink(lab.sink("t"));
    let error = writer.start().await.unwrap_err().to_string();
    assert!(error.contains("use complete"), "{error}");
}
