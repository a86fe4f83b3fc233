//! Partition keys of every kind: written, read, pruned, overwritten, restored; read and written by
//! other systems.

use std::path::Path;

use crate::support::Folder;
use crate::support::session::Session;
use partwise_testkit::{python, run_python};

/// Text that paths, escaping, globs or other readers trip over.
const TEXTS: &[&str] = &[
    "/", ":", "=", "%", "?", "#", "*", "\"", "'", "\\", "[", "]", "{}", "^", "&", ";", "+", "|",
    "~", "a b", "é", ".", "..", "NULL", "null", "%2F", "a=b/c", "\n", "\u{7f}", "007", "1.50",
    "true",
];

/// A plain `12345678.90` is a float to DataFusion, and not the same number.
const EXACT: &str = "CAST('12345678.90' AS DECIMAL(10, 2))";

/// A type and its values, as SQL writes them and as the path shows them.
const TYPES: &[(&str, &[(&str, &str)])] = &[
    ("TINYINT", &[("-128", "-128"), ("0", "0"), ("127", "127")]),
    ("SMALLINT", &[("-32768", "-32768"), ("0", "0"), ("32767", "32767")]),
    ("INT", &[("-2147483648", "-2147483648"), ("0", "0"), ("7", "7")]),
    ("BIGINT", &[("-9223372036854775807", "-9223372036854775807"), ("0", "0"), ("8", "8")]),
    ("DECIMAL(10, 2)", &[("-0.05", "-0.05"), ("0", "0.00"), (EXACT, "12345678.90")]),
    ("BOOLEAN", &[("true", "true"), ("false", "false")]),
    ("DATE", &[("DATE '0001-01-01'", "0001-01-01"), ("DATE '2024-02-29'", "2024-02-29")]),
    (
        "TIMESTAMP",
        &[
            ("TIMESTAMP '2024-01-01 00:00:00'", "2024-01-01 00:00:00"),
            ("TIMESTAMP '1969-12-31 23:59:59.999999'", "1969-12-31 23:59:59.999999"),
        ],
    ),
];

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The values of a case in SQL, NULL last.
fn all_types() -> Vec<(&'static str, Vec<String>)> {
    let typed = TYPES.iter().map(|(ty, values)| {
        (*ty, values.iter().map(|(sql, _)| (*sql).to_owned()).collect::<Vec<_>>())
    });
    let texts = ("STRING", TEXTS.iter().map(|text| literal(text)).collect());
    let mut all: Vec<_> = std::iter::once(texts).chain(typed).collect();
    all.iter_mut().for_each(|(_, values)| values.push("NULL".to_owned()));
    all
}

/// Makes `table` with one row per value, numbered from 1.
async fn make(session: &Session, table: &str, ty: &str, values: &[String]) {
    let create = format!("CREATE TABLE {table} (n INT, k {ty}) USING parquet PARTITIONED BY (k)");
    let rows = values.iter().enumerate().map(|(n, value)| format!("({}, {value})", n + 1));
    let insert = format!("INSERT INTO {table} VALUES {}", rows.collect::<Vec<_>>().join(", "));
    session.all(&[&create, &insert]).await;
}

fn is(value: &str) -> String {
    if value == "NULL" { "k IS NULL".to_owned() } else { format!("k = {value}") }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_value_of_each_type_is_read_pruned_overwritten_and_restored() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    for (number, (ty, values)) in all_types().iter().enumerate() {
        let table = format!("t{number}");
        make(&session, &table, ty, values).await;
        let everything = format!("SELECT n, k FROM {table} ORDER BY n");
        let before = session.rows(&everything).await;
        assert_eq!(before.len(), values.len());
        for (n, value) in values.iter().enumerate() {
            let what = format!("{ty} {value}");
            let query = format!("SELECT n FROM {table} WHERE {}", is(value));
            assert_eq!(session.rows(&query).await, [(n + 1).to_string()], "{what}");
            let plan = session.rows(&format!("EXPLAIN {query}")).await.join("\n");
            let selected = format!("partitions=1/{}", values.len());
            assert!(plan.contains(&selected), "{what}\n{plan}");
            overwrite(&session, &table, n, value).await;
        }
        let versions = session.rows(&format!("SELECT max(version) FROM history('{table}')")).await;
        assert_eq!(versions, [(2 + values.len()).to_string()], "each is one commit");
        session.all(&[&format!("RESTORE TABLE {table} TO VERSION 2")]).await;
        assert_eq!(session.rows(&everything).await, before, "{ty}");
        let partitions = session.rows(&format!("SHOW PARTITIONS {table}")).await;
        assert_eq!(partitions.len(), values.len(), "{ty}");
    }
}

/// Replaces one partition: as a constant, and as its own row written again.
async fn overwrite(session: &Session, table: &str, n: usize, value: &str) {
    let constant =
        format!("INSERT OVERWRITE {table} PARTITION (k = {value}) SELECT {}", -1 - n as i64);
    session.all(&[&constant]).await;
    let query = format!("SELECT n FROM {table} WHERE {}", is(value));
    assert_eq!(session.rows(&query).await, [format!("-{}", n + 1)], "{value}");
    let rows = session.rows(&format!("SELECT count(*), count(DISTINCT abs(n)) FROM {table}")).await;
    let cells: Vec<&str> = rows[0].split('|').collect();
    assert_eq!(cells[0], cells[1], "{value}");
}

#[tokio::test]
async fn what_others_take_for_null_is_refused_and_nothing_changes() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    make(&session, "t", "STRING", &["'a'".to_owned()]).await;
    for value in ["''", "'__HIVE_DEFAULT_PARTITION__'"] {
        for sql in [
            format!("INSERT INTO t VALUES (2, 'b'), (3, {value})"),
            format!("INSERT INTO t SELECT 3, {value}"),
            format!("INSERT OVERWRITE t PARTITION (k = {value}) SELECT 3"),
            format!("INSERT OVERWRITE t PARTITION (k IN ('a', {value})) SELECT 3, {value}"),
            format!(
                "CREATE TABLE u USING parquet PARTITIONED BY (k) AS SELECT 1 AS n, {value} AS k"
            ),
        ] {
            let error = session.run(&sql).await.expect_err(&sql);
            assert!(error.to_string().contains("NULL"), "{sql}: {error}");
        }
    }
    assert_eq!(session.rows("SELECT * FROM t").await, ["1|a"]);
    assert!(!folder.table("u").exists());
}

/// `n`, a tab, and the key as text with what isn't plain escaped as in Python's ascii().
fn expected() -> Vec<String> {
    let mut lines: Vec<String> =
        TEXTS.iter().enumerate().map(|(n, text)| format!("{}\t{}", n + 1, ascii(text))).collect();
    lines.push(format!("{}\tNone", TEXTS.len() + 1));
    lines
}

/// Python's `json.dumps`, for the few characters used here.
fn ascii(text: &str) -> String {
    let escaped = text.chars().map(|c| match c {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        c if c.is_ascii() && !c.is_ascii_control() => c.to_string(),
        c => format!("\\u{:04x}", c as u32),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// What each script begins with: the tables to read, and the rows of the tree to write.
const HEAD: &str = "
import json, sys
ours, typed, theirs = sys.argv[1], sys.argv[2].split(','), sys.argv[3]
rows = [(n + 1, k) for n, k in enumerate(json.loads(sys.argv[4]))]
def show(found):
    for n, k in sorted(found): print(n, 'None' if k is None else json.dumps(k), sep='\\t')
";
const DUCKDB: &str = "
import duckdb
for path in [ours] + typed:
    show(duckdb.sql(f\"select n, k from read_parquet('{path}/**/*.parquet', hive_partitioning = true, hive_types_autocast = 0)\").fetchall())
duckdb.sql('create table t (n int, k varchar)')
duckdb.executemany('insert into t values (?, ?)', rows)
duckdb.sql(f\"copy t to '{theirs}' (format parquet, partition_by (k))\")
";
const POLARS: &str = "
import polars as pl
for path in [ours] + typed:
    show(pl.scan_parquet(path + '/', hive_schema={'k': pl.String}).select('n', 'k').collect().rows())
pl.DataFrame(rows, schema={'n': pl.Int32, 'k': pl.String}, orient='row').write_parquet(theirs + '/', partition_by='k')
";
const PYARROW: &str = "
import pyarrow as pa, pyarrow.dataset as ds
keys = ds.partitioning(pa.schema([('k', pa.string())]), flavor='hive')
for path in [ours] + typed:
    t = ds.dataset(path, partitioning=keys, format='parquet').to_table()
    show(zip(t['n'].to_pylist(), t['k'].to_pylist()))
t = pa.table({'n': pa.array([n for n, _ in rows], pa.int32()), 'k': pa.array([k for _, k in rows], pa.string())})
ds.write_dataset(t, theirs, format='parquet', partitioning=keys)
";
const SPARK: &str = "
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false')
  .config('spark.driver.bindAddress', '127.0.0.1').config('spark.driver.host', '127.0.0.1')
  .config('spark.sql.sources.partitionColumnTypeInference.enabled', 'false')
  .config('spark.sql.shuffle.partitions', '2').getOrCreate())
spark.sparkContext.setLogLevel('OFF')
for path in [ours] + typed:
    show((r.n, r.k) for r in spark.read.parquet(path).select('n', 'k').collect())
spark.createDataFrame(rows, 'n int, k string').coalesce(1).write.partitionBy('k').parquet(theirs)
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duckdb_polars_pyarrow_and_spark_read_our_keys_and_we_theirs() {
    let Some(python) = python() else { return };
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    let mut typed = Vec::new();
    let mut lines = expected();
    for (number, (ty, values)) in all_types().iter().enumerate() {
        let table = format!("t{number}");
        make(&session, &table, ty, values).await;
        if number > 0 {
            typed.push(folder.table(&table).display().to_string());
            let shown = TYPES[number - 1].1.iter().map(|(_, text)| ascii(text));
            let shown = shown.chain(["None".to_owned()]).enumerate();
            lines.extend(shown.map(|(n, text)| format!("{}\t{text}", n + 1)));
        }
    }
    let ours = folder.table("t0").display().to_string();
    let texts: Vec<String> = TEXTS.iter().map(|text| ascii(text)).collect();
    let rows = format!("[{}, null]", texts.join(", "));
    for (name, script) in
        [("duckdb", DUCKDB), ("polars", POLARS), ("pyarrow", PYARROW), ("spark", SPARK)]
    {
        let theirs = folder.table(name);
        let args = [&ours, &typed.join(","), &theirs.display().to_string(), &rows];
        let args = args.map(String::as_str);
        let said = run_python(&python, &format!("{HEAD}{script}"), &args);
        let said: Vec<&str> = said.lines().collect();
        assert_eq!(said, lines, "{name}");
        check_theirs(&session, name, &theirs).await;
    }
}

/// Another system's tree: read, pruned, one partition after the other replaced, the rest kept.
async fn check_theirs(session: &Session, name: &str, tree: &Path) {
    let own = session.rows("SELECT n, k FROM t0 ORDER BY n").await;
    let all = format!("SELECT n, k FROM {name} ORDER BY n");
    assert_eq!(session.rows(&all).await, own, "{name}");
    let directories = || std::fs::read_dir(tree).expect("the tree").count();
    let (before, count) = (directories(), TEXTS.len() + 1);
    for n in [0, 3, 6, 9, 19, 20, 25, TEXTS.len()] {
        let value = TEXTS.get(n).map_or_else(|| "NULL".to_owned(), |text| literal(text));
        let query = format!("SELECT n FROM {name} WHERE {}", is(&value));
        assert_eq!(session.rows(&query).await, [(n + 1).to_string()], "{name} {value}");
        let plan = session.rows(&format!("EXPLAIN {query}")).await.join("\n");
        assert!(plan.contains(&format!("partitions=1/{count}")), "{name} {value}\n{plan}");
        session.all(&[&format!("INSERT OVERWRITE {name} SELECT {}, {value}", n + 1)]).await;
    }
    assert_eq!(session.rows(&all).await, own, "{name}");
    // Into the directories there are; a new one is only the marker of our log, and _SUCCESS.
    assert!(directories() <= before + 2, "{name}");
}
