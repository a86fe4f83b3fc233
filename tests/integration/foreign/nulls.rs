//! NULL, 0 and 5 as partitions of each tool, of a whole number, a day, a boolean and a text.

use crate::support::Folder;
use crate::support::pair::Pair;
use partwise_testkit::{python, run_python};

const ROWS: &str = "
import sys, datetime
lake = sys.argv[1]
names, columns = ['i', 'd', 'b', 's'], {
  'i': [0, 5, None, 5], 'd': [datetime.date(2024, 1, 15), datetime.date(1969, 12, 31), None, None],
  'b': [True, False, None, True], 's': ['x', 'y z', None, 'a/b']}
";

const PYARROW: &str = "
import pyarrow as pa, pyarrow.dataset as ds
for k in names:
    t = pa.table({'n': [1, 2, 3, 4], k: columns[k]})
    keys = ds.partitioning(pa.schema([t.schema.field(k)]), flavor='hive')
    ds.write_dataset(t, f'{lake}/pyarrow_{k}', format='parquet', partitioning=keys)
";
const DUCKDB: &str = "
import duckdb
types = {'i': 'int', 'd': 'date', 'b': 'boolean', 's': 'varchar'}
for k in names:
    duckdb.sql(f'create or replace table t (n int, {k} {types[k]})')
    duckdb.executemany('insert into t values (?, ?)', list(zip([1, 2, 3, 4], columns[k])))
    duckdb.sql(f\"copy t to '{lake}/duckdb_{k}' (format parquet, partition_by ({k}))\")
";
const POLARS: &str = "
import polars as pl
for k in names:
    pl.DataFrame({'n': [1, 2, 3, 4], k: columns[k]}).write_parquet(f'{lake}/polars_{k}/', partition_by=k)
";
const SPARK: &str = "
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false')
  .config('spark.driver.bindAddress', '127.0.0.1').config('spark.driver.host', '127.0.0.1')
  .config('spark.sql.parquet.outputTimestampType', 'INT96')
  .config('spark.sql.shuffle.partitions', '2').getOrCreate())
spark.sparkContext.setLogLevel('OFF')
types = {'i': 'int', 'd': 'date', 'b': 'boolean', 's': 'string'}
for k in names:
    t = spark.createDataFrame(list(zip([1, 2, 3, 4], columns[k])), f'n int, {k} {types[k]}')
    t.coalesce(1).write.partitionBy(k).parquet(f'{lake}/spark_{k}')
stamps = [('0001-01-01 00:00:00', 1), ('2024-01-15 10:00:00.000001', 1), ('9999-12-31 23:59:59.999999', 2)]
spark.conf.set('spark.sql.session.timeZone', 'UTC')
spark.conf.set('spark.sql.parquet.int96RebaseModeInWrite', 'CORRECTED')
spark.createDataFrame(stamps, 's string, p int').selectExpr('cast(s as timestamp) t', 'p').coalesce(1).write.partitionBy('p').parquet(f'{lake}/int96')
";

/// Each condition and the rows that it finds.
const CONDITIONS: &[(&str, &str, &[&str])] = &[
    ("i", "i = 0", &["1"]),
    ("i", "i = 5", &["2", "4"]),
    ("i", "i IS NULL", &["3"]),
    ("i", "i < 5", &["1"]),
    ("i", "i NOT IN (5)", &["1"]),
    ("d", "d = DATE '2024-01-15'", &["1"]),
    ("d", "d < '1970-01-01'", &["2"]),
    ("d", "d IS NULL", &["3", "4"]),
    ("b", "lower(b) = 'true'", &["1", "4"]),
    ("b", "b IS NULL", &["3"]),
    ("s", "s = 'x'", &["1"]),
    ("s", "s = 'y z'", &["2"]),
    ("s", "s = 'a/b'", &["4"]),
    ("s", "s IS NULL", &["3"]),
    ("s", "s IS NOT NULL", &["1", "2", "4"]),
];

async fn check(pair: &Pair, tool: &str) {
    for (key, condition, rows) in CONDITIONS {
        let query = format!("SELECT n FROM {tool}_{key} WHERE {condition}");
        assert_eq!(pair.same(&query).await, *rows, "{query}");
    }
    let types = pair.one(&format!("SELECT DISTINCT arrow_typeof(i) FROM {tool}_i")).await;
    assert_eq!(types, "Int32", "{tool}");
    // Nothing tells a boolean from a text that looks like one, but a declaration.
    let sql = format!(
        "CREATE EXTERNAL TABLE flags (n BIGINT, b BOOLEAN) STORED AS PARQUET PARTITIONED BY (b) \
         LOCATION '{}'",
        pair.folder.table(&format!("{tool}_b")).display()
    );
    for session in [&pair.pruned, &pair.unpruned] {
        session.all(&[&sql]).await;
    }
    assert_eq!(pair.same("SELECT n FROM flags WHERE b").await, ["1", "4"]);
    assert_eq!(pair.same("SELECT n FROM flags WHERE NOT b").await, ["2"]);
    assert_eq!(pair.same("SELECT n FROM flags WHERE b IS NULL").await, ["3"]);
}

async fn written_by(script: &str) -> Option<Pair> {
    let python = python()?;
    let folder = Folder::new();
    let lake = folder.lake();
    std::fs::create_dir_all(&lake).expect("the lake");
    run_python(&python, &format!("{ROWS}{script}"), &[&lake.display().to_string()]);
    Some(Pair::on(folder).await)
}

#[tokio::test]
async fn of_pyarrow() {
    let Some(pair) = written_by(PYARROW).await else { return };
    check(&pair, "pyarrow").await;
}

#[tokio::test]
async fn of_duckdb() {
    let Some(pair) = written_by(DUCKDB).await else { return };
    check(&pair, "duckdb").await;
}

#[tokio::test]
async fn of_polars() {
    let Some(pair) = written_by(POLARS).await else { return };
    check(&pair, "polars").await;
}

#[tokio::test]
async fn of_spark_and_its_int96() {
    let Some(pair) = written_by(SPARK).await else { return };
    check(&pair, "spark").await;
    for (condition, rows) in [
        ("t < '1900-01-01'", 1),
        ("t = '2024-01-15 10:00:00.000001'", 1),
        ("t > '2024-01-15'", 2),
        ("t > '2200-01-01'", 1),
        ("p = 2", 1),
    ] {
        let query = format!("SELECT t FROM int96 WHERE {condition}");
        assert_eq!(pair.same(&query).await.len(), rows, "{query}");
    }
    let ends = pair.one("SELECT min(t), max(t) FROM int96").await;
    assert_eq!(ends, "0001-01-01T00:00:00|9999-12-31T23:59:59.999999");
}
