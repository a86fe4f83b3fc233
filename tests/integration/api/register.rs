//! `register`: a session that is there already sees the lake and keeps what it has.

use partwise::datafusion::prelude::{SessionConfig, SessionContext};
use partwise::{ErrorKind, Lake, WritePartitioned};

use super::{Place, ROWS, rows};

async fn plain(session: &SessionContext, sql: &str) -> Vec<String> {
    rows(session.sql(sql).await.expect(sql)).await
}

async fn ours(session: &SessionContext, sql: &str) -> Vec<String> {
    rows(partwise::sql(session, sql).await.expect(sql)).await
}

#[tokio::test]
async fn a_session_keeps_its_tables_and_sees_the_lake() {
    let place = Place::filled().await;
    let session = SessionContext::new();
    session.sql("CREATE TABLE own AS SELECT 1 AS one").await.expect("a table in memory");
    partwise::register_lake(&session, place.lake()).expect("registered");
    assert_eq!(plain(&session, "SELECT one FROM own").await, ["1"]);
    assert_eq!(plain(&session, "SELECT count(*) FROM t WHERE p = 'a'").await, ["3"]);
    let path = place.path().display().to_string();
    assert_eq!(plain(&session, &format!("SELECT count(*) FROM '{path}'")).await, ["6"]);
    session.sql("CREATE VIEW v AS SELECT * FROM t").await.expect("a view");
    assert_eq!(ours(&session, "SELECT count(*) FROM v").await, ["6"]);
    let own = session.table("own").await.expect("a frame of the session");
    own.write_partitioned(place.lake().join("u")).save().await.expect("a write");
    assert_eq!(plain(&session, "SELECT * FROM u").await, ["1"]);
}

#[tokio::test]
async fn plain_inserts_and_settings_work_and_the_rest_goes_through_sql() {
    let place = Place::filled().await;
    let session = SessionContext::new();
    partwise::register_lake(&session, place.lake()).expect("registered");
    assert_eq!(plain(&session, "INSERT INTO t VALUES (7, 'c')").await, ["1"]);
    assert_eq!(plain(&session, "INSERT OVERWRITE t SELECT 1, 'c'").await, ["1"]);
    assert_eq!(place.partitions().await, ["p=a: 3", "p=b: 2", "p=c: 1"]);
    plain(&session, "SET partwise.partition_overwrite_mode = 'static'").await;
    assert_eq!(plain(&session, &format!("INSERT OVERWRITE t {ROWS} LIMIT 3")).await, ["3"]);
    assert_eq!(place.partitions().await, ["p=a: 3"]);
    assert_eq!(ours(&session, "INSERT OVERWRITE t PARTITION (p = 'b') SELECT 5").await, ["1"]);
    assert_eq!(place.partitions().await, ["p=a: 3", "p=b: 1"]);
    assert_eq!(ours(&session, &format!("CREATE TABLE u AS {ROWS}")).await, ["6"]);
    assert!(place.lake().join("u").is_dir());
}

#[tokio::test]
async fn a_session_with_names_of_its_own_has_the_lake_under_them() {
    let place = Place::filled().await;
    let config = SessionConfig::new().with_default_catalog_and_schema("shop", "sales");
    let session = SessionContext::new_with_config(config);
    partwise::register_lake(&session, place.lake()).expect("registered");
    assert_eq!(plain(&session, "SELECT count(*) FROM shop.sales.t").await, ["6"]);
    assert_eq!(ours(&session, "CREATE TABLE sales.u AS SELECT 1 AS a").await, ["1"]);
    let error = partwise::sql(&session, "CREATE TABLE other.u AS SELECT 1 AS a").await;
    assert!(error.expect_err("another schema").to_string().contains("own schema"));
}

#[tokio::test]
async fn a_session_is_registered_once_and_asked_for_it() {
    let place = Place::filled().await;
    let session = SessionContext::new();
    let error = partwise::sql(&session, "SELECT 1").await.expect_err("not registered");
    assert!(error.to_string().contains("partwise::register"), "{error}");
    let file = place.path().join("_SUCCESS");
    assert!(partwise::register_lake(&session, file).is_err(), "a lake that is a file");
    partwise::register_lake(&session, Lake::None).expect("registered");
    let again = partwise::register(&session).expect_err("registered already");
    assert_eq!(again.kind(), ErrorKind::Invalid);
}
