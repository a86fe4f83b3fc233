use std::collections::BTreeMap;

use datafusion::arrow::array::{AsArray, Int64Array, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type};
use partwise_commit::PartitionValue;

use super::*;

fn schema() -> TableSchema {
    let arrow = Schema::new(vec![
        Field::new("v", DataType::Int64, true),
        Field::new("p", DataType::Utf8, true),
        Field::new("q", DataType::Int64, true),
    ]);
    TableSchema::new(Arc::new(arrow), vec!["q".into(), "p".into()]).expect("schema")
}

fn batch(rows: &[(i64, Option<&str>, Option<i64>)]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(StringArray::from_iter(rows.iter().map(|row| row.1))),
        Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.2))),
    ];
    RecordBatch::try_new(Arc::clone(schema().arrow()), columns).expect("batch")
}

/// The values of `v` by key, in the order the pieces hold them.
fn contents(demux: &Demux, pieces: Vec<Piece>) -> BTreeMap<PartitionKey, Vec<i64>> {
    let mut contents: BTreeMap<PartitionKey, Vec<i64>> = BTreeMap::new();
    for piece in pieces {
        assert_eq!(piece.rows.schema(), *schema().file_schema());
        let values = piece.rows.column(0).as_primitive::<Int64Type>().values();
        contents.entry(demux.keys()[piece.group].clone()).or_default().extend(values.iter());
    }
    contents
}

fn split(batches: &[RecordBatch], pool_bytes: usize) -> BTreeMap<PartitionKey, Vec<i64>> {
    let mut demux = Demux::new(&schema(), pool_bytes).expect("demux");
    let mut pieces = Vec::new();
    for batch in batches {
        pieces.extend(demux.push(batch).expect("pushed"));
    }
    pieces.extend(demux.drain().expect("drained"));
    contents(&demux, pieces)
}

fn key(q: Option<i64>, p: Option<&str>) -> PartitionKey {
    let q = q.map_or(PartitionValue::Null, PartitionValue::Int);
    let p = p.map_or(PartitionValue::Null, |text| PartitionValue::Text(text.to_owned()));
    PartitionKey::new(vec![q, p])
}

#[test]
fn null_zero_and_text_are_apart() {
    let rows = [(1, None, Some(0)), (2, Some("a"), None), (3, None, None), (4, None, Some(0))];
    let contents = split(&[batch(&rows)], 1 << 20);
    assert_eq!(contents[&key(Some(0), None)], [1, 4]);
    assert_eq!(contents[&key(None, Some("a"))], [2]);
    assert_eq!(contents[&key(None, None)], [3]);
}

#[test]
fn any_order_of_rows_gives_each_partition_its_rows_in_order() {
    let names: Vec<String> = (0..40).map(|p| format!("p{p}")).collect();
    let row = |v: i64, p: i64| (v, Some(names[p as usize].as_str()), Some(p % 7));
    let orders: [Vec<i64>; 4] = [
        (0..40_000).map(|v| v / 1000).collect(),
        (0..40_000).map(|v| v % 40).collect(),
        (0..40_000).map(|v| (v * v + 3 * v) % 40).collect(),
        (0..40_000).map(|v| if v % 97 == 0 { v % 40 } else { v / 10_000 }).collect(),
    ];
    for order in orders {
        let rows: Vec<_> = order.iter().zip(0..).map(|(&p, v)| row(v, p)).collect();
        let mut expected: BTreeMap<PartitionKey, Vec<i64>> = BTreeMap::new();
        for (v, p, q) in &rows {
            expected.entry(key(*q, *p)).or_default().push(*v);
        }
        for batch_rows in [100, 8192] {
            let batches: Vec<_> = rows.chunks(batch_rows).map(batch).collect();
            for pool_bytes in [1, 100_000, 1 << 30] {
                let mut found = split(&batches, pool_bytes);
                found.values_mut().for_each(|values| values.sort_unstable());
                assert_eq!(found, expected);
            }
        }
    }
}

#[test]
fn rows_in_partition_order_are_not_copied() {
    let rows: Vec<_> = (0..8192).map(|v| (v, Some("a"), Some(v / 4096))).collect();
    let batch = batch(&rows);
    let mut demux = Demux::new(&schema(), 1 << 20).expect("demux");
    let pieces = demux.push(&batch).expect("pushed");
    assert_eq!(pieces.len(), 2);
    let address =
        |batch: &RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().as_ptr();
    assert_eq!(address(&pieces[0].rows), address(&batch));
}

#[test]
fn a_sorted_input_gathers_nothing() {
    let rows: Vec<_> = (0..100).map(|v| (v, Some("a"), Some(v))).collect();
    let mut demux = Demux::new(&schema(), 1 << 20).expect("demux");
    demux.expect_sorted();
    assert_eq!(demux.push(&batch(&rows)).expect("pushed").len(), 100);
    assert_eq!(demux.pooled_bytes(), 0);
}

#[test]
fn a_value_that_other_readers_take_for_null_is_refused() {
    for text in ["", "__HIVE_DEFAULT_PARTITION__"] {
        let mut demux = Demux::new(&schema(), 1 << 20).expect("demux");
        let error = demux.push(&batch(&[(1, Some(text), Some(1))])).expect_err("refused");
        assert!(error.to_string().contains("partition column p"), "{error}");
    }
}

#[test]
fn without_partition_columns_everything_is_one_group() {
    let arrow = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, true)]));
    let schema = TableSchema::new(Arc::clone(&arrow), vec![]).expect("schema");
    let mut demux = Demux::new(&schema, 1).expect("demux");
    let rows = RecordBatch::try_new(arrow, vec![Arc::new(Int64Array::from(vec![1, 2]))]);
    let pieces = demux.push(&rows.expect("batch")).expect("pushed");
    assert_eq!((pieces.len(), pieces[0].group, pieces[0].rows.num_rows()), (1, 0, 2));
}
