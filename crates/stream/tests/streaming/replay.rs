//! Run to the end, take the last commit away, restart: the sink stays as it is.

use std::sync::{Arc, Mutex};

use partwise_stream::sink::BatchId;
use partwise_stream::{ErrorKind, ForeachBatch, MemorySink, Once, OutputMode, TableSink};

use crate::kit::{Lab, REPORT, forget_last_commit, rows, run, watermark};

/// The queries of each output mode over the stream `late`.
const PAIRS: [(&str, OutputMode); 5] = [
    ("SELECT zone, amount FROM late", OutputMode::Append),
    ("SELECT zone, amount FROM late", OutputMode::Update),
    (
        "SELECT tumble(ts, INTERVAL '6 hours') AS start, zone, count(*) AS n FROM late GROUP BY 1, 2",
        OutputMode::Append,
    ),
    (
        "SELECT zone, count(*) AS n, sum(amount) AS amount FROM late GROUP BY zone",
        OutputMode::Update,
    ),
    (
        "SELECT zone, count(*) AS n, avg(amount) AS mean FROM late GROUP BY zone",
        OutputMode::Complete,
    ),
];

async fn lab() -> Lab {
    let lab = Lab::new();
    lab.trips(6, 2).await.stream_over("late", 2, watermark(60)).await;
    lab
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_has_each_batch_once() {
    for (at, (sql, mode)) in PAIRS.into_iter().enumerate() {
        let lab = lab().await;
        let (name, dir) = (format!("q{at}"), lab.path("sink"));
        let writer = async || lab.query(sql, &name, mode).await.sink(TableSink::new(&dir));
        run(writer().await).await.unwrap();
        let before = lab.table(&dir, "sink", "SELECT * FROM sink").await;
        let log = std::fs::read_dir(lab.path("_partwise/sink/log")).unwrap().count();
        assert!(!before.is_empty());
        for _ in 0..2 {
            assert_eq!(forget_last_commit(&lab.path(&format!("ck-{name}"))), 2);
            let query = run(writer().await).await.unwrap();
            let replay = query.progress().unwrap();
            assert_eq!(
                (replay.batch, replay.replayed, replay.output_rows),
                (2, true, None),
                "{sql}"
            );
            assert_eq!(lab.table(&dir, "sink", "SELECT * FROM sink").await, before, "{sql} {mode}");
        }
        let after = std::fs::read_dir(lab.path("_partwise/sink/log")).unwrap().count();
        assert_eq!(log, after, "a version was made for nothing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_has_each_batch_once() {
    for (at, (sql, mode)) in PAIRS.into_iter().enumerate() {
        let lab = lab().await;
        let (name, sink) = (format!("q{at}"), MemorySink::new("sink"));
        run(lab.query(sql, &name, mode).await.sink(sink.clone())).await.unwrap();
        let before = rows(sink.rows());
        forget_last_commit(&lab.path(&format!("ck-{name}")));
        run(lab.query(sql, &name, mode).await.sink(sink.clone())).await.unwrap();
        assert_eq!(rows(sink.rows()), before, "{sql} {mode}");
    }
}

type Calls = Arc<Mutex<Vec<(BatchId, Vec<String>)>>>;

fn noting(calls: &Calls) -> ForeachBatch {
    let calls = Arc::clone(calls);
    ForeachBatch::new(move |frame, id| {
        let calls = Arc::clone(&calls);
        async move {
            let lines = rows(frame.collect().await?);
            calls.lock().unwrap().push((id, lines));
            Ok(())
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_is_called_again_with_the_same_id_and_rows() {
    for (at, (sql, mode)) in PAIRS.into_iter().enumerate() {
        let lab = lab().await;
        let (name, calls) = (format!("q{at}"), Calls::default());
        run(lab.query(sql, &name, mode).await.sink(noting(&calls))).await.unwrap();
        forget_last_commit(&lab.path(&format!("ck-{name}")));
        run(lab.query(sql, &name, mode).await.sink(noting(&calls))).await.unwrap();
        let calls = calls.lock().unwrap();
        let [.., before, again] = calls.as_slice() else { panic!("{} calls", calls.len()) };
        assert_eq!(before, again, "{sql} {mode}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn run_once_runs_a_batch_once() {
    let lab = lab().await;
    let (sql, mode) = PAIRS[4];
    let ran = Arc::new(Mutex::new(Vec::new()));
    let sink = || {
        let (ran, once) = (Arc::clone(&ran), Once::new(lab.path("done")));
        ForeachBatch::new(move |_, id| {
            let (ran, once) = (Arc::clone(&ran), once.clone());
            async move {
                let work = async {
                    ran.lock().unwrap().push(id.batch);
                    Ok(())
                };
                once.run(&id, work).await.map(drop)
            }
        })
    };
    run(lab.query(sql, "q", mode).await.sink(sink())).await.unwrap();
    forget_last_commit(&lab.path("ck-q"));
    run(lab.query(sql, "q", mode).await.sink(sink())).await.unwrap();
    assert_eq!(*ran.lock().unwrap(), [0, 1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn state_and_not_recomputation_carries_the_result() {
    let lab = Lab::new();
    lab.trips(12, 2).await;
    let expected = lab.expected().await;
    let sink = || TableSink::new(lab.path("report")).partition_by(["month"]);
    for files in 0..6 {
        let writer = lab.query(REPORT, "q", OutputMode::Update).await.sink(sink());
        run(writer.trigger(partwise_stream::Trigger::Once)).await.unwrap();
        for file in [2 * files, 2 * files + 1] {
            let path = lab.path("landing").join(format!("{file:03}.parquet"));
            std::fs::remove_file(path).unwrap();
        }
    }
    let streamed = lab.table(lab.path("report"), "report", crate::kit::TO_THE_CENT).await;
    assert_eq!(streamed, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_reads_the_same_files_whatever_has_arrived() {
    let lab = Lab::new();
    lab.trips(3, 10).await;
    let calls = Calls::default();
    let sql = "SELECT zone, amount FROM trips";
    run(lab.query(sql, "q", OutputMode::Append).await.sink(noting(&calls))).await.unwrap();
    forget_last_commit(&lab.path("ck-q"));
    crate::kit::write_parquet(&lab.path("landing/003.parquet"), &crate::kit::trips_of(3));
    run(lab.query(sql, "q", OutputMode::Append).await.sink(noting(&calls))).await.unwrap();
    let calls = calls.lock().unwrap();
    let sizes: Vec<(u64, usize)> =
        calls.iter().map(|(id, lines)| (id.batch, lines.len())).collect();
    assert_eq!(sizes, [(0, 360), (0, 360), (1, 120)]);
    assert_eq!(calls[0], calls[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn input_that_is_gone_or_changed_before_its_commit_is_named() {
    let lab = Lab::new();
    lab.trips(2, 10).await;
    let sql = "SELECT zone, amount FROM trips";
    let writer =
        async || lab.query(sql, "q", OutputMode::Append).await.sink(noting(&Calls::default()));
    run(writer().await).await.unwrap();
    forget_last_commit(&lab.path("ck-q"));
    let path = lab.path("landing/001.parquet");
    std::fs::remove_file(&path).unwrap();
    let gone = run(writer().await).await.unwrap_err().to_string();
    assert!(gone.contains("001.parquet is gone"), "{gone}");
    crate::kit::write_parquet(&path, &crate::kit::trips_of(7));
    let changed = run(writer().await).await.unwrap_err();
    assert_eq!(changed.kind(), ErrorKind::Refused);
    assert!(changed.to_string().contains("001.parquet has changed"), "{changed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_of_sums_alone_is_told_and_what_was_half_written_goes() {
    let lab = Lab::new();
    lab.trips(2, 1).await;
    let (checkpoint, sink) = (lab.path("ck-q"), MemorySink::new("zones"));
    let writer = async || {
        let writer = lab.query("SELECT zone FROM trips", "q", OutputMode::Append).await;
        writer.sink(sink.clone())
    };
    run(writer().await).await.unwrap();
    let half = checkpoint.join("offsets/.2.67e55044-10b1-426f-9247-bb680e5fe0c8");
    std::fs::write(&half, "{").unwrap();
    run(writer().await).await.unwrap();
    assert!(!half.exists());
    std::fs::write(checkpoint.join("sources/100"), "{\"had\": []}").unwrap();
    let error = run(writer().await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("DROP CHECKPOINT"), "{error}");
}
