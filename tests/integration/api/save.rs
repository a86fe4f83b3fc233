//! `write_partitioned`: modes, what an overwrite replaces, the guard, tokens, layout.

use partwise::datafusion::functions_aggregate::expr_fn::sum;
use partwise::datafusion::prelude::{SessionContext, col};
use partwise::{
    CommitOutcome, Distribution, ErrorKind, Overwrite, PartwiseContext, SaveMode, Table,
    WritePartitioned,
};

use super::{Place, ROWS, rows};
use crate::support::tree::{data_files, staged, tree};

const TWO: &str = "SELECT * FROM (VALUES (7, 'a'), (8, 'b')) AS v (n, p)";

#[tokio::test]
async fn each_mode_does_what_its_statement_does() {
    let place = Place::filled().await;
    assert_eq!(place.partitions().await, ["p=a: 3", "p=b: 2", "p=c: 1"]);
    let before = tree(&place.lake());
    let error = place.write(ROWS).await.save().await.expect_err("mode error is the default");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("lake/t has data already"), "{error}");
    let ignored = place.write("SELECT 1 / 0 AS n, 'a' AS p").await.mode(SaveMode::Ignore);
    let ignored = ignored.save().await.expect("the query isn't run");
    assert_eq!((ignored.outcome, ignored.version), (CommitOutcome::Skipped, 1));
    assert!(tree(&place.lake()) == before);
    let appended = place.write(ROWS).await.mode(SaveMode::Append).save().await.expect("append");
    assert_eq!((appended.version, appended.rows_added, appended.rows_removed), (2, 6, 0));
    assert_eq!(place.partitions().await, ["p=a: 6", "p=b: 4", "p=c: 2"]);
    let replaced = place.overwrite(ROWS).await.save().await.expect("overwrite");
    assert_eq!((replaced.version, replaced.rows_added, replaced.rows_removed), (3, 6, 12));
    assert_eq!(place.partitions().await, ["p=a: 3", "p=b: 2", "p=c: 1"]);
}

#[tokio::test]
async fn every_mode_makes_a_table_that_is_not_there() {
    for mode in [SaveMode::ErrorIfExists, SaveMode::Ignore, SaveMode::Overwrite, SaveMode::Append] {
        let place = Place::new();
        let write = place.write(ROWS).await.mode(mode).partition_by(["P"]);
        assert_eq!(write.save().await.expect("a table").version, 1, "{mode:?}");
        assert_eq!(place.partitions().await, ["p=a: 3", "p=b: 2", "p=c: 1"], "{mode:?}");
    }
}

#[tokio::test]
async fn an_overwrite_replaces_what_it_names() {
    let named = |p: &str| Overwrite::partitions([("P", p)]);
    for (overwrite, sql, left) in [
        (Overwrite::Dynamic, TWO, &["p=a: 1", "p=b: 1", "p=c: 1"][..]),
        (Overwrite::Static, TWO, &["p=a: 1", "p=b: 1"]),
        (Overwrite::Table, TWO, &["p=a: 1", "p=b: 1"]),
        (named("a"), "SELECT 7 AS n, 'a' AS p", &["p=a: 1", "p=b: 2", "p=c: 1"]),
        (named("a"), "SELECT 7 AS n", &["p=a: 1", "p=b: 2", "p=c: 1"]),
        (named("a"), "SELECT 7 AS n WHERE false", &["p=b: 2", "p=c: 1"]),
        (named("d"), "SELECT 7 AS n", &["p=a: 3", "p=b: 2", "p=c: 1", "p=d: 1"]),
    ] {
        let place = Place::filled().await;
        let write = place.overwrite(sql).await.overwrite(overwrite.clone()).partition_by(["p"]);
        write.save().await.unwrap_or_else(|error| panic!("{overwrite:?} {sql}: {error}"));
        assert_eq!(place.partitions().await, left, "{overwrite:?} {sql}");
    }
}

#[tokio::test]
async fn the_table_is_made_anew_with_other_columns() {
    let place = Place::filled().await;
    let write = place.overwrite("SELECT 1.5 AS x, 7 AS q").await.partition_by(["q"]);
    write.overwrite(Overwrite::Table).save().await.expect("another table");
    assert_eq!(place.partitions().await, ["q=7: 1"]);
    assert_eq!(place.table().await.schema().field(0).name(), "x");
}

#[tokio::test]
async fn the_guard_and_the_named_partitions_refuse_by_kind() {
    let place = Place::new();
    let many = "SELECT value AS n, 'a' AS p FROM generate_series(1, 100)";
    place.write(many).await.partition_by(["p"]).save().await.expect("100 rows");
    let before = tree(&place.path());
    let refused = place.overwrite(TWO).await.save().await.expect_err("100 -> 1 row");
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert!(refused.to_string().contains("p=a (100 -> 1 row"), "{refused}");
    let named = Overwrite::partitions([("p", "b")]);
    let outside = place.overwrite(TWO).await.overwrite(named).save().await.expect_err("a row of a");
    assert_eq!(outside.kind(), ErrorKind::Refused);
    assert!(outside.to_string().contains("p=a: 1 row"), "{outside}");
    assert!(tree(&place.path()) == before && staged(&place.lake()).is_empty());
    let meant = place.overwrite(TWO).await.max_shrink(1.0).save().await.expect("it is meant");
    assert_eq!(meant.partitions[0].rows_before, 100);
    assert_eq!(meant.partitions[0].values.get("P"), Some(&"a".into()));
}

#[tokio::test]
async fn a_token_is_applied_once_and_by_one_statement() {
    let place = Place::filled().await;
    for replayed in [false, true, true] {
        let write = place.write(ROWS).await.mode(SaveMode::Append).token("nightly", 7);
        let commit = write.save().await.expect("the same write");
        assert_eq!((commit.is_replayed(), commit.version), (replayed, 2));
    }
    let second = place.write(ROWS).await.mode(SaveMode::Append).token("nightly", 7).step(1);
    assert_eq!(second.save().await.expect("the run's second write").version, 3);
    let other = place.write(TWO).await.mode(SaveMode::Append).token("nightly", 7);
    assert_eq!(other.save().await.expect_err("another one").kind(), ErrorKind::Refused);
    let table = place.table().await;
    assert_eq!(table.version_of("nightly", 7).await.expect("history"), Some(3));
    assert_eq!(table.version_of("nightly", 8).await.expect("history"), None);
}

#[tokio::test]
async fn a_job_of_the_session_counts_its_frames_too() {
    let place = Place::filled().await;
    for _ in 0..2 {
        let ctx = PartwiseContext::open(place.lake()).await.expect("a session");
        ctx.sql("SET partwise.job = 'j'").await.expect("a job");
        ctx.sql("SET partwise.run = 1").await.expect("a run");
        for sql in [ROWS, TWO] {
            let rows = ctx.sql(sql).await.expect("rows");
            let write = rows.write_partitioned(place.path()).mode(SaveMode::Append);
            write.save().await.expect("both are applied, once");
        }
    }
    assert_eq!(place.partitions().await, ["p=a: 7", "p=b: 5", "p=c: 2"]);
}

#[tokio::test]
async fn files_are_laid_out_as_the_write_says() {
    let place = Place::new();
    let sql = "SELECT value AS n, 'a' AS p FROM generate_series(1, 1000)";
    let write = place.write(sql).await.partition_by(["p"]).compression("zstd(3)");
    let write = write.distribution(Distribution::Tidy).sort_by(["n DESC"]).max_rows_per_file(400);
    assert_eq!(write.save().await.expect("a write").files_added, 3);
    let files = data_files(&place.path());
    assert!(files.iter().all(|name| name.ends_with(".zstd.parquet")), "{files:?}");
    let mut sizes: Vec<u64> =
        place.table().await.files().await.expect("files").iter().map(|file| file.rows).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [200, 400, 400]);
    let one = place.path().join(&files[0]).display().to_string();
    let one = SessionContext::new().read_parquet(one, Default::default()).await.expect("a file");
    let found: Vec<i64> = rows(one).await.iter().map(|n| n.parse().expect("a number")).collect();
    assert!(found.is_sorted_by(|a, b| a > b), "{found:?}");
}

#[tokio::test]
async fn a_table_without_partition_columns_is_replaced_as_a_whole() {
    let place = Place::new();
    place.write(ROWS).await.save().await.expect("no partitions");
    assert_eq!(place.partitions().await, ["(whole table): 6"]);
    place.overwrite(TWO).await.overwrite(Overwrite::Dynamic).save().await.expect("all of it");
    assert_eq!(place.partitions().await, ["(whole table): 2"]);
}

#[tokio::test]
async fn a_write_may_read_what_it_replaces() {
    let place = Place::filled().await;
    let table = Table::open(place.path()).await.expect("the table");
    for _ in 0..2 {
        let read = table.dataframe().expect("its rows");
        let doubled = read.select_exprs(&["n * 2 AS n", "p"]).expect("a projection");
        let write = doubled.write_partitioned(place.path()).mode(SaveMode::Overwrite);
        write.save().await.expect("an overwrite of what is read");
    }
    let total = table.dataframe().expect("its rows").aggregate(vec![], vec![sum(col("n"))]);
    assert_eq!(rows(total.expect("a sum")).await, ["84"]);
}

#[tokio::test]
async fn a_tree_of_another_tool_is_written_as_it_is_partitioned() {
    let place = Place::filled().await;
    std::fs::remove_dir_all(place.lake().join("_partwise")).expect("no log");
    assert_eq!(place.table().await.version().await.expect("no log"), None);
    let commit = place.overwrite("SELECT 7 AS n, 'b' AS p").await.save().await.expect("a commit");
    assert_eq!(commit.partitions[0].rows_before, 2);
    assert_eq!(place.partitions().await, ["p=a: 3", "p=b: 1", "p=c: 1"]);
}
