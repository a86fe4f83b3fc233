//! Values are stored as they are, or not at all.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, RecordBatch, StringArray, TimestampNanosecondArray, UInt64Array,
};
use partwise_stream::ErrorKind;
use partwise_stream::OutputMode::{Append, Update};

use crate::kit::{Lab, rows_of, run};
use crate::python::{python, run_python};

/// A column of each type.
const TYPES: &str = "SELECT ts, \
     arrow_cast(ts, 'Timestamp(Millisecond, Some(\"+02:00\"))') AS at, \
     CAST(ts AS DATE) AS day, price, tag, zone, zone > 3 AS far, \
     arrow_cast(zone, 'UInt8') AS u8, arrow_cast(zone, 'UInt64') AS u64, \
     CAST(zone AS SMALLINT) AS small, CAST(price AS DOUBLE) AS double, \
     CAST(price AS REAL) AS real, arrow_cast(tag, 'LargeBinary') AS bytes, \
     make_array(zone, 1) AS list, named_struct('zone', zone, 'tag', tag) AS pair \
     FROM trips";

#[tokio::test(flavor = "multi_thread")]
async fn each_type_is_delta_s_own_and_reads_back() {
    let lab = Lab::with_trips(2).await;
    run(lab.query(TYPES, "q", Append).await.sink(lab.sink("t"))).await.unwrap();
    let table = lab.table("t").await;
    let schema = table.snapshot().unwrap().schema();
    let told: Vec<String> =
        schema.fields().map(|f| format!("{} {}", f.name(), f.data_type())).take(12).collect();
    assert_eq!(
        told,
        [
            "ts timestamp_ntz",
            "at timestamp",
            "day date",
            "price decimal(10,2)",
            "tag string",
            "zone integer",
            "far boolean",
            "u8 short",
            "u64 decimal(20,0)",
            "small short",
            "double double",
            "real float"
        ]
    );
    let told = "SELECT ts, arrow_cast(at, 'Timestamp(Microsecond, Some(\"UTC\"))'), day, price, tag, \
                zone, far, u8, u64, small, double, real, arrow_cast(bytes, 'LargeBinary'), list, \
                pair['zone'], pair['tag'] FROM";
    let back = rows_of(&table, &format!("{told} t")).await;
    assert_eq!(back, lab.batch(&format!("{told} ({TYPES})")).await);
    let Some(python) = python() else { return };
    let script = "import sys; from deltalake import DeltaTable; \
                  t = DeltaTable(sys.argv[1]).to_pyarrow_table(); \
                  print(t.num_rows, t.schema.field('ts').type, t.schema.field('at').type)";
    let said = run_python(&python, script, &[lab.path("t").to_str().unwrap()]);
    assert_eq!(said, "200 timestamp[us] timestamp[us, tz=UTC]");
}

fn one(name: &str, column: ArrayRef) -> RecordBatch {
    let x: ArrayRef = Arc::new(StringArray::from(vec!["x"; column.len()]));
    RecordBatch::try_from_iter_with_nullable([(name, column, true), ("x", x, true)]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nanoseconds_and_large_numbers_are_stored_whole_or_refused() {
    let lab = Lab::new();
    let whole = TimestampNanosecondArray::from(vec![1_704_067_200_000_001_000]);
    let finer = TimestampNanosecondArray::from(vec![1_704_067_200_000_001_001]);
    lab.memory("fine", &[one("ts", Arc::new(whole.clone()))]);
    lab.memory("finer", &[one("ts", Arc::new(whole)), one("ts", Arc::new(finer))]);
    let writer = async |from: &str| lab.query(&format!("SELECT * FROM {from}"), from, Append).await;
    run(writer("fine").await.sink(lab.sink("fine"))).await.unwrap();
    assert_eq!(lab.rows("fine").await, ["2024-01-01T00:00:00.000001 | x"]);
    let error = run(writer("finer").await.sink(lab.sink("finer"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("date_trunc('microsecond', ts)"), "{error}");
    assert_eq!(lab.rows("finer").await.len(), 1);

    lab.memory("large", &[one("n", Arc::new(UInt64Array::from(vec![u64::MAX])))]);
    run(writer("large").await.sink(lab.sink("large"))).await.unwrap();
    assert_eq!(lab.rows("large").await, ["18446744073709551615 | x"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_text_is_no_partition() {
    let lab = Lab::new();
    let text: ArrayRef = Arc::new(StringArray::from(vec![Some("a b/ü=%"), None, Some("")]));
    lab.memory("texts", &[one("text", text.slice(0, 2)), one("text", text)]);
    for mode in [Append, Update] {
        let (name, sql) = match mode {
            Append => ("append", "SELECT text, x FROM texts"),
            _ => ("update", "SELECT text, max(x) AS x FROM texts GROUP BY text"),
        };
        let sink = lab.sink(name).partition_by(["text"]);
        let error = run(lab.query(sql, name, mode).await.sink(sink)).await.unwrap_err();
        assert!(error.to_string().contains("nullif(text, '')"), "{error}");
        let rows = rows_of(&lab.table(name).await, "SELECT text, x FROM t").await;
        assert_eq!(rows, ["NULL | x", "a b/ü=% | x"]);
    }
}
