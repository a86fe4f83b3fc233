//! What is refused, and in which words.

use partwise_stream::{
    ErrorKind, MemorySink, OutputMode, QueryDefinition, SinkDefinition, StreamDefinition,
    StreamWriter, TableSink, Trigger, WriteStream,
};

use crate::kit::{Lab, REPORT, events, run, watermark};

async fn refused(writer: StreamWriter, words: &[&str]) {
    let error = writer.start().await.expect_err(words[0]);
    let said = error.to_string();
    for word in words {
        assert!(said.contains(word), "'{word}' isn't in: {said}");
    }
}

async fn lab() -> Lab {
    let lab = Lab::new();
    lab.trips(4, 2).await;
    lab
}

fn report_sink(lab: &Lab) -> TableSink {
    TableSink::new(lab.path("report")).partition_by(["month"])
}

#[tokio::test(flavor = "multi_thread")]
async fn modes_that_have_no_meaning() {
    let lab = lab().await;
    let clicks = lab.memory("clicks", events(&[]).schema(), watermark(1));
    clicks.add(events(&[(Some(1), 1)])).unwrap();
    let sink = || MemorySink::new("m");
    let by_zone = "SELECT zone, count(*) AS c FROM trips GROUP BY zone";
    let append = lab.query(by_zone, "a", OutputMode::Append).await.sink(sink());
    refused(append, &["without a watermark a group can always change", "update or complete"]).await;
    let no_window = "SELECT n, count(*) AS c FROM clicks GROUP BY n";
    let append = lab.query(no_window, "b", OutputMode::Append).await.sink(sink());
    refused(append, &["none of the group columns is a window over ts", "tumble(ts"]).await;
    let months = "SELECT date_trunc('month', ts) AS m, count(*) AS c FROM clicks GROUP BY 1";
    let append = lab.query(months, "c", OutputMode::Append).await.sink(sink());
    refused(append, &["none of the group columns is a window"]).await;
    let complete =
        lab.query("SELECT zone FROM trips", "d", OutputMode::Complete).await.sink(sink());
    refused(complete, &["every row there ever was", "use append"]).await;
    assert!(!lab.path("ck-a").exists(), "a refused query left a checkpoint");
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_that_a_stream_cant_run() {
    let lab = lab().await;
    let zones = "CREATE TABLE zones AS SELECT 1 AS id, 'one' AS name";
    lab.session.sql(zones).await.unwrap().collect().await.unwrap();
    let cases = [
        ("SELECT zone FROM trips ORDER BY zone", "ORDER BY"),
        ("SELECT zone FROM trips LIMIT 3", "LIMIT"),
        ("SELECT sum(amount) OVER (PARTITION BY zone) AS s FROM trips", "a window function"),
        ("SELECT zone FROM trips UNION ALL SELECT id FROM zones", "UNION"),
        ("SELECT a.zone FROM trips a JOIN trips b ON a.zone = b.zone", "two scans of streams"),
        ("SELECT name FROM zones LEFT JOIN trips ON zone = id", "join over a stream"),
        ("SELECT name FROM zones WHERE id IN (SELECT zone FROM trips)", "over a stream"),
        ("SELECT name FROM zones", "the query reads no stream"),
        (
            "SELECT max(c) AS m FROM (SELECT zone, count(*) AS c FROM trips GROUP BY zone)",
            "aggregate of an aggregate",
        ),
        ("SELECT zone, tag, count(*) AS c FROM trips GROUP BY CUBE (zone, tag)", "CUBE"),
        ("SELECT zone, uuid() AS id FROM trips", "would be another value"),
        ("SELECT zone FROM trips WHERE random() < 0.1", "would be another value"),
        ("SELECT current_date() AS d, count(*) AS c FROM trips GROUP BY 1", "now() AS arrived"),
        ("SELECT zone, max(now()) AS t FROM trips GROUP BY zone", "now() AS arrived"),
        ("SELECT zone, count(*) FILTER (WHERE ts > now()) AS c FROM trips GROUP BY 1", "arrived"),
        ("SELECT zone, count(*) AS c, now() AS t FROM trips GROUP BY zone", "now() AS arrived"),
    ];
    for (sql, words) in cases {
        let writer = lab.query(sql, "q", OutputMode::Update).await.sink(MemorySink::new("m"));
        refused(writer, &[words]).await;
    }
    let read = lab.session.sql("SELECT * FROM trips").await.unwrap().collect().await.unwrap_err();
    assert!(read.to_string().contains("trips is a stream"), "{read}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_with_a_table_at_rest_and_an_order_of_a_complete_result_run() {
    let lab = lab().await;
    let zones = "CREATE TABLE zones AS SELECT 1 AS id, 'one' AS name";
    lab.session.sql(zones).await.unwrap().collect().await.unwrap();
    let sql = "SELECT name, count(*) AS c FROM trips LEFT JOIN zones ON zone = id GROUP BY name \
         ORDER BY c DESC LIMIT 1";
    let sink = MemorySink::new("m");
    run(lab.query(sql, "q", OutputMode::Complete).await.sink(sink.clone())).await.unwrap();
    let rows = crate::kit::rows(sink.rows());
    assert!(rows.len() == 1 && rows[0].starts_with("NULL | "), "{rows:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_query_over_its_checkpoint() {
    let lab = lab().await;
    run(lab.query(REPORT, "q", OutputMode::Update).await.sink(report_sink(&lab))).await.unwrap();
    let again = async |sql: &str, mode| lab.query(sql, "q", mode).await.sink(report_sink(&lab));
    let swapped = REPORT.replace(
        "GROUP BY tumble(ts, INTERVAL '1 hour'), zone",
        "GROUP BY zone, tumble(ts, INTERVAL '1 hour')",
    );
    refused(
        again(&swapped, OutputMode::Update).await,
        &["its group columns: was", "new CHECKPOINT"],
    )
    .await;
    let other_sum = REPORT.replace("sum(amount)", "max(amount)");
    refused(again(&other_sum, OutputMode::Update).await, &["its aggregates: was"]).await;
    let renamed = REPORT.replace("AS revenue", "AS income");
    refused(again(&renamed, OutputMode::Update).await, &["its result's columns"]).await;
    let filtered = REPORT.replace("FROM trips", "FROM trips WHERE amount > 3");
    refused(again(&filtered, OutputMode::Update).await, &["its plan"]).await;
    refused(again(REPORT, OutputMode::Complete).await, &["its output mode: was update"]).await;
    let elsewhere = TableSink::new(lab.path("elsewhere")).partition_by(["month"]);
    let other_sink = lab.query(REPORT, "q", OutputMode::Update).await.sink(elsewhere);
    refused(other_sink, &["its sink: was TABLE", "elsewhere"]).await;
    assert!(!lab.path("elsewhere").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_source_under_the_streams_name() {
    let (one, other) = (lab().await, lab().await);
    run(one.query(REPORT, "q", OutputMode::Update).await.sink(report_sink(&one))).await.unwrap();
    let frame = other.session.sql(REPORT).await.unwrap();
    let writer = frame.write_stream().name("q").output_mode(OutputMode::Update);
    let writer = writer.checkpoint(one.path("ck-q")).sink(report_sink(&one));
    refused(writer, &["its source: was trips from FILES"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_of_another_query() {
    let lab = lab().await;
    run(lab.query(REPORT, "q", OutputMode::Update).await.sink(report_sink(&lab))).await.unwrap();
    let frame = lab.session.sql(REPORT).await.unwrap();
    let writer = frame.write_stream().name("r").output_mode(OutputMode::Update);
    let writer = writer.checkpoint(lab.path("ck-q")).sink(report_sink(&lab));
    refused(writer, &["belongs to the query q, not to r"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_checkpoint_over_a_used_sink() {
    let lab = lab().await;
    let writer = async || lab.query(REPORT, "q", OutputMode::Update).await.sink(report_sink(&lab));
    run(writer().await).await.unwrap();
    let before = lab.table(lab.path("report"), "report", "SELECT * FROM report").await;
    std::fs::remove_dir_all(lab.path("ck-q")).unwrap();
    refused(writer().await, &["another checkpoint", "DROP TABLE", "another name"]).await;
    assert_eq!(lab.table(lab.path("report"), "report", "SELECT * FROM report").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_was_rebuilt_under_its_query() {
    let lab = lab().await;
    let writer = async || lab.query(REPORT, "q", OutputMode::Update).await.sink(report_sink(&lab));
    run(writer().await).await.unwrap();
    std::fs::remove_dir_all(lab.path("report")).unwrap();
    std::fs::remove_dir_all(lab.path("_partwise/report")).unwrap();
    refused(writer().await, &["lacks batch 1 of q", "RESTORE", "new CHECKPOINT"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_batch_with_other_input() {
    let lab = lab().await;
    let writer = async || lab.query(REPORT, "q", OutputMode::Update).await.sink(report_sink(&lab));
    run(writer().await).await.unwrap();
    let last = crate::kit::forget_last_commit(&lab.path("ck-q"));
    let offsets = lab.path("ck-q/offsets").join(last.to_string());
    let text = std::fs::read_to_string(&offsets).unwrap();
    let mut entry: serde_json::Value = serde_json::from_str(&text).unwrap();
    entry["digest"] = "another".into();
    std::fs::write(&offsets, entry.to_string()).unwrap();
    let error = run(writer().await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("already with other input"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_complete_result_into_another_querys_table() {
    let lab = lab().await;
    run(lab.query(REPORT, "q", OutputMode::Update).await.sink(report_sink(&lab))).await.unwrap();
    let other = lab.query(REPORT, "r", OutputMode::Complete).await.sink(report_sink(&lab));
    refused(other, &["holds rows of the query q", "a table of its own"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_whose_rows_cant_be_found_again() {
    let lab = lab().await;
    let hidden = "SELECT count(*) AS c FROM trips GROUP BY zone";
    let writer = lab.query(hidden, "a", OutputMode::Update).await.sink(MemorySink::new("m"));
    refused(writer, &["without the group column trips.zone"]).await;
    let moving = "SELECT zone, CAST(count(*) AS VARCHAR) AS size, sum(amount) AS s FROM trips \
         GROUP BY zone";
    let sink = TableSink::new(lab.path("t")).partition_by(["size"]);
    let writer = lab.query(moving, "b", OutputMode::Update).await.sink(sink);
    refused(writer, &["the partition column size doesn't follow from them"]).await;
    let whole = "SELECT count(*) AS c FROM trips";
    let writer =
        lab.query(whole, "c", OutputMode::Update).await.sink(TableSink::new(lab.path("u")));
    refused(writer, &["has no group columns", "use complete"]).await;
    let sql = "SELECT zone, tag, count(*) AS c FROM trips GROUP BY zone, tag";
    let sink = TableSink::new(lab.path("v")).with_keys(["zone"]);
    let writer = lab.query(sql, "d", OutputMode::Update).await.sink(sink);
    refused(writer, &["KEYS (zone) may be the same for several groups", "trips.tag"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_doesnt_fit() {
    let lab = lab().await;
    let sql = "SELECT zone, amount FROM trips";
    run(lab.query(sql, "q", OutputMode::Append).await.sink(TableSink::new(lab.path("t"))))
        .await
        .unwrap();
    let other = "SELECT zone, amount, tag FROM trips";
    let writer =
        lab.query(other, "r", OutputMode::Append).await.sink(TableSink::new(lab.path("t")));
    refused(writer, &["has no column tag", "ADD COLUMN"]).await;
    let sink = TableSink::new(lab.path("t")).partition_by(["zone"]);
    let writer = lab.query(sql, "s", OutputMode::Append).await.sink(sink);
    refused(writer, &["is partitioned by (), not by (zone)"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_on_values_that_change_and_not_on_those_that_stay() {
    let lab = lab().await;
    for table in [
        "CREATE TABLE zones AS SELECT 1 AS id, true AS active",
        "CREATE TABLE levels AS SELECT 40 AS size, 'many' AS level",
    ] {
        lab.session.sql(table).await.unwrap().collect().await.unwrap();
    }
    let counts = "(SELECT zone, count(*) AS c FROM trips GROUP BY zone) g";
    let refused_ones = [
        "SELECT zone, count(*) AS c FROM trips GROUP BY zone HAVING count(*) > 3".to_owned(),
        format!("SELECT zone, c FROM {counts} WHERE c > 3"),
        format!("SELECT zone, c, level FROM {counts} JOIN levels ON c = size"),
        format!("SELECT zone, c FROM {counts} WHERE c IN (SELECT size FROM levels)"),
        format!("SELECT zone, c FROM {counts} LEFT JOIN levels ON c = size WHERE level IS NULL"),
    ];
    for (at, sql) in refused_ones.iter().enumerate() {
        let sink = TableSink::new(lab.path("t"));
        let writer = lab.query(sql, &format!("r{at}"), OutputMode::Update).await.sink(sink);
        refused(writer, &["would keep its old row", "use complete"]).await;
    }
    let allowed = [
        "SELECT zone, count(*) AS c FROM trips GROUP BY zone HAVING zone > 3".to_owned(),
        format!(
            "SELECT zone, c FROM {counts} JOIN (SELECT id FROM zones WHERE active) z ON zone = id"
        ),
        format!("SELECT zone, c, level FROM {counts} LEFT JOIN levels ON c = size"),
    ];
    for (at, sql) in allowed.iter().enumerate() {
        let sink = TableSink::new(lab.path(&format!("t{at}")));
        let writer = lab.query(sql, &format!("a{at}"), OutputMode::Update).await.sink(sink);
        run(writer).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_whose_width_cant_be() {
    let lab = lab().await;
    for (width, words) in [
        ("1 month", "use date_trunc('month', ts)"),
        ("0 seconds", "width is above zero"),
        ("-1 hours", "width is above zero"),
    ] {
        let sql = format!("SELECT tumble(ts, INTERVAL '{width}') AS w FROM trips");
        let error = lab.session.sql(&sql).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clauses_that_would_be_passed_over() {
    let lab = lab().await;
    let sink = TableSink::new(lab.path("t")).with_keys(["zone"]);
    let writer = lab.query("SELECT zone FROM trips", "a", OutputMode::Append).await.sink(sink);
    refused(writer, &["what is appended replaces none", "last_value"]).await;
    let rows = async || lab.session.sql("SELECT zone FROM trips").await.unwrap();
    let query = |kind: &str, options: &[(&str, &str)], target: Option<&str>| {
        let mut sink = SinkDefinition { kind: kind.to_owned(), ..SinkDefinition::default() };
        sink.target = target.map(str::to_owned);
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        sink.options = options.iter().map(own).collect();
        QueryDefinition {
            name: "b".to_owned(),
            mode: OutputMode::Append,
            trigger: Trigger::AvailableNow,
            checkpoint: lab.path("ck-b"),
            sink,
        }
    };
    let console = query("CONSOLE", &[("location", "there")], None);
    let said = lab.streams.start(&console, rows().await).await.unwrap_err().to_string();
    assert!(said.contains("INTO CONSOLE has no option 'location'"), "{said}");
    let nowhere = query("MEMORY", &[], Some("nosuch.m"));
    lab.streams.start(&nowhere, rows().await).await.unwrap_err();
    assert!(lab.streams.queries().is_empty(), "it runs unseen");
    assert!(!lab.path("ck-b").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_change_while_their_group_stays() {
    let lab = lab().await;
    let sql = "SELECT zone, count(*) AS c FROM trips GROUP BY zone";
    let sink = TableSink::new(lab.path("t")).with_keys(["zone", "c"]);
    let writer = lab.query(sql, "q", OutputMode::Update).await.sink(sink);
    refused(writer, &["KEYS (zone, c): c changes with each batch", "leave KEYS out"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoints_at_places_that_cant_be() {
    let lab = lab().await;
    let writer = async |checkpoint: std::path::PathBuf| {
        let query = lab.query("SELECT zone FROM trips", "q", OutputMode::Append).await;
        query.checkpoint(checkpoint).sink(MemorySink::new("m"))
    };
    refused(writer("".into()).await, &["CHECKPOINT '' names no folder"]).await;
    for within in ["landing", "landing/ck"] {
        let writer = writer(lab.path(within)).await;
        refused(writer, &["which the stream reads", "a folder of its own"]).await;
    }
    assert!(!lab.path("landing/ck").exists() && !lab.path("landing/lock").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_whose_files_are_replaced_as_a_folder_that_files_arrive_in() {
    let lab = lab().await;
    let sql = "SELECT zone, amount FROM trips";
    run(lab.query(sql, "q", OutputMode::Append).await.sink(TableSink::new(lab.path("t"))))
        .await
        .unwrap();
    std::fs::create_dir_all(lab.path("delta/_delta_log")).unwrap();
    for (table, kind) in [("t", "a table of Partwise"), ("delta", "a Delta table")] {
        let definition = StreamDefinition::files("s", lab.path(table).display().to_string());
        let error = lab.streams.create_stream(&definition).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains(kind), "{error}");
    }
}
