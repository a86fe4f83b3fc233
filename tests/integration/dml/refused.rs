//! What isn't done, and what is said then.

use partwise::ErrorKind;

use crate::support::Folder;
use crate::support::session::Session;

/// Statements, and words of the error.
const REFUSED: &[(&str, &str)] = &[
    ("DELETE FROM nosuch", "table 'nosuch' not found"),
    ("DELETE FROM w", "w is not a table of Parquet files"),
    ("UPDATE w SET k = 1", "w is not a table of Parquet files"),
    ("DELETE FROM t WHERE k", "boolean"),
    ("DELETE FROM t RETURNING k", "RETURNING"),
    ("DELETE FROM t LIMIT 1", "LIMIT"),
    ("UPDATE t SET nosuch = 1", "t has no column nosuch; it has k, v, p"),
    ("UPDATE t SET k = 1, K = 2", "set twice"),
    ("UPDATE t SET k = v", "CAST"),
    ("UPDATE t SET k = 1.5", "1.5 would become 1"),
    ("UPDATE t SET (k, v) = (SELECT 1, 'a')", "2 columns are set at once"),
    ("UPDATE t SET v = 'x' FROM s", "a second time"),
    ("UPDATE t SET k = k IN (SELECT k FROM s)", "IN and EXISTS in a value"),
    ("DELETE FROM t WHERE EXISTS (SELECT count(*) FROM s WHERE s.k = t.k)", "always has an answer"),
    ("DELETE FROM t WHERE k IN (SELECT k FROM s WHERE s.k > t.k LIMIT 1)", "LIMIT"),
    (
        "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET k = 1",
        "row of t with k = 2 a second time",
    ),
    (
        "MERGE INTO t USING s ON t.k IN (SELECT 1) WHEN MATCHED THEN DELETE",
        "join what it asks for to the source",
    ),
    ("MERGE INTO t USING s ON t.k = random() WHEN MATCHED THEN DELETE", "a column of the source"),
    ("MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT *", "the source has no v"),
    (
        "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k)",
        "partition column p",
    ),
    (
        "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k, p) VALUES (s.k)",
        "1 value for 2 columns",
    ),
    (
        "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN INSERT *",
        "UPDATE SET, DELETE or DO NOTHING",
    ),
    (
        "MERGE INTO t USING (SELECT a.k, b.k, a.k + 1 AS n FROM s AS a JOIN s AS b ON a.k = b.k) AS x \
         ON t.k = x.n WHEN MATCHED THEN DELETE",
        "two columns k",
    ),
    ("START TRANSACTION", "transactions are not there"),
    ("COMMIT", "transactions are not there"),
    ("ROLLBACK", "transactions are not there"),
    ("SELECT k INTO other FROM t", "CREATE TABLE t AS"),
    ("CREATE INDEX i ON t (k)", "indexes are not there"),
    ("WITH t AS (SELECT 1 AS k) DELETE FROM t WHERE k = 1", "the name of a WITH"),
    ("WITH t AS (SELECT 1 AS k) UPDATE t SET k = 2", "the name of a WITH"),
    ("MERGE INTO t USING t AS t ON true WHEN MATCHED THEN DELETE", "is called t as the table is"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_says_why_and_changes_nothing() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    session
        .all(&[
            "CREATE TABLE t (k INT, v STRING, p STRING) USING parquet PARTITIONED BY (p)",
            "INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y')",
            "CREATE TABLE s AS SELECT * FROM (VALUES (2), (2), (3)) AS s (k)",
            "CREATE VIEW w AS SELECT * FROM t",
        ])
        .await;
    for (statement, words) in REFUSED {
        let error = session.run(statement).await.expect_err(statement);
        assert!(error.to_string().contains(words), "{statement}: {error}");
        assert_ne!(error.kind(), ErrorKind::Internal, "{statement}: {error}");
    }
    assert_eq!(session.rows("SELECT * FROM t ORDER BY k").await, ["1|a|x", "2|b|y"]);
    assert_eq!(session.rows("SELECT count(*) FROM history('t')").await, ["2"]);
}

#[test]
fn a_column_that_another_tool_alone_has_is_not_lost() {
    let folder = Folder::new();
    let create = "CREATE TABLE t (id BIGINT, v BIGINT, p STRING) USING parquet PARTITIONED BY (p);
        INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'y');
        COPY (SELECT 7 AS id, 7 AS v, 'keep' AS extra, 'x' AS p) TO 'foreign.parquet'";
    folder.sql(create).ok();
    let foreign = folder.table("t").join("p=x/foreign.parquet");
    std::fs::copy(folder.path().join("foreign.parquet"), &foreign).expect("a copy");
    for sql in [
        "OPTIMIZE t",
        "DELETE FROM t WHERE id = 1",
        "UPDATE t SET v = 9 WHERE id = 7",
        "MERGE INTO t USING (SELECT 7 AS id) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = 9",
    ] {
        folder.sql(sql).fails(1, &["foreign.parquet", "column extra", "ADD COLUMN extra"]);
        assert_eq!(folder.rows("SELECT id, v FROM t ORDER BY id"), ["1,1", "2,2", "7,7"], "{sql}");
    }
    // Partitions without such a file, and whole ones that go, are no matter.
    folder.sql("UPDATE t SET v = 3 WHERE p = 'y'").ok();
    folder.sql("ALTER TABLE t ADD COLUMN extra STRING").ok();
    folder.sql("UPDATE t SET v = 9 WHERE id = 7").ok();
    assert_eq!(folder.rows("SELECT v, extra FROM t WHERE id = 7"), ["9,keep"]);
}
