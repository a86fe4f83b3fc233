//! Messages that are no rows.

use partwise_stream::{ErrorKind, MemorySink, OutputMode};

use crate::kit::{Lab, clicks_of, mock, put, rows, run};

const SQL: &str = "SELECT n, page FROM clicks";

async fn lab() -> (crate::kit::Mock, String, Lab) {
    let (mock, servers) = mock("clicks", 2);
    let values = ["not json", r#"{"n": "many"}"#, r#"{"n": 4} {"n": 5}"#, "[]", ""];
    put(&servers, "clicks", 1, &clicks_of(0..3));
    put(&servers, "clicks", 1, &values);
    put(&servers, "clicks", 1, &clicks_of(3..5));
    (mock, servers, Lab::new())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_no_row_is_named_and_can_be_left_out_or_made_null() {
    let (_mock, servers, lab) = lab().await;
    lab.clicks(&servers, &[]).await.unwrap();
    let sink = MemorySink::new("all");
    let writer = async || lab.query(SQL, "q", OutputMode::Append).await.sink(sink.clone());
    let error = run(writer().await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let said = error.to_string();
    assert!(said.contains("offset 3 of the topic 'clicks', partition 1"), "{said}");
    assert!(said.contains("'on_bad_record' 'skip'"), "{said}");
    assert!(rows(sink.rows()).is_empty());

    // The same batch with another choice: the checkpoint isn't tied to it.
    lab.clicks_again(&servers, &[("on_bad_record", "skip")]).await;
    let query = run(writer().await).await.unwrap();
    let batch = query.progress().unwrap();
    assert_eq!((batch.input_rows, batch.bad_rows), (5, 5));
    assert!(batch.to_string().contains(", 5 bad"), "{batch}");
    assert_eq!(rows(sink.rows()).len(), 5);

    lab.clicks_again(&servers, &[("on_bad_record", "null")]).await;
    let nulls = MemorySink::new("nulls");
    let query = run(lab.query(SQL, "r", OutputMode::Append).await.sink(nulls.clone())).await;
    assert_eq!(query.unwrap().progress().unwrap().bad_rows, 5);
    let nulls = rows(nulls.rows());
    assert_eq!(nulls.iter().filter(|row| *row == "NULL | NULL").count(), 5);
    assert_eq!(nulls.len(), 10);
}
