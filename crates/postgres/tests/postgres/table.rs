//! Tables that are there: checked, with the way to make them fit.

use partwise_stream::{OutputMode, Result, StreamQuery};

use crate::kit::{Lab, SUMS, run};

const OWN: &str = "query_id uuid, batch_id bigint";

async fn update(lab: &Lab) -> Result<StreamQuery> {
    run(lab.query(SUMS, "q", OutputMode::Update).await.sink(lab.sink("t"))).await
}

async fn refused(lab: &Lab) -> String {
    let error = update(lab).await.unwrap_err().to_string();
    assert!(error.contains(&format!("/postgres \"{}\".\"t\": ", lab.schema)), "{error}");
    error
}

fn lab(schema: &str, table: &str) -> Option<Lab> {
    let lab = Lab::new(schema)?;
    lab.pairs(&[&[(Some(1), 10), (None, 20), (None, 1)], &[(None, 5)]]);
    assert_eq!(lab.sql(&table.replace("OWN", OWN)), [""; 0]);
    Some(lab)
}

const ASK: &str = "SELECT k, n, total FROM t ORDER BY k";
const ROWS: [&str; 2] = ["1|1|10", "NULL|3|26"];

#[tokio::test(flavor = "multi_thread")]
async fn null_is_a_key_like_others() {
    let Some(lab) = lab("null_keys", "") else { return };
    update(&lab).await.unwrap();
    assert_eq!(lab.sql(ASK), ROWS);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_refusal_names_the_statement_that_helps() {
    let table = "CREATE TABLE t (k int, n bigint)";
    let Some(lab) = lab("refusals", table) else { return };
    let error = refused(&lab).await;
    assert!(error.contains(r#"no column total"#), "{error}");
    assert!(error.contains(r#"ALTER TABLE "refusals"."t" ADD COLUMN "total" bigint"#), "{error}");
    lab.sql("ALTER TABLE t ADD COLUMN total bigint");
    let error = refused(&lab).await;
    let add = "ALTER TABLE \"refusals\".\"t\" ADD COLUMN query_id uuid, ADD COLUMN batch_id bigint";
    assert!(error.ends_with(add), "{error}");
    lab.sql(add);
    let error = refused(&lab).await;
    let index = r#"CREATE UNIQUE INDEX ON "refusals"."t" ("k") NULLS NOT DISTINCT"#;
    assert!(error.ends_with(index), "{error}");
    // One that takes two NULLs for different isn't enough.
    lab.sql("CREATE UNIQUE INDEX ON t (k)");
    assert!(refused(&lab).await.ends_with(index));
    lab.sql(index);
    update(&lab).await.unwrap();
    assert_eq!(lab.sql(ASK), ROWS);
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_of_other_types_are_refused() {
    for (schema, column) in [("int", "int"), ("text", "text"), ("float", "double precision")] {
        let table = format!("CREATE TABLE t (k int UNIQUE, n {column}, total bigint, OWN)");
        let Some(lab) = lab(&format!("types_{schema}"), &table) else { return };
        let error = refused(&lab).await;
        let says = format!("the column n of \"types_{schema}\".\"t\" is ");
        assert!(error.contains(&says) && error.contains("would be bigint"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wider_types_and_columns_of_others_are_fine() {
    let table = "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, note text DEFAULT 'none', \
                 total numeric(12, 2), n numeric, k bigint, OWN, UNIQUE NULLS NOT DISTINCT (k))";
    let Some(lab) = lab("wider", table) else { return };
    // A row of another program, which a group takes over, and one that stays.
    lab.sql("INSERT INTO t (k, n) VALUES (1, 1000), (99, 1000)");
    update(&lab).await.unwrap();
    let rows = lab.sql("SELECT k, n, total, note FROM t ORDER BY k");
    assert_eq!(rows, ["1|1|10.00|none", "99|1000|NULL|none", "NULL|3|26.00|none"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_and_a_column_that_must_be_filled_are_refused() {
    let Some(view) = lab("view", "CREATE VIEW t AS SELECT 1 AS k") else { return };
    assert!(refused(&view).await.contains("is no table"));
    let table = "CREATE TABLE t (k int UNIQUE NULLS NOT DISTINCT, n bigint, total bigint, OWN, \
                 must int NOT NULL)";
    let Some(filled) = lab("filled", table) else { return };
    assert!(refused(&filled).await.contains("the column must, NOT NULL without a default"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_refuses_ends_the_query_in_its_words() {
    let table = "CREATE TABLE t (k int UNIQUE NULLS NOT DISTINCT, n bigint, total bigint, OWN, \
                 CHECK (total < 25))";
    let Some(lab) = lab("constraint", table) else { return };
    let error = refused(&lab).await;
    assert!(error.contains("batch 1 of q") && error.contains("t_total_check"), "{error}");
    // The batch before stays, and the one that failed goes on from there.
    assert_eq!(lab.sql(ASK), ["1|1|10", "NULL|2|21"]);
    lab.sql("ALTER TABLE t DROP CONSTRAINT t_total_check");
    update(&lab).await.unwrap();
    assert_eq!(lab.sql(ASK), ROWS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_the_server_refuses_says_why() {
    let Some(lab) = Lab::new("copy_refused") else { return };
    lab.pairs(&[&[(Some(1), 10)]]);
    lab.sql(
        "CREATE TABLE t (note text CONSTRAINT short CHECK (length(note) < 4), query_id uuid, batch_id bigint, row_id bigint, \
         UNIQUE (query_id, batch_id, row_id))",
    );
    let sql = "SELECT 'long' AS note FROM pairs";
    let writer = lab.query(sql, "q", OutputMode::Append).await.sink(lab.sink("t"));
    let error = run(writer).await.unwrap_err().to_string();
    assert!(error.contains("violates check constraint \"short\""), "{error}");
    assert_eq!(lab.sql("SELECT count(*) FROM t"), ["0"]);
}
