//! NaN and the two zeros: statistics and bloom filters don't tell of them, answers do.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch};
use datafusion::prelude::SessionContext;
use parquet::file::properties::WriterProperties;

use crate::kit::{Tree, figure, query, session_with};

const NAN: f64 = f64::NAN;

/// A directory per list of values, the same as `x` and, in single precision, as `f`.
fn tree() -> Tree {
    let tree = Tree::new();
    let lists: [&[f64]; 7] = [
        &[1.0, NAN],
        &[1.0, -NAN],
        &[NAN],
        &[-0.0, -0.0],
        &[0.0],
        &[f64::INFINITY, 1.0],
        &[3.0, 4.0],
    ];
    let properties = WriterProperties::builder().set_bloom_filter_enabled(true).build();
    for (p, values) in lists.into_iter().enumerate() {
        tree.file_with(&format!("p={p}/f.parquet"), &floats(values), properties.clone());
    }
    tree
}

fn floats(values: &[f64]) -> RecordBatch {
    let x: ArrayRef = Arc::new(Float64Array::from_iter_values(values.iter().copied()));
    let single = values.iter().map(|value| *value as f32);
    let f: ArrayRef = Arc::new(Float32Array::from_iter_values(single));
    RecordBatch::try_from_iter([("x", x), ("f", f)]).unwrap()
}

async fn sessions(tree: &Tree, late: bool) -> (SessionContext, SessionContext) {
    let with = |table, prune| {
        session_with(table, prune, |config| {
            config.options_mut().execution.parquet.pushdown_filters = late;
        })
    };
    let table = tree.open().await;
    (with(table.clone(), true), with(table, false))
}

#[tokio::test]
async fn what_statistics_leave_out_is_found() {
    let tree = tree();
    for late in [false, true] {
        let (pruned, unpruned) = sessions(&tree, late).await;
        for column in ["x", "f"] {
            for condition in [
                "# > 5",
                "# >= 5",
                "5 < #",
                "# < 0",
                "# <= -1",
                "# <> 1",
                "# NOT IN (1, 3)",
                "# = 'NaN'",
                "# >= CAST('NaN' AS DOUBLE)",
                "NOT (# < 5)",
                "NOT (# > 0)",
                "# NOT BETWEEN 0 AND 4",
                "# IS DISTINCT FROM 1",
                "-# > 5",
                "# + 1 > 6",
                "# > 5 OR # = 3",
                "# = 0",
                "# = -0.0",
                "# IN (-0.0, 7)",
                "# > 2 AND # < 3.5",
                "# BETWEEN 3 AND 4",
                "# = 3",
                "# IS NULL",
                "# > (SELECT 5)",
                "# = (SELECT -0.0)",
            ] {
                let condition = condition.replace('#', column);
                let sql = format!("SELECT p, {column} FROM t WHERE {condition}");
                let expected = query(&unpruned, &sql).await;
                assert_eq!(query(&pruned, &sql).await, expected, "{condition}, late: {late}");
            }
        }
    }
}

#[tokio::test]
async fn what_only_numbers_fulfil_is_still_asked_of_statistics() {
    let tree = Tree::new();
    for (p, values) in [[1.0, 2.0], [3.0, 4.0], [8.0, 9.0]].iter().enumerate() {
        tree.file(&format!("p={p}/f.parquet"), &floats(values));
    }
    let (pruned, _) = sessions(&tree, false).await;
    for (condition, rows_read) in [
        ("x = 4", 2),
        ("x IN (3, 4)", 2),
        ("x > 2 AND x < 3.5", 2),
        ("f BETWEEN 3 AND 4", 2),
        ("(x > 2 AND x < 3.5) OR f = 9", 4),
        ("x > 2 AND x < 3.5 AND f < 4", 2),
        ("x < 3.5", 6),
    ] {
        let sql = format!("SELECT p, x FROM t WHERE {condition}");
        assert_eq!(figure(&pruned, &sql, "rows_read").await, rows_read, "{condition}");
    }
}

#[tokio::test]
async fn orders_and_joins_see_every_value() {
    let tree = tree();
    for late in [false, true] {
        let (pruned, unpruned) = sessions(&tree, late).await;
        for context in [&pruned, &unpruned] {
            context.sql("CREATE TABLE k AS SELECT -0.0 AS z, 'NaN'::double AS n").await.unwrap();
        }
        for sql in [
            "SELECT x FROM t ORDER BY x LIMIT 1",
            "SELECT x FROM t ORDER BY x DESC LIMIT 3",
            "SELECT min(x), max(x), min(f), max(f) FROM t",
            "SELECT t.p FROM t JOIN k ON t.x = k.z",
            "SELECT t.p FROM t JOIN k ON t.x = k.n",
            "SELECT t.p FROM t WHERE x IN (SELECT z FROM k)",
        ] {
            let expected = query(&unpruned, sql).await;
            assert_eq!(query(&pruned, sql).await, expected, "{sql}, late: {late}");
        }
    }
}

#[tokio::test]
async fn a_limit_is_not_taken_from_rows_that_do_not_match() {
    let tree = Tree::new();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(4)).build();
    let x: ArrayRef = Arc::new(Float64Array::from(vec![1.0, NAN, NAN, NAN, 2.0, 2.0, 9.0, 9.0]));
    let v: ArrayRef = Arc::new(Int64Array::from_iter_values(0..8));
    let batch = RecordBatch::try_from_iter([("x", x), ("v", v)]).unwrap();
    tree.file_with("p=1/f.parquet", &batch, properties);
    let (late, _) = sessions(&tree, true).await;
    let sql = "SELECT v FROM t WHERE x BETWEEN 0 AND 5 LIMIT 3";
    assert_eq!(query(&late, sql).await, ["0", "4", "5"]);
}
