//! Whose batches a table holds: replays, lost checkpoints, rebuilt tables.

use std::sync::Arc;

use partwise_postgres::PostgresSink;
use partwise_stream::sink::{Sink, Written};
use partwise_stream::{ErrorKind, OutputMode, Result, Step, StreamQuery, Trigger};

use crate::kit::{Lab, SUMS, run};

const ASK: &str = "SELECT k, n, total, batch_id FROM t ORDER BY k";

/// Nine batches of the same two keys.
fn nine(lab: &Lab) {
    let source = lab.pairs(&[]);
    for n in 0..9 {
        source.add(crate::kit::pairs(&[(Some(1), n), (Some(2), 10 * n)])).unwrap();
    }
}

async fn update(lab: &Lab) -> Result<StreamQuery> {
    run(lab.query(SUMS, "q", OutputMode::Update).await.sink(lab.sink("t"))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_replay_of_an_older_batch_changes_nothing() {
    let Some(lab) = Lab::new("older") else { return };
    nine(&lab);
    let sink = lab.sink("t");
    let batches = lab.recorded(SUMS, OutputMode::Update, &sink).await;
    for batch in &batches[..8] {
        assert_eq!(sink.write(batch.clone()).await.unwrap(), Written::Rows(2));
    }
    let at_seven = lab.sql(ASK);
    assert_eq!(at_seven, ["1|8|28|7", "2|8|280|7"]);
    for older in [6, 7, 0] {
        assert_eq!(sink.write(batches[older].clone()).await.unwrap(), Written::Already);
        assert!(!sink.lacks(&batches[older]).await.unwrap());
    }
    assert!(sink.lacks(&batches[8]).await.unwrap());
    assert_eq!(lab.sql(ASK), at_seven);
    // So long ago that nobody remembers its digest.
    lab.sql("UPDATE partwise_streams SET earlier = '[]'");
    let error = sink.write(batches[6].clone()).await.unwrap_err();
    assert!(error.to_string().contains("older than what it remembers"), "{error}");
    assert_eq!(lab.sql(ASK), at_seven);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_with_other_input_is_an_error_and_never_skipped() {
    let Some(lab) = Lab::new("other_input") else { return };
    nine(&lab);
    let sink = lab.sink("t");
    let batches = lab.recorded(SUMS, OutputMode::Update, &sink).await;
    for batch in &batches[..4] {
        sink.write(batch.clone()).await.unwrap();
    }
    let before = lab.sql(ASK);
    for (number, replayed) in [(3, true), (3, false), (1, false)] {
        let mut batch = batches[number].clone();
        (batch.digest, batch.replayed) = ("another".to_owned(), replayed);
        let error = sink.write(batch).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("already with other input"), "{error}");
    }
    assert_eq!(lab.sql(ASK), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_checkpoint_is_refused_with_the_ways_on() {
    let Some(lab) = Lab::new("lost") else { return };
    nine(&lab);
    update(&lab).await.unwrap();
    let before = lab.sql(ASK);
    std::fs::remove_dir_all(lab.path("ck-q")).unwrap();
    let error = update(&lab).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    let text = error.to_string();
    for way in ["with the checkpoint that wrote them", "DROP TABLE", "another name"] {
        assert!(text.contains(way), "{text}");
    }
    assert_eq!(lab.sql(ASK), before);
    // The way by another name.
    run(lab.query(SUMS, "q2", OutputMode::Update).await.sink(lab.sink("t"))).await.unwrap();
    assert_eq!(lab.sql(ASK), before);
    // The way by emptying, as it is written there.
    let delete = text.split("empty it and ").nth(1).unwrap().split(", first;").next().unwrap();
    assert_eq!(lab.sql(&format!("TRUNCATE t; {delete}")), [""; 0]);
    std::fs::remove_dir_all(lab.path("ck-q")).unwrap();
    update(&lab).await.unwrap();
    assert_eq!(lab.sql(ASK), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_over_a_table_that_was_made_anew_is_refused() {
    for (schema, change) in [
        ("gone", "DROP TABLE t"),
        ("anew", "CREATE TABLE u (LIKE t INCLUDING ALL); DROP TABLE t; ALTER TABLE u RENAME TO t"),
        ("no_ledger", "DROP TABLE partwise_streams"),
        ("behind", "UPDATE partwise_streams SET batch_id = 5, digest = 'd', earlier = '[]'"),
    ] {
        let Some(lab) = Lab::new(&format!("rebuilt_{schema}")) else { return };
        nine(&lab);
        update(&lab).await.unwrap();
        assert_eq!(lab.sql(change), [""; 0]);
        let error = update(&lab).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{change}");
        assert!(error.to_string().contains("lacks batch 8 of q"), "{error}");
        assert!(error.to_string().contains("new CHECKPOINT"), "{error}");
        // A new query may use what is left: the rows of the one before aren't this table's.
        if schema != "behind" {
            std::fs::remove_dir_all(lab.path("ck-q")).unwrap();
            update(&lab).await.unwrap();
            assert_eq!(lab.sql(ASK), ["1|9|36|8", "2|9|360|8"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_a_forgotten_query_are_not_added_to() {
    for (schema, mode, sql) in [
        ("forgotten_append", OutputMode::Append, "SELECT k, v FROM pairs"),
        ("forgotten_complete", OutputMode::Complete, SUMS),
    ] {
        let Some(lab) = Lab::new(schema) else { return };
        nine(&lab);
        let start = async || run(lab.query(sql, "q", mode).await.sink(lab.sink("t"))).await;
        start().await.unwrap();
        let before = lab.sql("SELECT count(*) FROM t");
        // Both are lost: what tells the rows from those of a new query is in the rows themselves.
        lab.sql("DROP TABLE partwise_streams");
        std::fs::remove_dir_all(lab.path("ck-q")).unwrap();
        let error = start().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        let text = error.to_string();
        let delete = text.split("beside them: ").nth(1).unwrap().split("; or").next().unwrap();
        assert_eq!(lab.sql(delete), [""; 0], "{text}");
        start().await.unwrap();
        assert_eq!(lab.sql("SELECT count(*) FROM t"), before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_made_anew_while_the_query_runs_is_noticed() {
    let Some(lab) = Lab::new("anew_running") else { return };
    nine(&lab);
    let sink = lab.sink("t");
    let batches = lab.recorded(SUMS, OutputMode::Update, &sink).await;
    sink.write(batches[0].clone()).await.unwrap();
    lab.sql("CREATE TABLE u (LIKE t INCLUDING ALL); DROP TABLE t; ALTER TABLE u RENAME TO t");
    let error = sink.write(batches[1].clone()).await.unwrap_err();
    assert!(error.to_string().contains("gone while the query q writes"), "{error}");
    assert_eq!(lab.sql("SELECT count(*) FROM t"), ["0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_lacks_the_last_batch_is_noticed_while_the_query_runs() {
    for (schema, mode, sql) in [
        ("failover_update", OutputMode::Update, SUMS),
        ("failover_append", OutputMode::Append, "SELECT k, v FROM pairs"),
        ("failover_complete", OutputMode::Complete, SUMS),
    ] {
        let Some(lab) = Lab::new(schema) else { return };
        nine(&lab);
        let server = Arc::clone(&lab.server);
        let tables = format!("{schema}.t, {schema}.partwise_streams");
        let writer = lab.query(sql, "q", mode).await.sink(lab.sink("t"));
        // After batch 3 the server is as it was before it, in rows and ledger.
        let query = writer.before_each_step(move |step, batch| {
            let script = match (step, batch) {
                (Step::Sink, 3) => format!(
                    "CREATE TABLE {schema}.old AS TABLE {schema}.t; \
                     CREATE TABLE {schema}.old_streams AS TABLE {schema}.partwise_streams"
                ),
                (Step::Sink, 4) => format!(
                    "BEGIN; TRUNCATE {tables}; INSERT INTO {schema}.t TABLE {schema}.old; \
                     INSERT INTO {schema}.partwise_streams TABLE {schema}.old_streams; COMMIT"
                ),
                _ => return Ok(()),
            };
            assert!(!server.psql(&script).unwrap().contains("ERROR"));
            Ok(())
        });
        let error = run(query).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert!(error.to_string().contains("lacks batch 3 of q"), "{error}");
        assert_eq!(lab.sql("SELECT max(batch_id) FROM t"), ["2"]);
        // And it stays so.
        let error = run(lab.query(sql, "q", mode).await.sink(lab.sink("t"))).await.unwrap_err();
        assert!(error.to_string().contains("lacks batch 3 of q"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_goes_on_at_another_address_of_its_database() {
    let Some(lab) = Lab::new("moved") else { return };
    nine(&lab);
    let writer = async || lab.query(SUMS, "q", OutputMode::Update).await;
    run(writer().await.sink(lab.sink("t")).trigger(Trigger::Once)).await.unwrap();
    let url = lab.server.url().replace("127.0.0.1", "localhost");
    let sink = PostgresSink::new(&url, "moved.t").unwrap();
    assert_eq!(sink.identity(), r#"POSTGRES "moved"."t""#);
    run(writer().await.sink(sink)).await.unwrap();
    assert_eq!(lab.sql(ASK), ["1|9|36|8", "2|9|360|8"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_remembers_the_last_batches() {
    let Some(lab) = Lab::new("remembers") else { return };
    let source = lab.pairs(&[]);
    for n in 0..30 {
        source.add(crate::kit::pairs(&[(Some(1), n)])).unwrap();
    }
    let query = update(&lab).await.unwrap();
    let ask = "SELECT query_name, query_id, batch_id, jsonb_array_length(earlier), \
               earlier->0->0, earlier->15->0, table_oid::regclass FROM partwise_streams";
    assert_eq!(lab.sql(ask), [format!("q|{}|29|16|28|13|t", query.id())]);
}
