//! DataFusion's own DELETE, UPDATE, MERGE and TRUNCATE on a table of ours: an error, no empty table.

use partwise::Table;
use partwise::datafusion::prelude::SessionContext;

use super::{Place, rows};

#[tokio::test]
async fn what_datafusion_would_lose_conditions_of_is_an_error_with_the_way_on() {
    let place = Place::filled().await;
    let session = SessionContext::new();
    let table = Table::open_in(&session, place.path()).await.expect("the table");
    session.register_table("t", table.provider()).expect("registered");
    let whole = "SELECT count(*), sum(n) FROM t";
    let before = rows(session.sql(whole).await.expect(whole)).await;
    for sql in [
        "DELETE FROM t",
        "DELETE FROM t WHERE n = 1",
        "DELETE FROM t WHERE n IN (SELECT n FROM t WHERE n < 0)",
        "DELETE FROM t WHERE EXISTS (SELECT 1 WHERE false)",
        "DELETE FROM t WHERE false",
        "DELETE FROM t WHERE n = NULL",
        "UPDATE t SET n = 0 WHERE p = 'a'",
        "UPDATE t SET n = 0 WHERE false",
        "TRUNCATE TABLE t",
        "MERGE INTO t USING (SELECT 1 AS n) AS s ON t.n = s.n WHEN MATCHED THEN DELETE",
    ] {
        let error = match session.sql(sql).await {
            Ok(frame) => frame.collect().await.expect_err(sql),
            Err(error) => error,
        };
        let said = error.to_string();
        assert!(said.contains("partwise::sql"), "{sql}: {said}");
        assert_eq!(partwise::Error::from(error).kind(), partwise::ErrorKind::Unsupported, "{sql}");
        assert_eq!(rows(session.sql(whole).await.expect(whole)).await, before, "{sql}");
    }
}

#[tokio::test]
async fn a_program_that_calls_the_hooks_itself_gets_the_error_too() {
    let place = Place::filled().await;
    let session = SessionContext::new();
    let table = Table::open_in(&session, place.path()).await.expect("the table").provider();
    let state = session.state();
    for error in [
        table.delete_from(&state, vec![]).await.expect_err("no delete"),
        table.update(&state, vec![], vec![]).await.expect_err("no update"),
        table.truncate(&state).await.expect_err("no truncate"),
    ] {
        assert_eq!(partwise::Error::from(error).kind(), partwise::ErrorKind::Unsupported);
    }
}
