//! Two overwrites of one partition, both staged, whose commits are let through in either order.

use crate::support::Folder;
use crate::support::commits::{Commits, number_after, started_until_staged};

/// So many rows of one value.
fn overwrite(value: i64) -> String {
    format!(
        "INSERT OVERWRITE t SELECT value * 0 + {value} AS v, 'a' AS p \
         FROM generate_series(1, {value})"
    )
}

#[test]
fn of_two_overwrites_the_later_stands_alone_in_either_order() {
    let folder = Folder::new();
    folder.sql("CREATE TABLE t (v BIGINT, p STRING) USING parquet PARTITIONED BY (p)").ok();
    folder.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')").ok();
    let commits = Commits::of(&folder, "t");
    for (order, a) in [([7, 9], "a,9,9,9"), ([9, 7], "a,7,7,7")] {
        let lock = commits.lock();
        let [first, mut last] =
            order.map(|value| started_until_staged(&folder, &overwrite(value), 1));
        last.stop();
        let version = commits.published() + 1;
        drop(lock);
        let first = first.end().ok().out;
        last.go_on();
        let last = last.end().ok().out;
        let told = [first, last].map(|out| number_after(&out, "\"version\":"));
        assert_eq!(told, [Some(version), Some(version + 1)]);
        let rows = folder.rows("SELECT p, min(v), max(v), count(*) FROM t GROUP BY p ORDER BY p");
        assert_eq!(rows, [a, "b,2,2,1"]);
    }
}
