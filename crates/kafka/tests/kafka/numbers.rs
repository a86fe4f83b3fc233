//! Numbers as what they are: none cut.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use partwise_stream::{MemorySink, OutputMode, StreamDefinition};

use crate::kit::{Lab, mock, put, rows, run, schema};

async fn stream(lab: &Lab, servers: &str, columns: SchemaRef, options: &[(&str, &str)]) {
    let _ = lab.streams.drop_stream("s").await;
    let stream = StreamDefinition::new("s", "KAFKA").columns(columns);
    let stream = stream.option("bootstrap.servers", servers).option("topic", "t");
    let stream = options.iter().fold(stream, |stream, (name, value)| stream.option(*name, *value));
    lab.streams.create_stream(&stream).await.unwrap();
}

/// Puts values into a topic, of which one can be read.
async fn one_is_a_row(format: &str, columns: SchemaRef, values: &[&str], row: &str, named: &str) {
    let (_mock, servers) = mock("t", 1);
    let lab = Lab::new();
    put(&servers, "t", 0, values);
    stream(&lab, &servers, columns.clone(), &[("format", format)]).await;
    let sink = MemorySink::new("all");
    let writer =
        async || lab.query("SELECT * FROM s", "q", OutputMode::Append).await.sink(sink.clone());
    let error = run(writer().await).await.unwrap_err().to_string();
    assert!(error.contains("at offset 0") && error.contains(named), "{error}");
    stream(&lab, &servers, columns, &[("format", format), ("on_bad_record", "skip")]).await;
    let query = run(writer().await).await.unwrap();
    assert_eq!(rows(sink.rows()), [row]);
    assert_eq!(query.progress().unwrap().bad_rows, values.len() as u64 - 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_its_column_cant_hold_is_a_bad_record() {
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int64, true)));
    let (n, d) = (("n", DataType::Int64), ("d", DataType::Decimal128(10, 2)));
    let json = [
        r#"{"n": 1.9}"#,
        r#"{"n": 9007199254740993.0, "d": 1.990, "l": [2.0, 3e1]}"#,
        r#"{"d": 1.999}"#,
        r#"{"l": [1, 2.5]}"#,
    ];
    let row = "9007199254740993 | 1.99 | [2, 30]";
    let columns = schema(&[n.clone(), d.clone(), ("l", list)]);
    one_is_a_row("json", columns, &json, row, "column n is Int64, which can't hold '1.9'").await;
    let csv = ["1,1.999", "2.0,1.990", "2.5,1"];
    let columns = schema(&[n, d]);
    one_is_a_row("csv", columns, &csv, "2 | 1.99", "which can't hold '1.999'").await;
}
