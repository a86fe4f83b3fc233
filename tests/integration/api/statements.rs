//! `PartwiseContext::sql`: collecting a write is running the statement.

use partwise::{ErrorKind, PartwiseContext};

use super::{Place, ROWS, rows};

async fn context(place: &Place) -> PartwiseContext {
    PartwiseContext::open(place.lake()).await.expect("a context")
}

async fn run(ctx: &PartwiseContext, sql: &str) -> Vec<String> {
    rows(ctx.sql(sql).await.expect(sql)).await
}

#[tokio::test]
async fn queries_and_writes_are_collectable_and_a_write_gives_its_count() {
    let place = Place::new();
    let ctx = context(&place).await;
    let create = format!("CREATE TABLE t USING parquet PARTITIONED BY (p) AS {ROWS}");
    let frame = ctx.sql(&create).await.expect("a frame");
    assert!(!place.path().exists(), "nothing is written before it is collected");
    let count = frame.collect().await.expect("a write");
    assert_eq!(count[0].schema().field(0).name(), "count");
    assert_eq!(rows(ctx.sql("SELECT count(*) FROM t").await.expect("a query")).await, ["6"]);
    assert_eq!(run(&ctx, "INSERT OVERWRITE t PARTITION (p = 'a') SELECT 7").await, ["1"]);
    assert_eq!(run(&ctx, "INSERT INTO t VALUES (8, 'b')").await, ["1"]);
    assert_eq!(run(&ctx, "SHOW PARTITIONS t").await.len(), 3);
    assert!(run(&ctx, "SET partwise.max_shrink = 1").await.is_empty());
    let error = ctx.sql("INSERT INTO nosuch SELECT 1").await.expect_err("no such table");
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn a_job_applies_both_its_writes_and_its_rerun_neither() {
    let place = Place::filled().await;
    for _ in 0..2 {
        let ctx = context(&place).await;
        for set in ["SET partwise.job = 'nightly'", "SET partwise.run = 20240201"] {
            run(&ctx, set).await;
        }
        run(&ctx, "INSERT INTO t VALUES (7, 'a')").await;
        run(&ctx, "INSERT INTO t VALUES (8, 'b')").await;
        assert_eq!(place.partitions().await, ["p=a: 4", "p=b: 3", "p=c: 1"]);
    }
}

#[tokio::test]
async fn a_write_that_lost_to_another_is_run_again() {
    let place = Place::filled().await;
    let ctx = context(&place).await;
    let double = "INSERT OVERWRITE t SELECT n * 2, p FROM t";
    let planned = ctx.sql(double).await.expect("a plan");
    run(&context(&place).await, "INSERT INTO t VALUES (100, 'c')").await;
    assert_eq!(rows(planned).await, ["7"], "the row that came in between is there");
    assert_eq!(run(&ctx, "SELECT sum(n) FROM t").await, ["242"]);
}

#[tokio::test]
async fn a_table_at_a_location_is_known_once_it_is_written() {
    let place = Place::new();
    let ctx = context(&place).await;
    let at = place.folder.path().join("elsewhere/t").display().to_string();
    let create = format!("CREATE TABLE far PARTITIONED BY (p) LOCATION '{at}' AS {ROWS}");
    assert_eq!(run(&ctx, &create).await, ["6"]);
    assert_eq!(run(&ctx, "SELECT count(*) FROM far WHERE p = 'b'").await, ["2"]);
}

#[tokio::test]
async fn a_table_that_another_has_made_meanwhile_is_left() {
    let place = Place::new();
    let ctx = context(&place).await;
    let create = format!("CREATE TABLE IF NOT EXISTS t PARTITIONED BY (p) AS {ROWS}");
    let planned = ctx.sql(&create).await.expect("a plan");
    assert_eq!(run(&context(&place).await, &create).await, ["6"]);
    assert_eq!(rows(planned).await, ["0"]);
    assert_eq!(place.partitions().await, ["p=a: 3", "p=b: 2", "p=c: 1"]);
}
