//! ADD COLUMN as other systems see it.

use crate::support::Folder;
use crate::support::session::Session;
use partwise_testkit::{python, run_python};

/// Each prints rows, the sum of an old column, the sum and the values of the new one.
const DUCKDB: &str = "
import duckdb, sys
print(*duckdb.connect().execute(f\"\"\"select count(*), sum(v), sum(w), count(w)
  from read_parquet('{sys.argv[1]}/**/*.parquet', hive_partitioning = true, union_by_name = true)\"\"\").fetchone())
";
const POLARS: &str = "
import polars as pl, sys
schema = {'v': pl.Int32, 'w': pl.Int64, 'dt': pl.String}
t = pl.scan_parquet(sys.argv[1] + '/', hive_partitioning=True, schema=schema, missing_columns='insert')
print(*t.select(pl.len(), pl.sum('v').alias('sum_v'), pl.sum('w').alias('sum_w'), pl.count('w').alias('n')).collect().row(0))
";
const PYARROW: &str = "
import pyarrow as pa, pyarrow.dataset as ds, pyarrow.compute as pc, sys
found = ds.dataset(sys.argv[1], partitioning='hive', format='parquet')
schema = pa.unify_schemas([found.schema] + [f.physical_schema for f in found.get_fragments()])
t = ds.dataset(sys.argv[1], partitioning='hive', format='parquet', schema=schema).to_table()
print(t.num_rows, pc.sum(t['v']), pc.sum(t['w']), pc.count(t['w']))
";
const SPARK: &str = "
import sys
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false')
  .config('spark.driver.bindAddress', '127.0.0.1').config('spark.driver.host', '127.0.0.1')
  .config('spark.sql.shuffle.partitions', '2').getOrCreate())
spark.sparkContext.setLogLevel('OFF')
t = spark.read.option('mergeSchema', 'true').parquet(sys.argv[1])
print(*t.selectExpr('count(*)', 'sum(v)', 'sum(w)', 'count(w)').collect()[0])
";

#[test]
fn other_readers_find_the_new_column_where_it_is_and_null_where_it_is_not() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder
        .sql(
            "CREATE TABLE t (v INT, dt STRING) USING parquet PARTITIONED BY (dt);
             INSERT INTO t VALUES (1, 'd1'), (2, 'd2');
             ALTER TABLE t ADD COLUMN w BIGINT;
             INSERT INTO t VALUES (3, 'd1', 30), (4, 'd3', 40)",
        )
        .ok();
    assert_eq!(folder.row("SELECT count(*), sum(v), sum(w), count(w) FROM t"), "4,10,70,2");
    let path = folder.table("t").display().to_string();
    for script in [DUCKDB, POLARS, PYARROW, SPARK] {
        assert_eq!(run_python(&python, script, &[&path]), "4 10 70 2", "{script}");
    }
    // Once every file has the column, nobody has to be told.
    folder.sql("INSERT OVERWRITE t SELECT * FROM t").ok();
    let plain = DUCKDB.replace(", union_by_name = true", "");
    assert_eq!(run_python(&python, &plain, &[&path]), "4 10 70 2");
}

const FOREIGN: &str = "
import pyarrow as pa, pyarrow.dataset as ds, sys
t = pa.table({'v': [1, 2, 3], 'dt': ['a', 'b', 'b']})
ds.write_dataset(t, sys.argv[1], format='parquet', partitioning=['dt'], partitioning_flavor='hive')
";

#[test]
fn a_tree_of_another_tool_gets_a_log_with_its_new_column() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    std::fs::create_dir_all(folder.table("t")).expect("the lake");
    run_python(&python, FOREIGN, &[&folder.table("t").display().to_string()]);
    let said = folder.sql("ALTER TABLE t ADD COLUMN w INT").ok().out;
    assert!(said.contains("version 1: added w INT, no file touched"), "{said}");
    folder.sql("INSERT INTO t (w, v, dt) VALUES (7, 4, 'b')").ok();
    assert_eq!(folder.row("SELECT count(*), sum(v), sum(w), count(w) FROM t"), "4,10,7,1");
}

#[test]
fn the_definition_has_the_new_columns_and_properties() {
    let folder = Folder::new();
    let definition = folder.sql(
        "CREATE TABLE t (v INT, dt STRING) USING parquet PARTITIONED BY (dt);
         ALTER TABLE t ADD COLUMN w DECIMAL(10, 2);
         ALTER TABLE t ALTER COLUMN v TYPE BIGINT;
         ALTER TABLE t SET TBLPROPERTIES ('sort_by' = 'w');
         SHOW CREATE TABLE t",
    );
    let said = definition.ok().out;
    for line in ["  v BIGINT,", "  dt STRING,", "  w DECIMAL(10,2) ", "OPTIONS ('sort_by' 'w')"] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn columns_are_added_while_another_session_writes() {
    let folder = Folder::new();
    folder.sql("CREATE TABLE t (v INT, dt STRING) USING parquet PARTITIONED BY (dt)").ok();
    let mut appends = folder.partwise();
    let insert = "INSERT INTO t (v, dt) VALUES (1, 'd1');".repeat(20);
    let mut appends = appends.args(["-q", "-c", &insert]).spawn().expect("another process");
    for column in 0..5 {
        folder.sql(&format!("ALTER TABLE t ADD COLUMN w{column} INT")).ok();
    }
    assert!(appends.wait().expect("the other process").success());
    assert_eq!(folder.row("SELECT count(*), sum(v), count(w4) FROM t"), "20,20,0");
    assert_eq!(folder.rows("DESCRIBE t").len(), 7);
}

#[test]
fn a_table_by_its_location_has_the_new_column_in_its_session() {
    let folder = Folder::new();
    let rows = folder.rows(
        "CREATE TABLE t (v INT, dt STRING) USING parquet PARTITIONED BY (dt) LOCATION 'there/';
         INSERT INTO t VALUES (1, 'd1');
         CREATE TABLE u (v BIGINT, dt STRING) PARTITIONED BY (dt) LOCATION 'there/';
         ALTER TABLE u ADD COLUMN w INT;
         INSERT INTO u VALUES (2, 'd1', 5);
         SELECT * FROM u ORDER BY v",
    );
    assert_eq!(rows, ["1,d1,", "2,d1,5"]);
    assert_eq!(folder.rows("SELECT v, w FROM 'there/' ORDER BY v"), ["1,", "2,5"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_and_prepared_statements_keep_their_columns() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    session
        .all(&[
            "CREATE TABLE t (v INT, dt STRING) USING parquet PARTITIONED BY (dt)",
            "INSERT INTO t VALUES (1, 'd1')",
            "CREATE VIEW w AS SELECT * FROM t WHERE dt <> 'd9'",
            "PREPARE q AS SELECT v, dt FROM t WHERE dt = $1",
            "ALTER TABLE t ADD COLUMN x INT",
            "INSERT INTO t VALUES (2, 'd2', 7)",
        ])
        .await;
    assert_eq!(session.rows("SELECT * FROM w ORDER BY v").await, ["1|d1", "2|d2"]);
    assert_eq!(session.rows("EXECUTE q('d2')").await, ["2|d2"]);
    session.all(&["CREATE OR REPLACE TABLE t USING parquet AS SELECT 'a' AS v"]).await;
    let error = session.run("SELECT * FROM w").await.expect_err("other columns").to_string();
    assert!(error.contains("make a view or prepared statement over it anew"), "{error}");
}

const ODD: &str = "
import pyarrow as pa, pyarrow.dataset as ds, sys
t = pa.table({'u': pa.array([200], pa.uint8()), 'n': pa.array([7], pa.uint64()), 'h': pa.array([1.5], pa.float32()),
  't': pa.array([0], pa.timestamp('ns')), 'w': pa.array(['x']), 'dt': ['a']})
ds.write_dataset(t, sys.argv[1], format='parquet', partitioning=['dt'], partitioning_flavor='hive',
  existing_data_behavior='overwrite_or_ignore')
";

#[test]
fn a_column_that_another_tool_has_put_in_is_added_with_its_type() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    folder.sql("CREATE TABLE t (v INT, dt STRING) USING parquet PARTITIONED BY (dt)").ok();
    run_python(&python, ODD, &[&folder.table("t").display().to_string()]);
    let words = ["another tool", "w STRING", "fit into INT", "another name"];
    folder.sql("ALTER TABLE t ADD COLUMN w INT").fails(1, &words);
    folder.sql("ALTER TABLE t ADD COLUMN w STRING; ALTER TABLE t ADD COLUMN z INT").ok();
    assert_eq!(folder.rows("SELECT v, w, z, dt FROM t"), [",x,,a"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_definition_of_a_tree_of_another_tool_runs() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    std::fs::create_dir_all(folder.table("t")).expect("the lake");
    run_python(&python, ODD, &[&folder.table("t").display().to_string()]);
    let session = Session::open(&folder).await;
    let made = session.rows("SHOW CREATE TABLE t").await.remove(0);
    let from = made.find("CREATE TABLE t").expect("a definition");
    let other = made[from..].replace("CREATE TABLE t", "CREATE TABLE o");
    session.all(&[&other, "INSERT INTO o SELECT * FROM t"]).await;
    assert_eq!(session.rows("SELECT u, n, h, w, dt FROM o").await, ["200|7|1.5|x|a"]);
}

#[test]
fn what_an_alter_or_a_restore_did_is_told() {
    let folder = Folder::new();
    folder
        .sql(
            "CREATE TABLE t (v INT, p STRING) USING parquet PARTITIONED BY (p);
             INSERT INTO t VALUES (1, 'x'), (2, 'y'); ALTER TABLE t ADD COLUMN b BINARY",
        )
        .ok();
    let said = folder.sql("RESTORE TABLE t TO VERSION AS OF 2").ok().out;
    assert!(said.contains("columns v, p again"), "{said}");
    let several = "ALTER TABLE t ALTER COLUMN v TYPE BIGINT, ALTER COLUMN p TYPE STRING";
    folder.sql(several).fails(1, &["an ALTER TABLE for each"]);
    let other = "CREATE OR REPLACE TABLE t PARTITIONED BY (v) AS SELECT 1 AS k, 'a' AS v";
    let said = folder.sql(other).ok().out;
    assert!(said.contains("emptied 2 partitions,"), "{said}");
}
