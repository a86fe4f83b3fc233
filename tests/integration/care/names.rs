//! information_schema, SHOW COLUMNS: tables that another process has just made, altered, renamed.

use crate::support::Folder;
use crate::support::session::Session;

const COLUMNS: &str = "SELECT table_name, column_name, data_type FROM information_schema.columns \
    WHERE table_schema = 'public' ORDER BY table_name, ordinal_position";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_sees_what_another_one_does_to_tables() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    let other = Session::open(&folder).await;
    assert_eq!(session.rows(COLUMNS).await, Vec::<String>::new());
    other
        .all(&[
            "CREATE TABLE a (v INT, dt DATE) USING parquet PARTITIONED BY (dt)",
            "CREATE TABLE b USING parquet AS SELECT 'x' AS s",
        ])
        .await;
    assert_eq!(session.rows(COLUMNS).await, ["a|v|Int32", "a|dt|Date32", "b|s|Utf8"]);
    let tables = "SELECT table_name, table_type FROM information_schema.tables \
        WHERE table_schema = 'public' ORDER BY table_name";
    assert_eq!(session.rows(tables).await, ["a|BASE TABLE", "b|BASE TABLE"]);
    other.all(&["ALTER TABLE a ADD COLUMN w BIGINT", "ALTER TABLE b RENAME TO c"]).await;
    let now = ["a|v|Int32", "a|dt|Date32", "a|w|Int64", "c|s|Utf8"];
    assert_eq!(session.rows(COLUMNS).await, now);
    let columns = session.rows("SHOW COLUMNS FROM a").await;
    assert_eq!(columns.last().map(String::as_str), Some("datafusion|public|a|w|Int64|YES"));
    assert_eq!(session.rows("DESCRIBE c").await, ["s|Utf8|YES"]);
    other.all(&["DROP TABLE c PURGE"]).await;
    assert_eq!(session.rows(tables).await, ["a|BASE TABLE"]);
}

#[test]
fn a_folder_of_the_working_directory_is_changed_by_its_path_alone() {
    let folder = Folder::new();
    folder.sql("COPY (SELECT 1 AS a) TO 'data/1.parquet'").ok();
    for sql in
        ["DELETE FROM data WHERE a = 1", "TRUNCATE TABLE data", "INSERT INTO data VALUES (2)"]
    {
        folder.sql(sql).fails(1, &["no table data", "'./data'"]);
    }
    assert_eq!(folder.row("SELECT * FROM data"), "1");
    folder.sql("INSERT INTO './data' VALUES (2)").ok();
    assert_eq!(folder.row("SELECT count(*) FROM 'data/'"), "2");
}

#[test]
fn a_copy_to_a_file_is_not_put_into_a_table() {
    let folder = Folder::new();
    folder.sql("CREATE TABLE t PARTITIONED BY (p) AS SELECT 1 AS a, 'x' AS p").ok();
    for target in ["lake/t/p=x/new.parquet", "lake/t/new.csv"] {
        let copy = format!("COPY (SELECT 7 AS a) TO '{target}'");
        folder.sql(&copy).fails(1, &["lies inside the table", "INSERT"]);
    }
    folder.sql("COPY (SELECT 7 AS a) TO 'lake/new.csv'").ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_can_not_be_opened_hides_no_other() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    session.all(&["CREATE TABLE a USING parquet AS SELECT 1 AS v"]).await;
    std::fs::create_dir(folder.table("bad")).expect("a folder");
    std::fs::write(folder.table("bad").join("x.parquet"), "no Parquet at all").expect("a file");
    assert_eq!(session.rows(COLUMNS).await, ["a|v|Int64"]);
    assert_eq!(session.rows("SHOW COLUMNS FROM a").await, ["datafusion|public|a|v|Int64|YES"]);
    let tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' \
        ORDER BY table_name";
    assert_eq!(session.rows(tables).await, ["a", "bad"]);
    for asks in ["SHOW COLUMNS FROM bad", "SELECT * FROM bad"] {
        let error = session.run(asks).await.expect_err(asks).to_string();
        assert!(error.contains("bad/x.parquet"), "{asks}: {error}");
    }
}
