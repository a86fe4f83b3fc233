//! The lines of a plan that say what is scanned and written.

use arrow::util::display::array_value_to_string;
use futures::TryStreamExt;
use partwise_sql::{Execution, PartwiseContext, Result};

/// What a scan's line starts with.
const SCAN: &str = "DataSourceExec:";

/// What a write's line starts with; what it writes to follows.
const SINK: &str = "DataSinkExec: sink=";

/// What else shows that a line tells of a scan.
const SELECTED: &str = " partitions=";

/// What shows that a scan reads rows that the statement itself brings.
const IN_MEMORY: &str = "partition_sizes=";

/// Where a scan's line begins to tell what it selects; in front stand names of files.
const CHOICE: &str = "PartitionFilters=";

/// Statements that EXPLAIN only plans. Others may have happened once they are planned.
const PLANNED: [&str; 10] = [
    "SELECT",
    "WITH",
    "VALUES",
    "TABLE",
    "INSERT",
    "DELETE",
    "UPDATE",
    "MERGE",
    "COPY",
    "CREATE TABLE",
];

/// The scans and sinks in the plan of a statement, counted against the whole table; none where it
/// has no plan, or can't be planned: running it will say why.
pub async fn of(context: &PartwiseContext, statement: &str) -> Vec<String> {
    if !is_planned(statement) {
        return vec![];
    }
    let plan = explained(context, statement).await.unwrap_or_default();
    plan.lines().map(str::trim).filter_map(told).collect()
}

fn is_planned(statement: &str) -> bool {
    let mut words = statement.split_whitespace().map(str::to_uppercase);
    let first = words.next().unwrap_or_default();
    let both = format!("{first} {}", words.next().unwrap_or_default());
    PLANNED.iter().any(|&begin| begin == first || begin == both)
}

/// What a line of the plan says of a scan or a write.
fn told(line: &str) -> Option<String> {
    if let Some(sink) = line.strip_prefix(SINK) {
        return Some(sink.to_owned());
    }
    let scans = line.starts_with(SCAN) || line.contains(SELECTED);
    (scans && !line.contains(IN_MEMORY)).then(|| shortened(line))
}

fn shortened(line: &str) -> String {
    match (line.split_once(' '), line.find(CHOICE)) {
        (Some((node, _)), Some(choice)) => format!("{node} {}", &line[choice..]),
        _ => line.to_owned(),
    }
}

async fn explained(context: &PartwiseContext, statement: &str) -> Result<String> {
    let explain = format!("EXPLAIN FORMAT INDENT {statement}");
    let Execution::Rows(rows) = context.execute(&explain).await? else {
        return Ok(String::new());
    };
    let mut plans = String::new();
    for batch in rows.stream.try_collect::<Vec<_>>().await? {
        let Some(column) = batch.columns().last() else { continue };
        for row in 0..batch.num_rows() {
            plans.push_str(&array_value_to_string(column, row)?);
            plans.push('\n');
        }
    }
    Ok(plans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scans_of_tables_tell() {
        assert!(told("DataSourceExec: file_groups={..}, partitions=1/91").is_some());
        assert!(told("PartitionCountExec: partitions=0/3").is_some());
        assert_eq!(told("DataSourceExec: partitions=1, partition_sizes=[1]"), None);
        assert_eq!(told("AggregateExec: mode=Final, gby=[]"), None);
        let shuffled = "RepartitionExec: partitioning=RoundRobinBatch(2), input_partitions=1";
        assert_eq!(told(shuffled), None);
    }

    #[test]
    fn the_names_of_files_are_left_out() {
        let line =
            "DataSourceExec: file_groups={1 group: [[a/b c]]}, PartitionFilters=[], files=1/3";
        assert_eq!(shortened(line), "DataSourceExec: PartitionFilters=[], files=1/3");
    }

    #[tokio::test]
    async fn every_write_shows_what_it_writes() {
        let dir = std::env::temp_dir().join(format!("partwise-plan-{}", std::process::id()));
        let context = PartwiseContext::open(dir.join("lake")).await.unwrap();
        let create = "CREATE TABLE t PARTITIONED BY (p) AS SELECT 1 AS a, 'x' AS p";
        let shown = of(&context, create).await;
        assert!(shown[0].starts_with("PartitionSink: target="), "{shown:?}");
        assert!(context.table_names().await.unwrap().is_empty());
        context.execute(create).await.unwrap();
        let shown = of(&context, "INSERT OVERWRITE t VALUES (2, 'y')").await;
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(shown[0].contains("scope=partitions written"), "{shown:?}");
        let shown = of(&context, "DELETE FROM t WHERE p = 'x'").await;
        assert!(shown.iter().any(|line| line.contains("scope=p=x")), "{shown:?}");
        assert!(of(&context, "CREATE TABLE u (a INT)").await.is_empty());
        std::fs::remove_dir_all(dir).unwrap();
    }
}
