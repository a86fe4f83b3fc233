//! Numbers as what they are: none cut, and those that JSON has no number for.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float32Array, Float64Array, Int64Array, ListArray, RecordBatch, StructArray,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType, Field, SchemaRef};
use partwise_stream::{MemorySink, OutputMode, StreamDefinition};

use crate::kit::{Lab, got, mock, put, rows, run, schema, sink};

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

/// NaN, the infinities, a number and NULL; the same within lists and structs.
fn floats() -> RecordBatch {
    let of = [Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY), Some(0.1), None];
    let f: ArrayRef = Arc::new(Float64Array::from(of.to_vec()));
    let g: ArrayRef = Arc::new(of.iter().map(|f| f.map(|f| f as f32)).collect::<Float32Array>());
    let item = Arc::new(Field::new("item", DataType::Float64, true));
    let lengths = OffsetBuffer::from_lengths([1; 5]);
    let l: ArrayRef = Arc::new(ListArray::new(item, lengths, Arc::clone(&f), None));
    let inner = Arc::new(Field::new("g", DataType::Float32, true));
    let s: ArrayRef = Arc::new(StructArray::from(vec![(inner, g)]));
    let n: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5));
    let columns = [("n", n), ("f", f), ("l", l), ("s", s)];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, of)| (name, of, true))).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn floats_that_json_has_no_number_for_are_texts_and_come_back() {
    let (_mock, servers) = mock("t", 1);
    let lab = Lab::new();
    let source = lab.memory(floats().schema());
    source.add(floats()).unwrap();
    let writer = lab.query("SELECT * FROM rows", "q", OutputMode::Append).await;
    run(writer.sink(sink(&servers, "t", &[]))).await.unwrap();
    let values: Vec<String> =
        got(&servers, "t").into_iter().map(|message| message.value.unwrap()).collect();
    let line = |n: i64, f: &str| format!(r#"{{"n":{n},"f":{f},"l":[{f}],"s":{{"g":{f}}}}}"#);
    let written = [r#""NaN""#, r#""Infinity""#, r#""-Infinity""#, "0.1", "null"];
    let lines: Vec<_> = (0..).zip(written).map(|(n, f)| line(n, f)).collect();
    assert_eq!(values, lines);
    stream(&lab, &servers, floats().schema(), &[]).await;
    let back = MemorySink::new("back");
    let writer = lab.query("SELECT * FROM s", "r", OutputMode::Append).await;
    run(writer.sink(back.clone())).await.unwrap();
    assert_eq!(rows(back.rows()), rows(vec![floats()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_of_such_floats_have_keys_of_their_own() {
    let (_mock, servers) = mock("t", 1);
    let lab = Lab::new();
    let source = lab.memory(floats().schema());
    source.add(floats()).unwrap();
    let sql = "SELECT f, count(*) AS n FROM rows GROUP BY f";
    let writer = lab.query(sql, "q", OutputMode::Update).await;
    run(writer.sink(sink(&servers, "t", &[]))).await.unwrap();
    let messages = got(&servers, "t").into_iter();
    let mut keys: Vec<String> = messages.map(|message| message.key.unwrap()).collect();
    keys.sort();
    let texts = [r#""-Infinity""#, r#""Infinity""#, r#""NaN""#, "0.1", "null"];
    assert_eq!(keys, texts.map(|text| format!(r#"{{"f":{text}}}"#)));
}
