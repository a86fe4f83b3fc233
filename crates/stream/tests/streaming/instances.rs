//! Two instances of a query, and stopping one.

use std::sync::Arc;
use std::time::Duration;

use partwise_stream::{ErrorKind, MemorySink, OutputMode, Trigger};

use crate::kit::{Lab, events, rows, run};

#[tokio::test(flavor = "multi_thread")]
async fn of_two_instances_one_runs_and_the_other_says_who() {
    let lab = Lab::new();
    lab.trips(2, 1).await;
    let sql = "SELECT zone FROM trips";
    let sink = MemorySink::new("zones");
    let every = Trigger::Every(Duration::from_secs(3_600));
    let writer = lab.query(sql, "q", OutputMode::Append).await.sink(sink.clone()).trigger(every);
    let first = writer.clone().start().await.unwrap();
    let error = writer.clone().start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    let said = error.to_string();
    assert!(said.contains(&format!("process {} on ", std::process::id())), "{said}");
    first.stop().await.unwrap();
    writer.start().await.unwrap().stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_finds_anothers_offsets_stops_and_says_whose() {
    let lab = Lab::new();
    lab.trips(2, 1).await;
    let offsets = lab.path("ck-q").join("offsets").join("1");
    let other = offsets.clone();
    // The lock of another host isn't seen on every network file system: the offsets are.
    let sink = MemorySink::new("zones");
    let writer = lab.query("SELECT zone FROM trips", "q", OutputMode::Append).await;
    let writer = writer.sink(sink.clone()).before_each_step(move |step, batch| {
        if step == partwise_stream::Step::Offsets && batch == 1 {
            let runner = r#"{"runner": {"host": "elsewhere", "pid": 7, "started_ms": 0}}"#;
            std::fs::write(&other, runner).unwrap();
        }
        Ok(())
    });
    let error = run(writer).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let said = error.to_string();
    assert!(said.contains("process 7 on elsewhere (since 1970-01-01 00:00:00 UTC)"), "{said}");
    assert_eq!(rows(sink.rows()).len(), 120);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_runs_until_it_is_stopped_and_takes_what_arrives() {
    let lab = Lab::new();
    let clicks = lab.memory("clicks", events(&[]).schema(), None);
    let sink = MemorySink::new("all");
    let seen = Arc::new(tokio::sync::Semaphore::new(0));
    let told = Arc::clone(&seen);
    let writer = lab.query("SELECT n FROM clicks", "q", OutputMode::Append).await;
    let query = writer
        .sink(sink.clone())
        .trigger(Trigger::Every(Duration::from_millis(5)))
        .on_progress(move |_| told.add_permits(1))
        .start()
        .await
        .unwrap();
    for n in 1..=3 {
        clicks.add(events(&[(None, n)])).unwrap();
        let batch = tokio::time::timeout(Duration::from_secs(60), seen.acquire());
        batch.await.unwrap().unwrap().forget();
    }
    assert!(query.is_running());
    query.stop().await.unwrap();
    assert!(!query.is_running());
    assert_eq!(rows(sink.rows()), ["1", "2", "3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_given_up_runs_again() {
    let lab = Lab::new();
    lab.trips(2, 1).await;
    let entered = Arc::new(tokio::sync::Notify::new());
    let noted = Arc::clone(&entered);
    let writer = lab.query("SELECT zone FROM trips", "q", OutputMode::Append).await;
    let query = writer
        .foreach_batch(move |_, _| {
            let noted = Arc::clone(&noted);
            async move {
                noted.notify_one();
                std::future::pending().await
            }
        })
        .start()
        .await
        .unwrap();
    entered.notified().await;
    query.abort();
    assert_eq!(query.await_termination().await.unwrap_err().kind(), ErrorKind::Unavailable);
    let batches = Arc::new(std::sync::Mutex::new(Vec::new()));
    let called = Arc::clone(&batches);
    let writer = lab.query("SELECT zone FROM trips", "q", OutputMode::Append).await;
    let again = writer.foreach_batch(move |rows, id| {
        let called = Arc::clone(&called);
        async move {
            let count = rows.count().await?;
            called.lock().unwrap().push((id.batch, count));
            Ok(())
        }
    });
    let query = run(again).await.unwrap();
    assert_eq!(*batches.lock().unwrap(), [(0, 120), (1, 120)]);
    let replayed: Vec<bool> = query.history().iter().map(|progress| progress.replayed).collect();
    assert_eq!(replayed, [true, false]);
}
