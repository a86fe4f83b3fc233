//! The main job's statements, and its figures from a table.

use super::{Folder, figures};

/// The rows of the report between two instants, from these files.
pub fn report_rows(files: &str, from: &str, to: &str) -> String {
    format!(
        "SELECT \"PULocationID\" AS zone, date_trunc('hour', tpep_pickup_datetime) AS pickup_hour, \
         count(*) AS trips, sum(total_amount) AS revenue, \
         to_char(date_trunc('hour', tpep_pickup_datetime), '%Y-%m') AS pickup_month \
         FROM '${{data}}/{files}' WHERE tpep_pickup_datetime >= TIMESTAMP '{from}' \
         AND tpep_pickup_datetime < TIMESTAMP '{to}' GROUP BY 1, 2"
    )
}

pub const ALL_FILES: &str = "yellow_tripdata_2024-0*.parquet";
pub const FEBRUARY_FILE: &str = "yellow_tripdata_2024-02.parquet";

/// The whole quarter's report.
pub fn quarter_rows() -> String {
    report_rows(ALL_FILES, "2024-01-01", "2024-04-01")
}

/// February's trips, from whichever file they are in.
pub fn february_rows() -> String {
    report_rows(ALL_FILES, "2024-02-01", "2024-03-01")
}

/// The February file, not filtered to its month: the trap.
pub fn february_file_rows() -> String {
    report_rows(FEBRUARY_FILE, "2024-01-01", "2024-04-01")
}

pub fn create_report() -> String {
    format!(
        "CREATE OR REPLACE TABLE report USING parquet PARTITIONED BY (pickup_month) AS {}",
        quarter_rows()
    )
}

pub const TOTALS: &str =
    "SELECT count(*), sum(trips), CAST(sum(revenue) AS DECIMAL(18, 2)) FROM report";

/// Cents as the two-digit text that a CAST to DECIMAL gives.
pub fn cents(cents: i64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}

/// The published totals at the tests' scale: buckets, trips, revenue.
pub fn published_totals() -> String {
    let figures = figures();
    let buckets: u64 = figures.months.iter().map(|m| m.buckets).sum();
    let trips: u64 = figures.months.iter().map(|m| m.trips).sum();
    let revenue: i64 = figures.months.iter().map(|m| m.revenue_cents).sum();
    format!("{buckets},{trips},{}", cents(revenue))
}

/// The published figures of one month (0: January).
pub fn published_month(month: usize) -> String {
    let m = &figures().months[month];
    format!("{},{},{}", m.buckets, m.trips, cents(m.revenue_cents))
}

/// Makes the report in a new folder.
pub fn reported() -> Folder {
    let folder = Folder::new();
    folder.sql(&create_report()).ok();
    folder
}
