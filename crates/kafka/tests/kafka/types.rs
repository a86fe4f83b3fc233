//! Values of all kinds through a topic and back.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::prelude::SessionContext;
use partwise_stream::{MemorySink, MemorySource, OutputMode, StreamDefinition};

use crate::kit::{Lab, got, mock, rows, run, sink};

const ROWS: &str = "SELECT * FROM (VALUES
    (1, CAST('12345678901234567.89' AS DECIMAL(20, 2)), TIMESTAMP '2024-02-29 23:59:59.123456',
     DATE '1969-12-31', true, 0.1, 'ü \"x\" \n', make_array(1, NULL, 3),
     named_struct('a', 9007199254740993, 'b', 'x')),
    (2, CAST('-0.01' AS DECIMAL(20, 2)), TIMESTAMP '1960-01-01 00:00:00', DATE '2262-01-01', false,
     -1e300, '', make_array(), named_struct('a', -1, 'b', NULL)),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL))
    AS t(n, d, ts, day, b, f, s, list, pair)";

async fn typed_rows() -> Vec<RecordBatch> {
    SessionContext::new().sql(ROWS).await.unwrap().collect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_all_kinds_come_back_as_they_were() {
    let (_mock, servers) = mock("out", 2);
    let lab = Lab::new();
    let batches = typed_rows().await;
    let source = MemorySource::new(batches[0].schema());
    for rows in &batches {
        source.add(rows.clone()).unwrap();
    }
    lab.streams.add_stream("rows", Arc::new(source.clone()), None).unwrap();
    let writer = lab.query("SELECT * FROM rows", "q", OutputMode::Append).await;
    run(writer.sink(sink(&servers, "out", &[]))).await.unwrap();
    assert_eq!(got(&servers, "out").len(), 3);
    let back = StreamDefinition::new("back", "KAFKA").columns(batches[0].schema());
    let back = back.option("bootstrap.servers", servers).option("topic", "out");
    lab.streams.create_stream(&back).await.unwrap();
    let into = MemorySink::new("back");
    run(lab.query("SELECT * FROM back", "r", OutputMode::Append).await.sink(into.clone()))
        .await
        .unwrap();
    assert_eq!(rows(into.rows()), rows(batches));
}
