//! Files that differ, and what lies about beside them.

use crate::support::Folder;
use crate::support::pair::Pair;
use partwise_testkit::{python, run_python};

const MAKE: &str = "
import os, sys, datetime, decimal, pyarrow as pa, pyarrow.parquet as pq
lake = sys.argv[1]
def write(path, columns, **options):
    path = f'{lake}/{path}'
    os.makedirs(os.path.dirname(path), exist_ok=True)
    pq.write_table(pa.table(columns), path, **options)
def array(ty, *values): return pa.array(list(values), ty)
D = decimal.Decimal
micro, day = pa.timestamp('us'), datetime.datetime(2024, 1, 15, 10)
";

const WIDENED: &str = "
write('t/p=1/a.parquet', {
  'i': array(pa.int32(), 1, -1), 'f': array(pa.float32(), 1.5, 2.5), 'd': array(pa.decimal128(9, 2), D('1.50'), None),
  'u': array(pa.uint32(), 1, 4000000000), 'ts': array(pa.timestamp('ms'), 1000, 2000),
  's': array(pa.large_string(), 'x', 'y'), 'c': pa.array(['x', 'y']).dictionary_encode(),
  'l': array(pa.list_(pa.int32()), [1], [2, 3]), 'm': array(pa.map_(pa.string(), pa.int32()), [('k', 1)], []),
  'st': array(pa.struct([('a', pa.int32())]), {'a': 1}, {'a': 2}), 'only': array(pa.int8(), 7, None)})
write('t/p=2/b.parquet', {
  'i': array(pa.int64(), 1 << 40, 2), 'f': array(pa.float64(), 0.1, 3), 'd': array(pa.decimal128(18, 4), D('99.0625'), None),
  'u': array(pa.int64(), -1, 5), 'ts': array(micro, 1000, 3000000), 's': array(pa.string(), 'x', None),
  'c': array(pa.string(), 'x', None), 'l': array(pa.list_(pa.int64()), [1 << 40], None),
  'm': array(pa.map_(pa.string(), pa.int64()), [('k', 1 << 40)], None),
  'st': array(pa.struct([('a', pa.int64()), ('b', pa.string())]), {'a': 1 << 40, 'b': 'new'}, None)})
";

async fn made(script: &str) -> Option<Pair> {
    let python = python()?;
    let folder = Folder::new();
    let lake = folder.lake();
    std::fs::create_dir_all(&lake).expect("the lake");
    run_python(&python, &format!("{MAKE}{script}"), &[&lake.display().to_string()]);
    Some(Pair::on(folder).await)
}

#[tokio::test]
async fn a_wider_type_of_another_file_is_the_tables() {
    let Some(pair) = made(WIDENED).await else { return };
    for (columns, condition, rows) in [
        ("i", "i = 1", vec!["1"]),
        ("i", "i > 1", vec!["1099511627776", "2"]),
        ("f", "f = 1.5", vec!["1.5"]),
        ("f", "f BETWEEN 0 AND 2", vec!["0.1", "1.5"]),
        ("d", "d = 1.5", vec!["1.5000"]),
        ("d", "d > 2", vec!["99.0625"]),
        ("u", "u > 3", vec!["4000000000", "5"]),
        ("u", "u < 0", vec!["-1"]),
        ("ts", "ts = '1970-01-01 00:00:02'", vec!["1970-01-01T00:00:02"]),
        ("ts", "ts < '1970-01-01 00:00:01'", vec!["1970-01-01T00:00:00.001"]),
        ("p", "s = 'x'", vec!["1", "2"]),
        ("p", "c = 'x'", vec!["1", "2"]),
        ("p", "only IS NULL", vec!["1", "2", "2"]),
        ("only", "only = 7", vec!["7"]),
        ("l", "l IS NOT NULL", vec!["[1099511627776]", "[1]", "[2, 3]"]),
        ("m['k']", "m IS NOT NULL", vec!["1", "1099511627776", "NULL"]),
        ("st['a'], st['b']", "st IS NOT NULL", vec!["1099511627776|new", "1|NULL", "2|NULL"]),
        ("i", "st['a'] = 2", vec!["-1"]),
        ("i", "st['b'] = 'new'", vec!["1099511627776"]),
    ] {
        let query = format!("SELECT {columns} FROM t WHERE {condition}");
        assert_eq!(pair.same(&query).await, rows, "{query}");
    }
}

#[tokio::test]
async fn a_difference_that_would_lose_something_names_both_files() {
    for (columns, others) in [
        ("{'v': array(pa.int64(), 1)}", "{'v': array(pa.float64(), 1.5)}"),
        ("{'v': array(pa.int64(), 1)}", "{'v': array(pa.string(), 'x')}"),
        ("{'v': array(pa.date32(), day)}", "{'v': array(micro, day)}"),
        ("{'v': array(micro, day)}", "{'v': array(pa.timestamp('us', 'UTC'), day)}"),
        (
            "{'v': array(pa.struct([('a', pa.int32())]), {'a': 1})}",
            "{'v': array(pa.struct([('A', pa.int32())]), {'A': 1})}",
        ),
    ] {
        let script =
            format!("write('t/p=1/one.parquet', {columns})\nwrite('t/p=2/two.parquet', {others})");
        let Some(pair) = made(&script).await else { return };
        let error = pair.pruned.run("SELECT * FROM t").await.expect_err(&script).to_string();
        for word in ["column v", "p=1/one.parquet", "p=2/two.parquet", "CREATE EXTERNAL TABLE"] {
            assert!(error.contains(word), "{word} in {error}");
        }
    }
}

#[tokio::test]
async fn names_of_any_case_are_one_partition_and_one_column() {
    let script = "
write('t/P=b/f.parquet', {'v': [1]}); write('t/p=b/g.parquet', {'V': [2]}); write('t/p=B/h.parquet', {'v': [3]})
write('z/m=01/f.parquet', {'v': [1]}); write('z/m=1/f.parquet', {'v': [2]}); write('z/m=12/f.parquet', {'v': [3]})";
    let Some(pair) = made(script).await else { return };
    assert_eq!(pair.same("SELECT v FROM t WHERE p = 'b'").await, ["1", "2"]);
    assert_eq!(pair.selected("partitions", "SELECT v FROM t WHERE p = 'b'").await, "1/2");
    assert_eq!(pair.same("SELECT V FROM t WHERE P = 'B' AND v > 2").await, ["3"]);
    // Nothing declared: leading zeros make it text, and a number still finds both.
    assert_eq!(pair.same("SELECT v FROM z WHERE m = 1").await, ["1", "2"]);
    assert_eq!(pair.same("SELECT v FROM z WHERE m = '01'").await, ["1"]);
    let place = pair.folder.table("z");
    let sql = format!(
        "CREATE EXTERNAL TABLE y (v BIGINT, m INT) STORED AS PARQUET PARTITIONED BY (m) LOCATION '{}'",
        place.display()
    );
    for session in [&pair.pruned, &pair.unpruned] {
        session.all(&[&sql]).await;
    }
    for (condition, partitions, rows) in
        [("m = 1", "1/2", 2), ("m IN (1, 2)", "1/2", 2), ("m BETWEEN 2 AND 20", "1/2", 1)]
    {
        let query = format!("SELECT v FROM y WHERE {condition}");
        assert_eq!(pair.same(&query).await.len(), rows, "{query}");
        assert_eq!(pair.selected("partitions", &query).await, partitions, "{query}");
    }
}

#[tokio::test]
async fn a_directorys_value_goes_before_a_column_of_its_name_in_the_file() {
    let script = "
write('t/d=2024-01-15/f.parquet', {'D': ['x', 'y'], 'v': [1, 2]}); write('t/d=2024-01-16/f.parquet', {'v': [3]})";
    let Some(pair) = made(script).await else { return };
    let rows = pair.same("SELECT d, v FROM t WHERE d < '2024-01-16'").await;
    assert_eq!(rows, ["2024-01-15|1", "2024-01-15|2"]);
    assert_eq!(pair.same("SELECT DISTINCT d FROM t").await, ["2024-01-15", "2024-01-16"]);
}

#[tokio::test]
async fn only_the_tables_files_are_read_and_damage_is_named() {
    let script = "
write('t/p=1/f.parquet', {'v': [1]}); write('t/p=2/below/deep.parquet', {'v': [2]})
for path in ['p=1/_x.parquet', 'p=1/.y.parquet', 'p=1/c.parquet._COPYING_', '_temporary/p=3/f.parquet',
             '.hidden/p=3/f.parquet', 'stray.parquet', 'other/f.parquet']:
    write(f't/{path}', {'v': [9]})
for path in ['_SUCCESS', 'p=1/empty.parquet']: open(f'{lake}/t/{path}', 'w').close()
open(f'{lake}/t/p=1/notes.txt', 'w').write('x')";
    let Some(pair) = made(script).await else { return };
    assert_eq!(pair.same("SELECT v, p FROM t").await, ["1|1", "2|2"]);
    let ran = pair.folder.sql("SELECT count(*) FROM t").ok();
    for name in ["p=1/empty.parquet", "stray.parquet", "other", "p=1/notes.txt"] {
        assert!(ran.err.contains(name), "{name} in {}", ran.err);
    }
    let bad = pair.folder.table("t").join("p=2/below/bad.parquet");
    std::fs::write(&bad, "PAR1 this is no footer PAR1").expect("a damaged file");
    pair.folder.sql("SELECT v FROM t").fails(1, &["p=2/below/bad.parquet"]);
}
