//! The lines of a plan that say what is scanned and written.

use arrow::util::display::array_value_to_string;
use futures::TryStreamExt;
use partwise_sql::{Execution, PartwiseContext, Result};

/// What such a line starts with.
const NODES: [&str; 2] = ["DataSourceExec:", "PartitionSink:"];

/// What else shows that a line tells of a scan.
const SELECTED: &str = " partitions=";

/// Where a scan's line begins to tell what it selects; in front stand names of files.
const CHOICE: &str = "PartitionFilters=";

/// Statements that EXPLAIN only plans. Others may have happened once they are planned.
const PLANNED: [&str; 6] = ["SELECT", "WITH", "VALUES", "TABLE", "INSERT", "COPY"];

/// The scans and sinks in the plan of a statement, counted against the whole table; none where it
/// has no plan, or can't be planned: running it will say why.
pub async fn of(context: &PartwiseContext, statement: &str) -> Vec<String> {
    let first = statement.split_whitespace().next().unwrap_or_default().to_uppercase();
    if !PLANNED.contains(&first.as_str()) {
        return vec![];
    }
    let plan = explained(context, statement).await.unwrap_or_default();
    plan.lines().map(str::trim).filter(|line| tells(line)).map(shortened).collect()
}

fn tells(line: &str) -> bool {
    NODES.iter().any(|node| line.starts_with(node)) || line.contains(SELECTED)
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
    fn only_scans_and_sinks_tell() {
        assert!(tells("DataSourceExec: file_groups={..}, partitions=1/91"));
        assert!(tells("PartitionSink: target=lake/report"));
        assert!(tells("PartitionCountExec: partitions=0/3"));
        assert!(!tells("AggregateExec: mode=Final, gby=[]"));
        assert!(!tells("RepartitionExec: partitioning=RoundRobinBatch(2), input_partitions=1"));
    }

    #[test]
    fn the_names_of_files_are_left_out() {
        let line =
            "DataSourceExec: file_groups={1 group: [[a/b c]]}, PartitionFilters=[], files=1/3";
        assert_eq!(shortened(line), "DataSourceExec: PartitionFilters=[], files=1/3");
        assert_eq!(shortened("PartitionSink: target=x"), "PartitionSink: target=x");
    }
}
