//! The state stays as large as the groups that are open.

use std::sync::{Arc, Mutex};

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use partwise_stream::{MemorySink, OutputMode, TableSink};

use crate::kit::{Lab, events, run, watermark};

#[tokio::test(flavor = "multi_thread")]
async fn it_is_bounded_over_a_thousand_batches() {
    let lab = Lab::new();
    let clicks = lab.memory("clicks", events(&[]).schema(), watermark(3));
    for minute in 0..1_000 {
        let rows: Vec<_> = (0..5).map(|n| (Some(minute), n)).collect();
        clicks.add(events(&rows)).unwrap();
    }
    let sql = "SELECT tumble(ts, INTERVAL '2 minutes') AS start, n, count(*) AS c, \
         count(DISTINCT n) AS d FROM clicks GROUP BY 1, 2";
    let most = Arc::new(Mutex::new((0, 0)));
    let (noted, sink) = (most.clone(), MemorySink::new("counts"));
    let writer = lab.query(sql, "q", OutputMode::Append).await.sink(sink.clone());
    let writer = writer.on_progress(move |progress| {
        let mut most = noted.lock().unwrap();
        most.0 = most.0.max(progress.state_rows);
        most.1 = most.1.max(progress.state_bytes);
    });
    let query = run(writer).await.unwrap();
    let (rows, bytes) = *most.lock().unwrap();
    println!("1,000 batches: at most {rows} groups, {bytes} bytes; {}", query.progress().unwrap());
    assert!(rows <= 20, "{rows} groups");
    assert!(bytes < 200_000, "{bytes} bytes");
    let given: usize = sink.rows().iter().map(|batch| batch.num_rows()).sum();
    // Up to 00:996, where the watermark is; two minutes and five values each.
    assert_eq!(given, 996 / 2 * 5);
    let files = |folder: &str| std::fs::read_dir(lab.path("ck-q").join(folder)).unwrap().count();
    assert!(files("state") <= 110, "{} state files", files("state"));
    assert!(files("offsets") <= 201 && files("commits") <= 201, "{} offsets", files("offsets"));
    assert_eq!(files("sources"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_read_back_from_changes_and_whole_ones() {
    let lab = Lab::new();
    let clicks = lab.memory("clicks", events(&[]).schema(), None);
    let sql = "SELECT n, count(*) AS c FROM clicks GROUP BY n";
    let sink = || TableSink::new(lab.path("counts"));
    for run_of in 0..4 {
        for batch in 0..30 {
            clicks.add(events(&[(None, batch % 7), (None, run_of)])).unwrap();
        }
        run(lab.query(sql, "q", OutputMode::Update).await.sink(sink())).await.unwrap();
    }
    let whole = lab.table(lab.path("counts"), "counts", "SELECT sum(c) FROM counts").await;
    assert_eq!(whole, ["240"]);
    let states = std::fs::read_dir(lab.path("ck-q/state")).unwrap();
    let names: Vec<_> = states.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().any(|name| name.ends_with(".full")), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn strings_take_the_room_of_their_groups_in_memory_and_on_disk() {
    let lab = Lab::new();
    // The groups of a batch come in many pieces, slices of one.
    lab.session.sql("SET datafusion.execution.batch_size = 50").await.unwrap();
    let keys = |from: i64, to: i64| {
        let key = |key| Some(format!("a key longer than twelve bytes {key:08}"));
        let keys: ArrayRef = Arc::new((from..to).map(key).collect::<StringViewArray>());
        RecordBatch::try_from_iter([("k", keys)]).unwrap()
    };
    let words = lab.memory("words", keys(0, 0).schema(), None);
    for _ in 0..20 {
        words.add(keys(0, 5_000)).unwrap();
    }
    let most = Arc::new(Mutex::new(0));
    let noted = most.clone();
    let sql = "SELECT k, count(*) AS c, max(k) AS m FROM words GROUP BY k";
    let writer = lab.query(sql, "q", OutputMode::Update).await.sink(MemorySink::new("counts"));
    let writer = writer.on_progress(move |progress| {
        let mut most = noted.lock().unwrap();
        *most = progress.state_bytes.max(*most);
    });
    run(writer).await.unwrap();
    let states = std::fs::read_dir(lab.path("ck-q/state")).unwrap();
    let largest = states.map(|file| file.unwrap().metadata().unwrap().len()).max().unwrap();
    let most = *most.lock().unwrap();
    println!("5,000 groups: at most {most} bytes in memory, {largest} in a file");
    assert!(most < 3_000_000, "{most} bytes in memory");
    assert!(largest < 1_000_000, "{largest} bytes in a file");
}
