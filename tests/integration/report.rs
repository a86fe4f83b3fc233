//! The report as an idempotent partitioned table, each statement in a process of its own.

use crate::support::job::*;
use crate::support::tree::{data_files, staged, tree};
use crate::support::{Folder, figures};

#[test]
fn the_report_gives_the_published_figures_in_another_process() {
    let folder = reported();
    assert_eq!(folder.row(TOTALS), published_totals());
    let months = folder.rows(
        "SELECT count(*), sum(trips), CAST(sum(revenue) AS DECIMAL(18, 2)) FROM report \
         GROUP BY pickup_month ORDER BY pickup_month",
    );
    assert_eq!(months, [published_month(0), published_month(1), published_month(2)]);
}

#[test]
fn a_full_rebuild_twice_gives_the_same_table() {
    let folder = reported();
    let before = data_files(&folder.table("report"));
    folder.sql(&create_report()).ok();
    assert_eq!(folder.row(TOTALS), published_totals());
    let after = data_files(&folder.table("report"));
    assert_eq!(before.len(), after.len());
    assert!(before.iter().all(|name| !after.contains(name)), "names are never used again");
}

#[test]
fn appending_the_same_report_doubles_exactly() {
    let folder = reported();
    folder.sql(&format!("INSERT INTO report {}", quarter_rows())).ok();
    let (buckets, trips) = (2 * sum(|m| m.buckets), 2 * sum(|m| m.trips));
    let revenue: i64 = figures().months.iter().map(|m| 2 * m.revenue_cents).sum();
    assert_eq!(folder.row(TOTALS), format!("{buckets},{trips},{}", cents(revenue)));
}

fn sum(of: impl Fn(&partwise_taxi::MonthFigures) -> u64) -> u64 {
    figures().months.iter().map(of).sum()
}

#[test]
fn a_static_overwrite_with_february_leaves_one_partition() {
    let folder = reported();
    folder
        .sql(&format!(
            "SET spark.sql.sources.partitionOverwriteMode = static; INSERT OVERWRITE report {}",
            february_rows()
        ))
        .ok();
    assert_eq!(folder.row(TOTALS), published_month(1));
    assert_eq!(folder.rows("SHOW PARTITIONS report").len(), 1);
}

#[test]
fn a_dynamic_overwrite_changes_only_the_partition_it_writes_however_often() {
    let folder = reported();
    let table = folder.table("report");
    let others = |month: &str| {
        let mut tree = tree(&table);
        tree.retain(|name, _| name.starts_with(&format!("pickup_month={month}")));
        tree
    };
    let (january, march) = (others("2024-01"), others("2024-03"));
    for _ in 0..10 {
        folder
            .sql(&format!("INSERT OVERWRITE report PARTITION (pickup_month) {}", february_rows()))
            .ok();
        assert_eq!(folder.row(TOTALS), published_totals());
    }
    assert_eq!(folder.rows("SHOW PARTITIONS report").len(), 3);
    assert_eq!((others("2024-01"), others("2024-03")), (january, march));
    assert_eq!(others("2024-02").len(), 2, "one directory and one file");
    assert!(table.join("_SUCCESS").exists());
}

#[test]
fn the_straggler_trap_is_stopped_and_its_two_repairs_work() {
    let folder = reported();
    let before = tree(folder.path());
    let trap = format!("INSERT OVERWRITE report PARTITION (pickup_month) {}", february_file_rows());
    let shown = |month: usize| partwise::sql::thousands(figures().months[month].buckets);
    let named =
        [format!("2024-01 ({} -> 10 rows)", shown(0)), format!("2024-03 ({} -> 2 rows)", shown(2))];
    folder.sql(&trap).fails(3, &[&named[0], &named[1], "max_shrink"]);
    assert_same_tree(&before, &tree(folder.path()));
    assert!(staged(&folder.lake()).is_empty());

    folder.sql(&format!("SET partwise.max_shrink = 1; {trap}")).ok();
    let counts = folder.rows(
        "SELECT count(*), sum(trips) FROM report GROUP BY pickup_month ORDER BY pickup_month",
    );
    let expected: Vec<String> =
        figures().february_file.iter().map(|m| format!("{},{}", m.buckets, m.trips)).collect();
    assert_eq!(counts, expected);

    folder.sql(&create_report()).ok();
    folder
        .sql(&format!("INSERT OVERWRITE report PARTITION (pickup_month) {}", february_rows()))
        .ok();
    assert_eq!(folder.row(TOTALS), published_totals());
    folder
        .sql(&format!(
            "INSERT OVERWRITE report PARTITION (pickup_month = '2024-02') \
             SELECT zone, pickup_hour, trips, revenue FROM ({}) AS february",
            february_rows()
        ))
        .ok();
    assert_eq!(folder.row(TOTALS), published_totals());
}

/// Lock files may be touched; nothing else.
fn assert_same_tree(
    before: &std::collections::BTreeMap<String, Option<Vec<u8>>>,
    after: &std::collections::BTreeMap<String, Option<Vec<u8>>>,
) {
    let visible = |name: &&String| !name.ends_with("/lock") && !name.contains("staging");
    let names: Vec<_> = before.keys().filter(visible).collect();
    let now: Vec<_> = after.keys().filter(visible).collect();
    assert_eq!(names, now);
    for name in names {
        assert!(before[name] == after[name], "{name} changed");
    }
}

#[test]
fn trips_by_day_are_one_file_per_day_and_one_day_reads_one() {
    let folder = Folder::new();
    folder
        .sql(&format!(
            "CREATE TABLE trips USING parquet PARTITIONED BY (pickup_date) AS \
             SELECT CAST(tpep_pickup_datetime AS DATE) AS pickup_date, \
             date_trunc('hour', tpep_pickup_datetime) AS pickup_hour, \"PULocationID\", total_amount \
             FROM '${{data}}/{ALL_FILES}' WHERE tpep_pickup_datetime >= TIMESTAMP '2024-01-01' \
             AND tpep_pickup_datetime < TIMESTAMP '2024-04-01'"
        ))
        .ok();
    assert_eq!(data_files(&folder.table("trips")).len(), 91);
    let question = "SELECT count(*), sum(total_amount) FROM trips \
                    WHERE pickup_date = DATE '2024-01-15'";
    let trips = figures().trips_on_2024_01_15;
    assert!(folder.row(question).starts_with(&format!("{trips},")));
    let plan = folder.sql(&format!("EXPLAIN {question}")).ok().out;
    assert!(plan.contains("PartitionFilters=[pickup_date = 2024-01-15]"), "{plan}");
    assert!(plan.contains("partitions=1/91"), "{plan}");
    let tree = folder.sql(&format!("EXPLAIN FORMAT TREE {question}")).ok().out;
    assert!(tree.contains("partitions: 1/91"), "{tree}");
    let analyzed = folder.sql(&format!("EXPLAIN ANALYZE {question}")).ok().out;
    assert!(analyzed.contains("files_read=1"), "{analyzed}");
    assert!(analyzed.contains(&format!("rows_read={trips}")), "{analyzed}");
}
