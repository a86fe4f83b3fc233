//! What can't be is an error with its kind, and nothing has changed.

use partwise::{Error, ErrorKind, Overwrite, PartitionedWrite, SaveMode, Table, WritePartitioned};

use super::{Place, ROWS, frame};
use crate::support::tree::{staged, tree};

async fn fails(write: PartitionedWrite) -> Error {
    write.save().await.expect_err("a write that can't be")
}

/// Each of these writes to a filled table fails with this word and changes nothing.
#[tokio::test]
async fn a_write_that_can_not_be_says_why() {
    type Wrong = fn(PartitionedWrite) -> PartitionedWrite;
    let wrong: [(Wrong, &str); 14] = [
        (|w| w.mode(SaveMode::Append).partition_by(["n"]), "is partitioned by (p), not by (n)"),
        (|w| w.mode(SaveMode::Append).partition_by([""; 0]), "is partitioned by (p), not by ()"),
        (|w| w.overwrite(Overwrite::Table).partition_by(["nosuch"]), "nosuch"),
        (|w| w.overwrite(Overwrite::Table).partition_by(["p", "n"]), "every column"),
        (|w| w.overwrite(Overwrite::partitions([("nosuch", 1)])), "not a partition column"),
        (|w| w.overwrite(Overwrite::partitions([("p", "a"), ("P", "b")])), "twice"),
        (|w| w.overwrite(Overwrite::partitions([("p", "")])), "NULL"),
        (|w| w.overwrite(Overwrite::Partitions(vec![])), "one partition column or more"),
        (|w| w.mode(SaveMode::Append).overwrite(Overwrite::Dynamic), "the mode is Append"),
        (|w| w.compression("zip"), "zstd(1..22)"),
        (|w| w.sort_by(["nosuch"]), "nosuch"),
        (|w| w.option("nosuch", "1"), "nosuch"),
        (|w| w.max_shrink(f64::NAN), "share from 0 to 1"),
        (|w| w.token(" ", 1), "needs a name"),
    ];
    let place = Place::filled().await;
    let before = tree(&place.path());
    for (mend, word) in wrong {
        let error = fails(mend(place.overwrite(ROWS).await)).await;
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(word), "{word}: {error}");
    }
    let step = fails(place.overwrite(ROWS).await.step(1)).await;
    assert!(step.to_string().contains("token(job, run)"), "{step}");
    assert!(tree(&place.path()) == before && staged(&place.lake()).is_empty());
}

#[tokio::test]
async fn columns_that_do_not_fit_are_named() {
    let place = Place::filled().await;
    let before = tree(&place.path());
    for (sql, word) in [
        ("SELECT 1 AS n, 'a' AS p, 2 AS other", "other"),
        ("SELECT 1 AS n", "the partition column p"),
        ("SELECT arrow_cast('x', 'Utf8') || 'y' AS n, 'a' AS p", "CAST"),
        (
            "SELECT n / (n - 6) AS n, p FROM (VALUES (1, 'a'), (6, 'c')) AS v (n, p)",
            "ivide by zero",
        ),
    ] {
        let error = fails(place.overwrite(sql).await).await;
        assert!(error.to_string().contains(word), "{word}: {error}");
    }
    assert!(tree(&place.path()) == before && staged(&place.lake()).is_empty());
}

#[tokio::test]
async fn a_path_that_can_not_be_a_table_is_named() {
    let place = Place::filled().await;
    let file = place.path().join("_SUCCESS");
    let lake = place.lake().display().to_string();
    let below = file.join("t").display().to_string();
    for (path, word, kind) in [
        (lake.clone(), "is a folder of tables", ErrorKind::Invalid),
        (file.display().to_string(), "is a file", ErrorKind::Invalid),
        (below, "Not a directory", ErrorKind::Unavailable),
        (String::new(), "an empty path", ErrorKind::Invalid),
        ("hdfs://host/t".into(), "s3://bucket/prefix", ErrorKind::Invalid),
    ] {
        let error = fails(frame(ROWS).await.write_partitioned(path.as_str())).await;
        assert!(error.to_string().contains(word), "{path}: {error}");
        assert_eq!(error.kind(), kind, "{path}: {error}");
    }
    for (path, word) in [(lake, "is a folder of tables"), ("nosuch".into(), "no directory nosuch")]
    {
        let error = Table::open(path).await.expect_err("no table");
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_place_that_takes_no_directory_is_read_only() {
    let error = fails(frame(ROWS).await.write_partitioned("/proc/nosuch/t")).await;
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("/proc/nosuch/t is read-only for partwise"), "{error}");
    assert!(std::error::Error::source(&error).is_some(), "the source is kept");
}
