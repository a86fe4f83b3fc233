//! Other systems read the trees: before, while a write is staged, and after one that was killed.

use std::path::Path;

use crate::crash::{Held, hold_a_write};
use crate::support::Folder;
use crate::support::job::*;
use partwise_testkit::{python, run_python};

/// Prints `buckets,trips,revenue` and the column types as each reader sees them.
const DUCKDB: &str = "
import duckdb, sys
q = f\"from read_parquet('{sys.argv[1]}/**/*.parquet', hive_partitioning = true)\"
ask = lambda sql: duckdb.connect().execute(sql + ' ' + q).fetchall()
print(*ask('select count(*), sum(trips), cast(sum(revenue) as decimal(18, 2))')[0], sep=',')
print([row[1] for row in ask('describe select zone, pickup_hour, trips, revenue, pickup_month')])
";
const POLARS: &str = "
import polars as pl, sys
t = pl.scan_parquet(sys.argv[1] + '/', hive_partitioning=True)
r = t.select(pl.len(), pl.col('trips').sum(), pl.col('revenue').sum().round(2)).collect().row(0)
print(f'{r[0]},{r[1]},{r[2]:.2f}')
print([str(t.collect_schema()[c]) for c in ('zone', 'pickup_hour', 'trips', 'revenue')])
";
const PYARROW: &str = "
import pyarrow.dataset as ds, pyarrow.compute as pc, sys
t = ds.dataset(sys.argv[1], partitioning='hive', format='parquet').to_table()
print(f\"{t.num_rows},{pc.sum(t['trips']).as_py()},{pc.sum(t['revenue']).as_py():.2f}\")
print([str(t.schema.field(c).type) for c in ('zone', 'pickup_hour', 'trips', 'revenue', 'pickup_month')])
";
const SPARK: &str = "
import sys
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false')
  .config('spark.driver.bindAddress', '127.0.0.1').config('spark.driver.host', '127.0.0.1')
  .config('spark.sql.shuffle.partitions', '2').getOrCreate())
spark.sparkContext.setLogLevel('OFF')
for path in sys.argv[1:]:
    t = spark.read.parquet(path)
    r = t.selectExpr('count(*)', 'sum(trips)', 'cast(sum(revenue) as decimal(18, 2))').collect()[0]
    print(*r, sep=',')
    print([t.schema[c].dataType.simpleString() for c in ('zone', 'pickup_hour', 'trips', 'revenue')])
";

/// Each fast reader's totals and types.
fn check_fast_readers(table: &Path) {
    let Some(python) = python() else { return };
    let types = [
        (DUCKDB, "['INTEGER', 'TIMESTAMP', 'BIGINT', 'DOUBLE', 'VARCHAR']"),
        (POLARS, "['Int32', \"Datetime(time_unit='us', time_zone=None)\", 'Int64', 'Float64']"),
        (PYARROW, "['int32', 'timestamp[us]', 'int64', 'double', 'string']"),
    ];
    for (script, types) in types {
        let out = run_python(&python, script, &[&table.display().to_string()]);
        assert_eq!(out, format!("{}\n{types}", published_totals()), "{script}");
    }
}

#[test]
fn duckdb_polars_and_pyarrow_read_the_tree_also_while_a_write_is_staged_and_after_a_kill() {
    let folder = reported();
    check_fast_readers(&folder.table("report"));
    let held = hold_a_write(&folder);
    check_fast_readers(&folder.table("report"));
    held.kill();
    check_fast_readers(&folder.table("report"));
}

#[test]
fn spark_reads_the_tree_also_while_a_write_is_staged_and_after_a_kill() {
    let Some(python) = python() else { return };
    let calm = reported();
    let killed = reported();
    hold_a_write(&killed).kill();
    let staged = reported();
    let held: Held = hold_a_write(&staged);
    let paths: Vec<String> = [&calm, &staged, &killed]
        .iter()
        .map(|folder: &&Folder| folder.table("report").display().to_string())
        .collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let out = run_python(&python, SPARK, &paths);
    held.kill();
    let each = format!("{}\n['int', 'timestamp_ntz', 'bigint', 'double']", published_totals());
    assert_eq!(out, [each.as_str(); 3].join("\n"));
}
