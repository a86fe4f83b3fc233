//! Numbers of JSON under declared columns.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::pretty::pretty_format_batches;
use partwise_stream::source::json::ExactColumns;

fn columns(fields: &[(&str, DataType)]) -> ExactColumns {
    let field = |(name, data_type): &(&str, DataType)| Field::new(*name, data_type.clone(), true);
    ExactColumns::new(Arc::new(Schema::new(fields.iter().map(field).collect::<Vec<_>>())))
}

fn read(columns: &ExactColumns, json: &str) -> Result<RecordBatch, ArrowError> {
    let mut decoder = columns.decoder(100)?;
    decoder.decode(json.as_bytes())?;
    columns.exactly(&decoder.flush()?.unwrap())
}

fn list(of: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", of, true)))
}

fn nested() -> ExactColumns {
    let pair = [("a", DataType::Int64), ("b", DataType::Decimal128(10, 2))];
    let pair: Fields = pair.into_iter().map(|(name, of)| Field::new(name, of, true)).collect();
    let entries =
        [Field::new("keys", DataType::Utf8, false), Field::new("values", DataType::Int32, true)];
    let entries = Field::new("entries", DataType::Struct(entries.into_iter().collect()), false);
    columns(&[
        ("l", list(DataType::Int64)),
        ("p", list(DataType::Struct(pair))),
        ("m", DataType::Map(Arc::new(entries), false)),
    ])
}

#[test]
fn numbers_are_what_they_say_or_named() {
    let all = columns(&[
        ("n", DataType::Int64),
        ("d", DataType::Decimal128(10, 2)),
        ("t", DataType::UInt8),
        ("s", DataType::Utf8),
        ("f", DataType::Float64),
    ]);
    let json = r#"{"n": 9007199254740993.0, "d": 1.990, "t": 2e2, "s": 1.50, "f": 0.1}
        {"n": "7", "d": "0.01", "t": null, "s": "x", "f": "NaN"} {"f": "-Infinity"}"#;
    let rows = read(&all, json).unwrap();
    let shown = pretty_format_batches(&[rows]).unwrap().to_string();
    let lines: Vec<String> = shown.lines().map(|line| line.replace(' ', "")).collect();
    assert_eq!(lines[3], "|9007199254740993|1.99|200|1.50|0.1|");
    assert_eq!(lines[4], "|7|0.01||x|NaN|");
    assert_eq!(lines[5], "|||||-inf|");
    for (json, said) in [
        (r#"{"n": 1.9}"#, "column n is Int64, which can't hold '1.9'"),
        (r#"{"n": 9223372036854775808}"#, "'9223372036854775808'"),
        (r#"{"n": true}"#, "'true'"),
        (r#"{"n": ""}"#, "column n"),
        (r#"{"n": 1} {"d": 1.999}"#, "column d is Decimal128(10, 2), which can't hold '1.999'"),
        (r#"{"d": 123456789}"#, "'123456789'"),
        (r#"{"t": 256}"#, "column t is UInt8"),
        (r#"{"t": -1}"#, "'-1'"),
    ] {
        let error = read(&all, json).unwrap_err().to_string();
        assert!(error.contains(said), "{json}: {error}");
    }
}

#[test]
fn numbers_within_lists_structs_and_maps_are_too() {
    let columns = nested();
    let json = r#"{"l": [1.0, null, 3], "p": [{"a": 4, "b": 5.25}, null], "m": {"k": 6.0}}
        {"l": [], "p": null, "m": {}} {}"#;
    let rows = read(&columns, json).unwrap();
    let shown = pretty_format_batches(&[rows]).unwrap().to_string();
    assert!(shown.contains("[1, , 3]") && shown.contains("{a: 4, b: 5.25}"), "{shown}");
    assert!(shown.contains("{k: 6}"), "{shown}");
    for (json, said) in [
        (r#"{"l": [1, 1.5]}"#, "column l is Int64, which can't hold '1.5'"),
        (r#"{"p": [{"b": 1.001}]}"#, "column p.b is Decimal128"),
        (r#"{"m": {"k": 1e10}}"#, "column m.values is Int32"),
    ] {
        let error = read(&columns, json).unwrap_err().to_string();
        assert!(error.contains(said), "{json}: {error}");
    }
}
