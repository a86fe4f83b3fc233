//! `Table`: what it says, and that it says it of the table as it is now.

use std::sync::Arc;

use partwise::datafusion::physical_plan::collect;
use partwise::datafusion::prelude::{SessionContext, col, lit};
use partwise::sql::{PartwiseContext, Rows};
use partwise::{Execution, SaveMode, ScanTotals, Table, WritePartitioned};

use super::{Place, ROWS, frame, rows};

#[tokio::test]
async fn an_open_table_says_what_is_there_now() {
    let place = Place::filled().await;
    let table = place.table().await;
    let names: Vec<String> = table.schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!((names.join(","), table.partition_columns()[0].name.as_str()), ("n,p".into(), "p"));
    assert_eq!(table.version().await.expect("a version"), Some(1));
    place.write(ROWS).await.mode(SaveMode::Append).token("j", 3).save().await.expect("more");
    assert_eq!(table.version().await.expect("a version"), Some(2));
    let partitions = table.partitions().await.expect("partitions");
    let files = table.files().await.expect("files");
    let [a, _, _] = partitions.as_slice() else { panic!("{partitions:?}") };
    assert_eq!((a.path.as_str(), a.rows, a.files, a.version), ("p=a", 6, 2, Some(2)));
    assert_eq!(a.bytes, files[..2].iter().map(|file| file.bytes).sum::<u64>());
    assert!(files[0].path.starts_with("p=a/part-") && files[0].modified.is_some());
    assert_eq!(files.iter().map(|file| file.rows).sum::<u64>(), 12);
    let history = table.history().await.expect("history");
    let versions: Vec<u64> = history.iter().map(|record| record.version).collect();
    assert_eq!(versions, [2, 1]);
    assert_eq!(history[0].token.as_ref().map(|token| token.run), Some(3));
}

#[tokio::test]
async fn a_filter_on_a_partition_column_reads_one_partition() {
    let place = Place::filled().await;
    let session = SessionContext::new();
    let table = Table::open_in(&session, place.path()).await.expect("the table");
    let b = table.dataframe().expect("rows").filter(col("p").eq(lit("b"))).expect("a filter");
    let plan = b.create_physical_plan().await.expect("a plan");
    collect(Arc::clone(&plan), session.task_ctx()).await.expect("rows");
    let read = ScanTotals::of(&plan).expect("a scan of ours");
    assert_eq!((read.partitions, read.files, read.rows), (1, 1, 2));
}

/// The provider stays registered while the table moves on, also where statements of ours check that
/// all scans of one statement saw one version.
#[tokio::test]
async fn a_registered_provider_follows_the_table() {
    let place = Place::filled().await;
    let ctx = PartwiseContext::open(place.folder.path().join("other")).await.expect("a context");
    let table = place.table().await;
    ctx.session().register_table("kept", table.provider()).expect("a name");
    for expected in ["6", "12", "18"] {
        let sql = "SELECT count(*) AS n FROM kept WHERE n IN (SELECT n FROM kept)";
        assert_eq!(rows(ctx.sql(sql).await.expect("a query")).await, [expected]);
        match ctx.execute(sql).await.expect("a query") {
            Execution::Rows(Rows { .. }) => {}
            _ => panic!("a query gives rows"),
        }
        place.write(ROWS).await.mode(SaveMode::Append).save().await.expect("more");
    }
    ctx.sql("INSERT INTO kept SELECT 9, 'c'")
        .await
        .expect("a write")
        .collect()
        .await
        .expect("done");
    assert_eq!(place.partitions().await, ["p=a: 12", "p=b: 8", "p=c: 5"]);
}

#[tokio::test]
async fn frames_of_two_openings_of_a_table_are_one_table_to_a_write() {
    let place = Place::filled().await;
    let (one, two) = (place.table().await, place.table().await);
    let both = one.dataframe().expect("rows").union(two.dataframe().expect("rows")).expect("all");
    both.write_partitioned(place.path()).mode(SaveMode::Overwrite).save().await.expect("doubled");
    assert_eq!(place.partitions().await, ["p=a: 6", "p=b: 4", "p=c: 2"]);
    let other = frame("SELECT 1 AS n, 'a' AS p").await;
    other.write_partitioned(place.lake().join("u")).save().await.expect("another table");
}
