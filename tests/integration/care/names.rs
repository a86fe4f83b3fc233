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
