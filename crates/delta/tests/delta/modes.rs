//! Each output mode: the table is what the batch query gives.

use partwise_stream::OutputMode::{Append, Complete, Update};
use partwise_stream::{OutputMode, QueryDefinition, SinkDefinition, Trigger};

use crate::kit::{Lab, rows_of, run};
use crate::python;

/// Queries over trips, and how they give their rows.
pub const PAIRS: [(&str, OutputMode); 5] = [
    ("SELECT ts, zone, price, tag FROM trips", Append),
    (
        "SELECT tumble(ts, INTERVAL '1 hour') AS hour, zone, count(*) AS n, sum(price) AS price \
         FROM trips GROUP BY 1, 2",
        Append,
    ),
    ("SELECT zone, count(*) AS n, sum(price) AS price FROM trips GROUP BY zone", Update),
    (
        "SELECT tag, zone, ts, count(*) AS n, max(price) AS price FROM trips GROUP BY 1, 2, 3",
        Update,
    ),
    ("SELECT tag, count(*) AS n, avg(price) AS price FROM trips GROUP BY tag", Complete),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_what_the_batch_query_gives() {
    for (at, (sql, mode)) in PAIRS.into_iter().enumerate() {
        let lab = Lab::with_trips(8).await;
        let query = run(lab.query(sql, "q", mode).await.sink(lab.sink("lake/t"))).await.unwrap();
        let (rows, expected) = (lab.rows("lake/t").await, lab.batch(sql).await);
        let written: u64 = query.history().iter().filter_map(|batch| batch.output_rows).sum();
        if at == 1 {
            // The windows that the watermark hasn't passed are still open.
            let open = expected.len() - rows.len();
            assert!(open > 0 && open < 40 && !rows.is_empty(), "{open}");
            assert!(rows.iter().all(|row| expected.contains(row)), "{rows:?}");
        } else {
            assert_eq!(rows, expected, "{sql}");
        }
        if mode == Append {
            assert_eq!(written, rows.len() as u64, "{sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_python_package_reads_the_same_rows() {
    let Some(python) = python::python() else { return };
    for (sql, mode) in PAIRS {
        let lab = Lab::with_trips(4).await;
        run(lab.query(sql, "q", mode).await.sink(lab.sink("t"))).await.unwrap();
        let count = lab.rows("t").await.len();
        let read = python::rows(&python, &lab.path("t"));
        assert_eq!(read.len(), count, "{sql}");
        if sql == PAIRS[2].0 {
            assert_eq!(read, lab.batch(sql).await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partitioned_table_is_made_and_merged_into_also_under_null() {
    for parts in [&["zone"][..], &["tag"], &["day", "zone"]] {
        let lab = Lab::with_trips(8).await;
        let sql = "SELECT tag, zone, date_trunc('day', ts) AS day, count(*) AS n FROM trips \
                   GROUP BY 1, 2, 3";
        let sink = lab.sink("t").partition_by(parts.iter().copied());
        run(lab.query(sql, "q", Update).await.sink(sink)).await.unwrap();
        let table = lab.table("t").await;
        let made = table.snapshot().unwrap().metadata().partition_columns().to_vec();
        assert_eq!(made, parts);
        let rows = rows_of(&table, "SELECT tag, zone, day, n FROM t").await;
        assert_eq!(rows, lab.batch(sql).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn null_keys_are_one_group_alone_and_beside_others() {
    for sql in [
        "SELECT zone, count(*) AS n FROM trips GROUP BY zone",
        "SELECT zone, tag, count(*) AS n FROM trips GROUP BY zone, tag",
        "SELECT CAST(NULL AS INT) AS zone, count(*) AS n FROM trips GROUP BY 1",
    ] {
        let lab = Lab::with_trips(6).await;
        run(lab.query(sql, "q", Update).await.sink(lab.sink("t"))).await.unwrap();
        assert_eq!(lab.rows("t").await, lab.batch(sql).await, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_ones_own_replace_rows_and_a_moved_row_leaves_its_partition() {
    let lab = Lab::with_trips(6).await;
    // Each group moves from partition to partition as it grows.
    let sql = "SELECT zone, count(*) AS n, count(*) % 3 AS part FROM trips GROUP BY zone";
    let sink = lab.sink("t").partition_by(["part"]).with_keys(["ZONE"]);
    run(lab.query(sql, "q", Update).await.sink(sink)).await.unwrap();
    let rows = rows_of(&lab.table("t").await, "SELECT zone, n, part FROM t").await;
    assert_eq!(rows, lab.batch(sql).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_statement_s_definition_makes_the_sink() {
    let lab = Lab::with_trips(4).await;
    let sql = "SELECT zone, count(*) AS n FROM trips GROUP BY zone";
    let location = lab.path("t").display().to_string();
    let definition = QueryDefinition {
        name: "q".to_owned(),
        mode: Update,
        trigger: Trigger::AvailableNow,
        checkpoint: lab.path("ck"),
        sink: SinkDefinition {
            kind: "delta".to_owned(),
            partitioned_by: vec!["zone".to_owned()],
            options: [("location".to_owned(), location)].into(),
            ..SinkDefinition::default()
        },
    };
    let frame = lab.session.sql(sql).await.unwrap();
    let query = lab.streams.start(&definition, frame).await.unwrap();
    query.await_termination().await.unwrap();
    let rows = rows_of(&lab.table("t").await, "SELECT zone, n FROM t").await;
    assert_eq!(rows, lab.batch(sql).await);
}
