//! `--lake s3://..`, LOCATION, paths, COPY: each by its address.

use super::{bucket, stays_empty};
use crate::support::ran;

#[test]
fn a_lake_in_a_bucket_does_what_a_folder_does() {
    let Some(bucket) = bucket("a lake in a bucket") else { return };
    bucket
        .sql(
            "CREATE TABLE r (n INT, v DOUBLE, p STRING) USING parquet PARTITIONED BY (p);
             INSERT INTO r VALUES (1, 2.5, 'a'), (2, 3.5, 'b/c'), (3, 0.5, NULL);
             INSERT OVERWRITE r VALUES (9, 1.0, 'a');
             INSERT OVERWRITE r SELECT n + 1, v, p FROM r",
        )
        .ok();
    let all = "SELECT n, v, p FROM r ORDER BY n";
    assert_eq!(bucket.rows(all), ["3,3.5,b/c", "4,0.5,", "10,1.0,a"]);
    assert_eq!(
        bucket
            .rows("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"),
        ["r"]
    );
    let explained = bucket.sql("EXPLAIN SELECT n FROM r WHERE p = 'b/c'").ok().out;
    assert!(explained.contains("partitions=1/3, files=1/3"), "{explained}");
    assert_eq!(bucket.rows("SELECT version FROM history('r')"), ["4", "3", "2", "1"]);
    assert_eq!(bucket.rows("SELECT n FROM at('r', 2) ORDER BY n"), ["1", "2", "3"]);
    bucket.sql("RESTORE TABLE r TO VERSION 2").ok();
    assert_eq!(bucket.rows("SELECT n FROM r ORDER BY n"), ["1", "2", "3"]);
    bucket.sql("DROP TABLE r PURGE").ok();
    assert!(bucket.rows("SHOW TABLES").is_empty());
    stays_empty(bucket.folder.path());
}

#[test]
fn a_table_opens_its_own_store_by_options() {
    let Some(bucket) = bucket("a table with its own store") else { return };
    let (table, options) = (bucket.address("own/t"), bucket.options());
    let sql = format!(
        "CREATE TABLE t (n INT, p STRING) USING parquet PARTITIONED BY (p) LOCATION '{table}'
             OPTIONS ({options}, 'compression' 'zstd(3)');
         INSERT OVERWRITE t VALUES (1, 'x'), (2, 'y');
         SELECT sum(n) AS total FROM '{table}/';
         SELECT count(*) AS files FROM files('t');
         SELECT sum(n) AS again FROM '{table}/**/*.parquet';
         SHOW CREATE TABLE t"
    );
    let mut command = bucket.without_keys();
    command.args(["--lake", "none", "-q", "--format", "csv", "-c", &sql]);
    let said = ran(command.output().expect("the binary runs")).ok().out;
    for part in ["total\n3", "files\n2", "again\n3", "'compression' 'zstd(3)'", &table] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("aws."), "{said}");
    stays_empty(bucket.folder.path());
}

#[test]
fn files_go_to_a_bucket_and_come_from_it() {
    let Some(bucket) = bucket("files in a bucket") else { return };
    let (dir, csv) = (bucket.address("copied/"), bucket.address("rows.csv"));
    let options = bucket.options();
    let sql = format!(
        "COPY (SELECT 1 AS n, 'q' AS p) TO '{dir}' STORED AS PARQUET PARTITIONED BY (p)
             OPTIONS ({options});
         COPY (SELECT 2 AS n, 'q' AS p) TO '{dir}' PARTITIONED BY (p) OPTIONS ('mode' 'append');
         COPY (SELECT n FROM '{dir}') TO '{csv}' STORED AS CSV OPTIONS ('format.has_header' 'true');
         CREATE EXTERNAL TABLE back STORED AS CSV LOCATION '{csv}'
             OPTIONS ({options}, 'format.has_header' 'true');
         CREATE EXTERNAL TABLE part STORED AS PARQUET PARTITIONED BY (p) LOCATION '{dir}';
         SELECT (SELECT sum(n) FROM back) + (SELECT sum(n) FROM part) AS both;
         SHOW CREATE TABLE back"
    );
    let mut command = bucket.without_keys();
    command.args(["--lake", "none", "-q", "--format", "csv", "-c", &sql]);
    let said = ran(command.output().expect("the binary runs")).ok().out;
    assert!(said.contains("both\n6"), "{said}");
    assert!(!said.contains("aws."), "{said}");
    stays_empty(bucket.folder.path());
}
