//! Input that is gone before it was read.

use partwise_stream::{ErrorKind, MemorySink, OutputMode};

use crate::kit::{Lab, clicks_of, forget_last_commit, lines_of, mock, put, rows, run};

const SQL: &str = "SELECT n, page FROM clicks";

/// Long values: the mock keeps five megabytes of a partition.
fn long(numbers: std::ops::Range<i64>, bytes: usize) -> Vec<String> {
    let padding = format!(r#", "z": "{}"}}"#, "x".repeat(bytes));
    clicks_of(numbers).iter().map(|value| value.replace('}', &padding)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_retention_removed_is_named_and_can_be_done_without() {
    let (_mock, servers) = mock("clicks", 1);
    let lab = Lab::new();
    put(&servers, "clicks", 0, &clicks_of(0..10));
    lab.clicks(&servers, &[]).await.unwrap();
    let sink = MemorySink::new("all");
    let writer = async || lab.query(SQL, "q", OutputMode::Append).await.sink(sink.clone());
    run(writer().await).await.unwrap();
    put(&servers, "clicks", 0, &long(10..20, 900_000));
    // Planning the next batch finds it.
    let error = run(writer().await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    let said = error.to_string();
    assert!(said.contains("offset 10 of the topic 'clicks', partition 0"), "{said}");
    assert!(said.contains("retention") && said.contains("'fail_on_data_loss' 'false'"), "{said}");
    lab.clicks_again(&servers, &[("fail_on_data_loss", "false")]).await;
    run(writer().await).await.unwrap();
    let there = rows(sink.rows());
    assert!((12..20).contains(&there.len()), "{there:?}");
    assert!(lines_of(0..10).iter().chain(&lines_of(18..20)).all(|line| there.contains(line)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planned_batch_whose_input_is_gone_is_named_and_can_be_done_without() {
    let (_mock, servers) = mock("clicks", 1);
    let lab = Lab::new();
    put(&servers, "clicks", 0, &long(0..10, 100_000));
    lab.clicks(&servers, &[]).await.unwrap();
    let sink = MemorySink::new("all");
    let writer = async |name| lab.query(SQL, name, OutputMode::Append).await.sink(sink.clone());
    run(writer("q").await).await.unwrap();
    assert_eq!(forget_last_commit(&lab.path("ck-q")), 0);
    put(&servers, "clicks", 0, &long(10..15, 900_000));
    // Reading the batch again finds it.
    let error = run(writer("q").await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("offsets 0 to 10 of the topic 'clicks'"), "{error}");
    lab.clicks_again(&servers, &[("fail_on_data_loss", "false")]).await;
    run(writer("q").await).await.unwrap();
    assert!(rows(sink.rows()).contains(&lines_of(14..15)[0]));
}
