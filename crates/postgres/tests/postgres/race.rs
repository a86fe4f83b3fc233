//! Several writers at once.

use std::sync::Arc;
use std::time::Duration;

use partwise_stream::sink::{Sink, Written};
use partwise_stream::{OutputMode, StreamQuery, Trigger};
use partwise_testkit::PostgresServer;

use crate::kit::{Lab, SUMS, pairs, run};

#[tokio::test(flavor = "multi_thread")]
async fn instances_that_race_one_batch_write_it_once() {
    for (schema, mode, sql) in [
        ("race_update", OutputMode::Update, SUMS),
        ("race_complete", OutputMode::Complete, SUMS),
        ("race_append", OutputMode::Append, "SELECT k, v AS total FROM pairs"),
    ] {
        let Some(lab) = Lab::new(schema) else { return };
        let source = lab.pairs(&[]);
        for n in 0..10 {
            let rows: Vec<_> = (0..50).map(|k| (Some(k), n)).collect();
            source.add(pairs(&rows)).unwrap();
        }
        let opened = lab.sink("t");
        let batches = lab.recorded(sql, mode, &opened).await;
        let others = [lab.sink("t"), lab.sink("t"), lab.sink("t")];
        for sink in &others {
            sink.open(&batches[0].query).await.unwrap();
        }
        for batch in &batches {
            let writes = others.iter().map(|sink| sink.write(batch.clone()));
            let written = futures::future::join_all(writes).await;
            let written: Vec<Written> = written.into_iter().map(Result::unwrap).collect();
            let once = written.iter().filter(|written| **written == Written::Rows(50)).count();
            assert_eq!(once, 1, "{written:?}");
        }
        let rows = if mode == OutputMode::Append { "500|2250" } else { "50|2250" };
        assert_eq!(lab.sql("SELECT count(*), sum(total) FROM t"), [rows]);
    }
}

/// On a server whose log is of this test alone.
fn own_server(schema: &str) -> Option<Lab> {
    let server = PostgresServer::start("writers at once").unwrap()?;
    Some(Lab::on(Arc::new(server), schema))
}

fn deadlocked(lab: &Lab) -> bool {
    lab.server.log().unwrap().contains("deadlock detected")
}

#[tokio::test(flavor = "multi_thread")]
async fn two_writers_with_overlapping_keys_go_on_together() {
    const BATCHES: i64 = 60;
    let Some(lab) = own_server("overlap") else { return };
    let source = lab.pairs(&[]);
    for n in 0..BATCHES {
        let rows: Vec<_> = (0..400).map(|k| (Some((k * 7 + n as i32) % 400), n)).collect();
        source.add(pairs(&rows)).unwrap();
    }
    // The keys in two orders, and one of the two through a temporary table.
    let sql =
        "SELECT k, k % 10 AS part, count(*) AS n, sum(v) AS total FROM pairs GROUP BY k, k % 10";
    let start = async |name: &str, keys: [&str; 2], staging_rows| -> StreamQuery {
        let sink = lab.sink("t").with_keys(keys).staging_rows(staging_rows);
        let writer = lab.query(sql, name, OutputMode::Update).await.sink(sink);
        writer.trigger(Trigger::AvailableNow).start().await.unwrap()
    };
    let one = start("one", ["k", "part"], 10_000).await;
    let two = start("two", ["part", "k"], 1).await;
    for query in [&one, &two] {
        let ended = tokio::time::timeout(Duration::from_secs(300), query.await_termination());
        ended.await.expect("neither waits for ever").unwrap();
        assert_eq!(query.history().len() as i64, BATCHES);
    }
    let total: i64 = (0..BATCHES).sum();
    let ask = "SELECT count(*), min(n), max(n), min(total), max(total) FROM t";
    assert_eq!(lab.sql(ask), [format!("400|{BATCHES}|{BATCHES}|{total}|{total}")]);
    assert_eq!(lab.sql("SELECT count(*) FROM partwise_streams"), ["2"]);
    assert!(!deadlocked(&lab));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadlock_with_another_program_is_tried_again() {
    let Some(lab) = own_server("deadlock") else { return };
    lab.pairs(&[&[(Some(1), 1), (Some(2), 2)], &[(Some(1), 1), (Some(2), 2)]]);
    let query = async || lab.query(SUMS, "q", OutputMode::Update).await.sink(lab.sink("t"));
    run(query().await.trigger(Trigger::Once)).await.unwrap();
    // The other one takes the rows in the other order, and lets the sink take the first meanwhile.
    let script = format!(
        "SET search_path = \"{}\"; SET deadlock_timeout = '60s'; BEGIN; \
         UPDATE t SET n = n WHERE k = 2; \
         DO $$ BEGIN WHILE NOT EXISTS (SELECT 1 FROM pg_locks l JOIN pg_stat_activity a USING (pid) \
         WHERE a.application_name = 'partwise' AND NOT l.granted AND a.query LIKE '%\"deadlock\".\"t\"%') \
         LOOP PERFORM pg_sleep(0.01); PERFORM pg_stat_clear_snapshot(); END LOOP; END $$; \
         UPDATE t SET n = n WHERE k = 1; COMMIT;",
        lab.schema
    );
    let server = lab.server.clone();
    let other = std::thread::spawn(move || server.psql(&script).unwrap());
    // Its lock is there before the sink comes.
    let locked = "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND granted";
    while lab.sql(locked) == ["0"] {
        tokio::task::yield_now().await;
    }
    run(query().await).await.unwrap();
    let said = other.join().unwrap();
    assert!(!said.contains("ERROR"), "{said}");
    assert_eq!(lab.sql("SELECT k, n, total FROM t ORDER BY k"), ["1|2|2", "2|2|4"]);
    assert!(deadlocked(&lab));
}
