//! The two real files: the report as published, and the trap in real data.

use std::path::Path;

use crate::support::job::TOTALS;
use crate::support::{Folder, real_data};

fn rows(file: &Path) -> String {
    format!(
        "SELECT \"PULocationID\" AS zone, date_trunc('hour', lpep_pickup_datetime) AS pickup_hour, \
         count(*) AS trips, sum(total_amount) AS revenue, \
         to_char(date_trunc('hour', lpep_pickup_datetime), '%Y-%m') AS pickup_month \
         FROM '{}' GROUP BY 1, 2",
        file.display()
    )
}

#[test]
fn the_real_green_files_give_the_published_report_and_the_trap_is_stopped() {
    let Some(data) = real_data() else { return };
    let folder = Folder::new();
    let all = rows(&data.join("green_tripdata_*.parquet"));
    folder
        .sql(&format!("CREATE TABLE report USING parquet PARTITIONED BY (pickup_month) AS {all}"))
        .ok();
    let months = folder.rows(
        "SELECT pickup_month, count(*), sum(trips), CAST(sum(revenue) AS DECIMAL(18, 2)) \
         FROM report GROUP BY 1 ORDER BY 1",
    );
    let published =
        ["2023-11,4,4,108.56", "2023-12,18627,64213,1557851.17", "2024-01,16514,56549,1266885.01"];
    assert_eq!(months, published);
    let before = folder.row(TOTALS);
    let january = rows(&data.join("green_tripdata_2024-01.parquet"));
    let trap = format!("INSERT OVERWRITE report PARTITION (pickup_month) {january}");
    folder.sql(&trap).fails(3, &["2023-12 (18,627 -> 2 rows)"]);
    assert_eq!(folder.row(TOTALS), before);
}
