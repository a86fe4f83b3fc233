//! The declared scope on the report: the February file, which holds trips of other months.

use crate::support::job::*;
use crate::support::tree::{staged, tree};
use crate::support::{Folder, figures};

const SCOPE: &str = "INSERT OVERWRITE report PARTITION (pickup_month IN ('2024-02'))";

/// The rows that the February file has for a month (0: January).
fn in_the_file(month: usize) -> String {
    let rows = figures().february_file[month].buckets;
    let shown = partwise::sql::thousands(rows);
    format!("2024-0{}: {shown} {}", month + 1, if rows == 1 { "row" } else { "rows" })
}

#[test]
fn the_february_file_is_refused_with_the_rows_outside_and_nothing_changes() {
    let folder = reported();
    let before = tree(&folder.table("report"));
    let log = tree(&folder.lake().join("_partwise/report/log"));
    folder.sql(&format!("{SCOPE} {}", february_file_rows())).fails(
        3,
        &[&in_the_file(0), &in_the_file(2), "pickup_month IN ('2024-02')", "nothing was changed"],
    );
    assert!(before == tree(&folder.table("report")));
    assert!(log == tree(&folder.lake().join("_partwise/report/log")));
    assert!(staged(&folder.lake()).is_empty());
}

#[test]
fn filtered_to_its_month_it_goes_through() {
    let folder = reported();
    let file = report_rows(FEBRUARY_FILE, "2024-02-01", "2024-03-01");
    let from_file = folder.row(&format!(
        "SELECT count(*), sum(trips), CAST(sum(revenue) AS DECIMAL(18, 2)) FROM ({file}) AS f"
    ));
    folder.sql(&format!("{SCOPE} {file}")).ok();
    let months = folder.rows(
        "SELECT count(*), sum(trips), CAST(sum(revenue) AS DECIMAL(18, 2)) FROM report \
         GROUP BY pickup_month ORDER BY pickup_month",
    );
    assert_eq!(months, [published_month(0), from_file, published_month(2)]);
}

#[test]
fn without_rows_it_empties_february_and_says_so() {
    let folder = reported();
    let others = |folder: &Folder| {
        let mut tree = tree(&folder.table("report"));
        tree.retain(|name, _| name.starts_with("pickup_month=2024-0") && !name.contains("-02"));
        tree
    };
    let before = others(&folder);
    let said = folder.sql(&format!("{SCOPE} {} HAVING false", february_rows())).ok();
    let rows = partwise::sql::thousands(figures().months[1].buckets);
    let said = format!("{}{}", said.out, said.err);
    let emptied = format!("emptied 1 partition (pickup_month=2024-02: {rows} -> 0 rows)");
    assert!(said.contains(&emptied), "{said}");
    assert!(before == others(&folder));
    let left = folder.rows("SELECT DISTINCT pickup_month FROM report ORDER BY 1");
    assert_eq!(left, ["2024-01", "2024-03"]);
}
