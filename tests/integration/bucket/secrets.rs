//! Keys appear nowhere: not in what is said, not in what is stored.

use super::bucket;
use crate::support::{Folder, ran};

const SECRET: &str = "hush-0123456789";

#[test]
fn a_key_of_the_environment_is_in_no_message() {
    let folder = Folder::new();
    for sql in [
        "SELECT * FROM r",
        "EXPLAIN SELECT * FROM 's3://b/p/'",
        "CREATE TABLE r (n INT) USING parquet",
        "COPY (SELECT 1 AS a) TO 's3://b/p/'",
        "COPY (SELECT 1 AS a) TO 's3://b/p.csv' STORED AS CSV",
        "SELECT * FROM 's3://b/x.parquet'",
    ] {
        let mut command = folder.partwise();
        command.env("AWS_ACCESS_KEY_ID", "me").env("AWS_SECRET_ACCESS_KEY", SECRET);
        command.env("AWS_SESSION_TOKEN", SECRET).env("AWS_ENDPOINT", "http://127.0.0.1:1");
        command.args(["--lake", "s3://b/lake", "-c", sql]);
        let said = ran(command.output().expect("runs"));
        assert_ne!(said.status, Some(0), "{sql}");
        assert!(!format!("{}{}", said.out, said.err).contains(SECRET), "{sql}: {}", said.err);
    }
}

#[test]
fn a_key_of_a_statement_is_in_no_message() {
    let folder = Folder::new();
    let keys = format!("'aws.secret_access_key' '{SECRET}', 'aws.endpoint' 'http://127.0.0.1:1'");
    for sql in [
        format!("CREATE TABLE t (n INT) USING parquet LOCATION 's3://b/t' OPTIONS ({keys})"),
        format!("CREATE TABLE t (n INT) USING parquet OPTIONS ({keys})"),
        format!("CREATE TABLE t (n INT) USING parquet LOCATION 'here' OPTIONS ({keys})"),
        format!("CREATE TABLE t (n INT) USING orc LOCATION 's3://b/t' OPTIONS ({keys})"),
        format!("CREATE TABLE t (n INT) USING parquet LOCATION 's3://b/t' OPTIONS ({keys}) AS"),
        format!(
            "CREATE TABLE t (n INT) LOCATION 's3://b/t' OPTIONS ('aws.secret_acces_key' '{SECRET}')"
        ),
        format!("COPY (SELECT 1 AS a) TO 's3://b/t/' OPTIONS ({keys}, 'mode' '{SECRET}')"),
        format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION 's3://b/f.csv' OPTIONS ({keys})"),
        format!("CREATE EXTERNAL TABLE e STORED AS PARQUET LOCATION 's3://b/f/' OPTIONS ({keys})"),
        format!("EXPLAIN COPY (SELECT 1 AS a) TO 's3://b/t.csv' OPTIONS ({keys})"),
        format!("CREATE TABLE t (n INT) LOCATION 's3://me:{SECRET}@b/t'"),
        format!("SELECT * FROM 's3://me:{SECRET}@b/t/'"),
    ] {
        let said = folder.run(&["--lake", "none", "-c", &sql]);
        let text = format!("{}{}", said.out, said.err);
        assert!(!text.contains(SECRET), "{sql}: {text}");
    }
}

#[test]
fn a_key_is_in_no_object_and_no_answer_about_the_table() {
    let Some(bucket) = bucket("keys in what is stored") else { return };
    let (table, options) = (bucket.address("t"), bucket.options());
    let sql = format!(
        "SET partwise.job = 'j'; SET partwise.run = 1;
         CREATE TABLE t (n INT, p STRING) USING parquet PARTITIONED BY (p) LOCATION '{table}'
             OPTIONS ({options});
         INSERT INTO t VALUES (1, 'x');
         CREATE OR REPLACE TABLE t USING parquet PARTITIONED BY (p) LOCATION '{table}'
             OPTIONS ({options}) AS SELECT 2 AS n, 'y' AS p;
         SHOW CREATE TABLE t; DESCRIBE HISTORY t; SHOW ALL;
         EXPLAIN SELECT * FROM t; EXPLAIN ANALYZE INSERT INTO t VALUES (3, 'z');
         SELECT * FROM information_schema.tables; SELECT * FROM information_schema.views"
    );
    let mut command = bucket.without_keys();
    command.args(["--lake", "none", "-c", &sql]);
    let said = ran(command.output().expect("runs")).ok();
    let secret = partwise_testkit::S3Server::SECRET;
    let text = format!("{}{}", said.out, said.err);
    assert!(text.contains("version 3") && !text.contains(secret), "{text}");
    let stored = bucket.objects();
    assert!(stored.iter().any(|(key, _)| key.ends_with("table.json")), "{:?}", stored.len());
    for (key, bytes) in stored {
        let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!found, "{key} holds the key");
    }
}
