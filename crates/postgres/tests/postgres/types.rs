//! Every type, there and back: what the server says a value is.

use std::sync::Arc;

use datafusion::arrow::array::*;
use datafusion::arrow::datatypes::{
    DataType, Field, Int32Type, IntervalDayTime, IntervalMonthDayNano, Schema, i256,
};
use partwise_stream::OutputMode;

use crate::kit::{Lab, run};

/// Values of a type, its column and what the server shows: the values are never the same.
fn all() -> Vec<(ArrayRef, &'static str, [&'static str; 2])> {
    const MICROS: i64 = 1_709_210_096_123_456;
    const BIG: i128 = 99_999_999_999_999_999_999_999_999_999_999_999_999;
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), None, Some(-3)]),
        Some(vec![]),
    ]);
    let months = |m, d, n| IntervalMonthDayNano::new(m, d, n);
    let keys = DictionaryArray::<Int32Type>::from_iter(["a", "b"]);
    let long = i256::from_string(&"9".repeat(76)).unwrap();
    vec![
        (Arc::new(BooleanArray::from(vec![true, false])), "boolean", ["t", "f"]),
        (Arc::new(Int8Array::from(vec![i8::MIN, i8::MAX])), "smallint", ["-128", "127"]),
        (Arc::new(Int16Array::from(vec![i16::MIN, i16::MAX])), "smallint", ["-32768", "32767"]),
        (Arc::new(Int32Array::from(vec![i32::MIN, 7])), "integer", ["-2147483648", "7"]),
        (
            Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX])),
            "bigint",
            ["-9223372036854775808", "9223372036854775807"],
        ),
        (Arc::new(UInt8Array::from(vec![0, u8::MAX])), "smallint", ["0", "255"]),
        (Arc::new(UInt16Array::from(vec![0, u16::MAX])), "integer", ["0", "65535"]),
        (Arc::new(UInt32Array::from(vec![0, u32::MAX])), "bigint", ["0", "4294967295"]),
        (
            Arc::new(UInt64Array::from(vec![0, u64::MAX])),
            "numeric(20,0)",
            ["0", "18446744073709551615"],
        ),
        (Arc::new(Float32Array::from(vec![1.1, f32::NAN])), "real", ["1.1", "NaN"]),
        (
            Arc::new(Float64Array::from(vec![0.1 + 0.2, f64::NEG_INFINITY])),
            "double precision",
            ["0.30000000000000004", "-Infinity"],
        ),
        (decimal128(vec![-1, 12_345_678], 9, 4), "numeric(9,4)", ["-0.0001", "1234.5678"]),
        (
            decimal128(vec![BIG, -BIG], 38, 10),
            "numeric(38,10)",
            ["9999999999999999999999999999.9999999999", "-9999999999999999999999999999.9999999999"],
        ),
        (decimal128(vec![7, -70], 5, -3), "numeric(8,0)", ["7000", "-70000"]),
        (
            Arc::new(
                Decimal256Array::from(vec![long, i256::from_i128(-5)])
                    .with_precision_and_scale(76, 38)
                    .unwrap(),
            ),
            "numeric(76,38)",
            [
                "99999999999999999999999999999999999999.99999999999999999999999999999999999999",
                "-0.00000000000000000000000000000000000005",
            ],
        ),
        (
            Arc::new(Decimal32Array::from(vec![10_000, 0]).with_precision_and_scale(7, 2).unwrap()),
            "numeric(7,2)",
            ["100.00", "0.00"],
        ),
        (
            Arc::new(StringArray::from(vec!["", "grüß \"dich\" \\ 🎈"])),
            "text",
            ["", "grüß \"dich\" \\ 🎈"],
        ),
        (Arc::new(LargeStringArray::from(vec!["x", "y"])), "text", ["x", "y"]),
        (
            Arc::new(StringViewArray::from(vec!["a view of more than 12", "y"])),
            "text",
            ["a view of more than 12", "y"],
        ),
        (Arc::new(keys), "text", ["a", "b"]),
        (Arc::new(BinaryArray::from(vec![&b"\0\xff"[..], b""])), "bytea", ["\\x00ff", "\\x"]),
        (
            Arc::new(FixedSizeBinaryArray::try_from_iter([[1_u8, 2], [3, 4]].iter()).unwrap()),
            "bytea",
            ["\\x0102", "\\x0304"],
        ),
        (
            Arc::new(Date32Array::from(vec![19_782, -719_529])),
            "date",
            ["2024-02-29", "0002-12-31 BC"],
        ),
        (Arc::new(Date64Array::from(vec![0, -86_400_000])), "date", ["1970-01-01", "1969-12-31"]),
        (
            Arc::new(Time32SecondArray::from(vec![0, 86_399])),
            "time without time zone",
            ["00:00:00", "23:59:59"],
        ),
        (
            Arc::new(Time64NanosecondArray::from(vec![1_000, 86_399_999_999_000])),
            "time without time zone",
            ["00:00:00.000001", "23:59:59.999999"],
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![MICROS, -1])),
            "timestamp without time zone",
            ["2024-02-29 12:34:56.123456", "1969-12-31 23:59:59.999999"],
        ),
        (
            Arc::new(TimestampSecondArray::from(vec![0, 253_402_300_799])),
            "timestamp without time zone",
            ["1970-01-01 00:00:00", "9999-12-31 23:59:59"],
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![i64::MAX, 0])),
            "timestamp without time zone",
            ["294247-01-10 04:00:54.775807", "1970-01-01 00:00:00"],
        ),
        (
            Arc::new(TimestampNanosecondArray::from(vec![MICROS * 1_000, 0])),
            "timestamp without time zone",
            ["2024-02-29 12:34:56.123456", "1970-01-01 00:00:00"],
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![MICROS, 0]).with_timezone("+02:00")),
            "timestamp with time zone",
            ["2024-02-29 12:34:56.123456+00", "1970-01-01 00:00:00+00"],
        ),
        (
            Arc::new(IntervalMonthDayNanoArray::from(vec![months(14, -3, 5_000), months(0, 0, 0)])),
            "interval",
            ["1 year 2 mons -3 days +00:00:00.000005", "00:00:00"],
        ),
        (
            Arc::new(IntervalDayTimeArray::from(vec![
                IntervalDayTime::new(2, 1),
                IntervalDayTime::new(0, -1),
            ])),
            "interval",
            ["2 days 00:00:00.001", "-00:00:00.001"],
        ),
        (
            Arc::new(DurationMillisecondArray::from(vec![90_061_001, -1])),
            "interval",
            ["25:01:01.001", "-00:00:00.001"],
        ),
        (Arc::new(lists), "integer[]", ["{1,NULL,-3}", "{}"]),
    ]
}

fn decimal128(values: Vec<i128>, digits: u8, scale: i8) -> ArrayRef {
    Arc::new(Decimal128Array::from(values).with_precision_and_scale(digits, scale).unwrap())
}

/// Rows of a key and the values behind it, with a NULL as the last.
fn rows(columns: &[ArrayRef]) -> RecordBatch {
    let mut fields = vec![Field::new("id", DataType::Int32, false)];
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![0, 1, 2]))];
    for (at, values) in columns.iter().enumerate() {
        let null = new_null_array(values.data_type(), 1);
        let with_null =
            datafusion::arrow::compute::concat(&[values.as_ref(), null.as_ref()]).unwrap();
        fields.push(Field::new(format!("c{at}"), values.data_type().clone(), true));
        arrays.push(with_null);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

/// Writes rows in one of the ways that there are.
async fn write(lab: &Lab, rows: &RecordBatch, way: &str) -> Result<(), String> {
    let stream = format!("s_{way}");
    let source = lab.memory(&stream, rows.schema(), None);
    source.add(rows.clone()).unwrap();
    let sink = lab.sink(&format!("t_{way}"));
    let sink = match way {
        "arrays" => sink.with_keys(["id"]),
        "staged" => sink.with_keys(["id"]).staging_rows(0),
        _ => sink,
    };
    let sql = format!("SELECT * FROM {stream}");
    let written = run(lab.query(&sql, way, OutputMode::Append).await.sink(sink)).await;
    written.map(drop).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_goes_there_as_it_is() {
    let Some(lab) = Lab::new("all_types") else { return };
    let scalars: Vec<_> =
        all().into_iter().filter(|(values, ..)| !values.data_type().is_nested()).collect();
    // Lists go by COPY alone, so that the arrays are tried without them as well.
    for (way, types) in [("rows", all()), ("arrays", scalars), ("staged", all())] {
        let columns: Vec<ArrayRef> = types.iter().map(|(values, ..)| Arc::clone(values)).collect();
        write(&lab, &rows(&columns), way).await.unwrap();
        for (at, (values, declared, shown)) in types.iter().enumerate() {
            let ask = format!(
                "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE \
                               attrelid = 't_{way}'::regclass AND attname = 'c{at}'"
            );
            assert_eq!(lab.sql(&ask), [*declared], "{}", values.data_type());
            let there = lab.sql(&format!("SELECT c{at} FROM t_{way} ORDER BY id"));
            assert_eq!(there, [shown[0], shown[1], "NULL"], "{} {way}", values.data_type());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_would_change_is_an_error() {
    let Some(lab) = Lab::new("lossy") else { return };
    let cases: Vec<(ArrayRef, &str)> = vec![
        (Arc::new(TimestampNanosecondArray::from(vec![1_000, 1_001])), "parts of a microsecond"),
        (Arc::new(Time64NanosecondArray::from(vec![0, 1])), "parts of a microsecond"),
        (Arc::new(DurationNanosecondArray::from(vec![0, 1])), "parts of a microsecond"),
        (Arc::new(Date64Array::from(vec![0, 1])), "time of day"),
        (Arc::new(StringArray::from(vec!["", "a\0b"])), "NUL character"),
        (Arc::new(TimestampMicrosecondArray::from(vec![0, i64::MIN])), "doesn't reach"),
        (Arc::new(TimestampSecondArray::from(vec![0, i64::MAX / 10])), "verflow"),
        (Arc::new(Date32Array::from(vec![0, i32::MAX])), "doesn't reach"),
        (Arc::new(Date32Array::from(vec![0, i32::MIN])), "doesn't reach"),
    ];
    for (at, (values, says)) in cases.into_iter().enumerate() {
        let way = ["rows", "arrays", "staged"][at % 3];
        let rows = rows(&[Arc::clone(&values)]);
        let written = write(&lab, &rows, way).await;
        let error = written.expect_err(&format!("{} {says}", values.data_type()));
        assert!(error.contains(says) && error.contains("column c0"), "{error}");
        assert_eq!(lab.sql(&format!("SELECT count(*) FROM t_{way}")), ["0"]);
        lab.sql(&format!("DROP TABLE t_{way}"));
        lab.session.deregister_table(format!("s_{way}")).unwrap();
        std::fs::remove_dir_all(lab.path(&format!("ck-{way}"))).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_type_without_a_column_is_refused() {
    let Some(lab) = Lab::new("no_type") else { return };
    let field = Arc::new(Field::new("x", DataType::Int32, true));
    let parts: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let structs: ArrayRef = Arc::new(StructArray::from(vec![(field, parts)]));
    let error = write(&lab, &rows(&[structs]), "rows").await.unwrap_err();
    assert!(error.contains("the column c0 is Struct"), "{error}");
    assert_eq!(lab.sql("SELECT to_regclass('t_rows')"), ["NULL"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_of_a_table_that_is_there_take_what_fits() {
    for (way, unique) in
        [("rows", "query_id, batch_id, row_id"), ("arrays", "id"), ("staged", "id")]
    {
        let Some(lab) = Lab::new(&format!("fits_{way}")) else { return };
        let uuid = "0d8d5c1e-9d0f-4f0e-8a53-0123456789ab";
        let json = r#"{"a": [1, 2]}"#;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(vec!["abc", "d"])),
            Arc::new(StringArray::from(vec![json, "1"])),
            Arc::new(StringArray::from(vec![json, "1"])),
            Arc::new(StringArray::from(vec![uuid, uuid])),
            Arc::new(UInt64Array::from(vec![1, 2])),
            decimal128(vec![125, -5], 5, 2),
        ];
        lab.sql(&format!(
            "CREATE TABLE t_{way} (id bigint NOT NULL, c0 varchar(5), c1 json, c2 jsonb, c3 uuid, \
             c4 bigint, c5 numeric(10, 3), query_id uuid, batch_id bigint, row_id bigint, \
             UNIQUE ({unique}))"
        ));
        write(&lab, &rows(&columns), way).await.unwrap();
        let there =
            lab.sql(&format!("SELECT c0, c1->'a', c2->'a', c3, c4, c5 FROM t_{way} WHERE id = 0"));
        assert_eq!(there, [format!("abc|[1, 2]|[1, 2]|{uuid}|1|1.250")]);
    }
}

/// Columns of a table that is there, values for them, and what is said: of the types, or of a value.
fn coarser() -> Vec<(&'static str, ArrayRef, &'static str)> {
    let micros = || TimestampMicrosecondArray::from(vec![1_500_000, 1]);
    let texts = |of: [&str; 2]| -> ArrayRef { Arc::new(StringArray::from(of.to_vec())) };
    let months = |m, d, n| IntervalMonthDayNano::new(m, d, n);
    let days = || IntervalMonthDayNanoArray::from(vec![months(14, 1, 1_000), months(0, 0, 0)]);
    let cents = ListArray::new(
        Arc::new(Field::new("item", DataType::Decimal128(5, 4), true)),
        datafusion::arrow::buffer::OffsetBuffer::from_lengths([1, 1]),
        decimal128(vec![12_345, 1], 5, 4),
        None,
    );
    vec![
        ("numeric(10, 1)", decimal128(vec![125, 1], 5, 2), "would be numeric(5, 2)"),
        ("numeric(10, 2)[]", Arc::new(cents), "is numeric(10,2)[]"),
        ("timestamp(0)", Arc::new(micros()), "is timestamp(0) without time zone"),
        ("timestamp(5)", Arc::new(micros()), "is timestamp(5) without time zone"),
        ("timestamptz(3)", Arc::new(micros().with_timezone("UTC")), "is timestamp(3) with time"),
        ("time(0)", Arc::new(Time64NanosecondArray::from(vec![1_000, 0])), "is time(0) without"),
        ("time(2)", Arc::new(Time32MillisecondArray::from(vec![1, 0])), "is time(2) without"),
        ("interval(0)", Arc::new(days()), "is interval(0)"),
        (
            "interval month",
            Arc::new(IntervalYearMonthArray::from(vec![14, 1])),
            "is interval month",
        ),
        ("varchar(3)", texts(["abc   ", "d"]), "has 6 characters, and the column is varchar(3)"),
        ("varchar(3)", texts(["d", "abcd"]), "has 4 characters, and the column is varchar(3)"),
        ("char(3)", texts(["ab", "abc"]), "has 2 characters, and the column is char(3)"),
        (
            "uuid",
            texts(["0D8D5C1E-9D0F-4F0E-8A53-0123456789AB", ""]),
            "as 0d8d5c1e-9d0f-4f0e-8a53-0123456789ab",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_would_change_values_is_refused() {
    let Some(lab) = Lab::new("coarser") else { return };
    for (at, (column, values, says)) in coarser().into_iter().enumerate() {
        let is_list = values.data_type().is_nested();
        let way = ["rows", "arrays", "staged"][if is_list { 2 } else { at % 3 }];
        let unique = if way == "rows" { "query_id, batch_id, row_id" } else { "id" };
        lab.sql(&format!(
            "CREATE TABLE t_{way} (id int NOT NULL, c0 {column}, query_id uuid, batch_id bigint, \
             row_id bigint, UNIQUE ({unique}))"
        ));
        let error = write(&lab, &rows(&[values]), way).await.expect_err(column);
        assert!(error.contains(says), "{column}: {error}");
        assert_eq!(lab.sql(&format!("SELECT count(*) FROM t_{way}; DROP TABLE t_{way}")), ["0"]);
        lab.session.deregister_table(format!("s_{way}")).unwrap();
        let _ = std::fs::remove_dir_all(lab.path(&format!("ck-{way}")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_is_just_fine_enough_takes_all() {
    let Some(lab) = Lab::new("fine_enough") else { return };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(TimestampSecondArray::from(vec![59, -1])),
        Arc::new(TimestampMicrosecondArray::from(vec![1, 2])),
        Arc::new(Time32MillisecondArray::from(vec![1, 0])),
        Arc::new(IntervalDayTimeArray::from(vec![IntervalDayTime::new(1, 1); 2])),
        Arc::new(StringArray::from(vec!["äöü", "ab "])),
        Arc::new(StringArray::from(vec!["äöü", "ab "])),
    ];
    lab.sql(
        "CREATE TABLE t_staged (id int UNIQUE, c0 timestamp(0), c1 timestamp(6), c2 time(3), \
         c3 interval(3), c4 char(3), c5 varchar(3), query_id uuid, batch_id bigint)",
    );
    write(&lab, &rows(&columns), "staged").await.unwrap();
    let there =
        lab.sql("SELECT c0, c1, c2, c3, c4, c5 || '.' FROM t_staged WHERE id < 2 ORDER BY id");
    let expected = [
        "1970-01-01 00:00:59|1970-01-01 00:00:00.000001|00:00:00.001|1 day 00:00:00.001|äöü|äöü.",
        "1969-12-31 23:59:59|1970-01-01 00:00:00.000002|00:00:00|1 day 00:00:00.001|ab |ab .",
    ];
    assert_eq!(there, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_the_server_would_take_for_one_are_refused() {
    let Some(lab) = Lab::new("merged_keys") else { return };
    let uuid = "'0d8d5c1e-9d0f-4f0e-8a53-0123456789ab'";
    let pairs = lab.pairs(&[&[(Some(1), 1), (Some(2), 2)]]);
    for (at, (column, key, says)) in [
        ("jsonb", "CASE k WHEN 1 THEN '1.0' ELSE '1.00' END", "is a key and jsonb"),
        ("interval", "CASE k WHEN 1 THEN INTERVAL '1 month' ELSE INTERVAL '30 days' END", "a key"),
        ("double precision[]", "make_array(CAST(0 AS DOUBLE) * (k - 2))", "a key and double"),
        ("timestamp(0)", "to_timestamp_micros(k)", "is timestamp(0)"),
        ("char(9)", "CASE k WHEN 1 THEN 'a' ELSE 'a ' END", "the column is char(9)"),
        ("uuid", &format!("CASE k WHEN 1 THEN {uuid} ELSE upper({uuid}) END"), "is a uuid that"),
    ]
    .into_iter()
    .enumerate()
    {
        lab.sql(&format!(
            "DROP TABLE IF EXISTS t; CREATE TABLE t (key {column} UNIQUE NOT NULL, n bigint, \
             query_id uuid, batch_id bigint)"
        ));
        let sql = format!("SELECT {key} AS key, count(*) AS n FROM pairs GROUP BY 1");
        let writer = lab.query(&sql, &format!("q{at}"), OutputMode::Update).await;
        let error = run(writer.sink(lab.sink("t"))).await.expect_err(column).to_string();
        assert!(error.contains(says) && error.contains("key"), "{column}: {error}");
        assert_eq!(lab.sql("SELECT count(*) FROM t"), ["0"]);
    }
    drop(pairs);
}
