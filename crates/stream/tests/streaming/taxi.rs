//! The calibrated quarter, split into 60 files.

use datafusion::prelude::ParquetReadOptions;
use partwise_stream::{OutputMode, TableSink};
use partwise_taxi::{FILES, Progress, generate};

use crate::kit::{Lab, run, write_parquet};

const FILES_MADE: usize = 60;

/// The window of the report; strays stay out.
const REPORT: &str = "SELECT tumble(ts, INTERVAL '1 hour') AS hour, zone, \
     to_char(tumble(ts, INTERVAL '1 hour'), '%Y-%m') AS month, count(*) AS trips, \
     sum(amount) AS revenue FROM trips WHERE ts >= TIMESTAMP '2024-01-01' \
     AND ts < TIMESTAMP '2024-04-01' GROUP BY tumble(ts, INTERVAL '1 hour'), zone";

#[tokio::test(flavor = "multi_thread")]
async fn the_quarter_in_60_files_is_the_batch_report_to_the_row_and_the_cent() {
    let lab = Lab::new();
    let quarter = lab.path("quarter");
    std::fs::create_dir(&quarter).unwrap();
    let made = generate(&quarter, 0.005, Progress::Silent).unwrap();
    split(&lab).await;
    lab.stream_over("trips", 4, None).await;
    let sink = TableSink::new(lab.path("report")).partition_by(["month"]);
    let query =
        run(lab.query(REPORT, "report", OutputMode::Update).await.sink(sink)).await.unwrap();
    println!("{}", query.progress().unwrap());
    let streamed = lab.table(lab.path("report"), "report", crate::kit::TO_THE_CENT).await;
    assert_eq!(streamed, lab.batch(REPORT, crate::kit::TO_THE_CENT, "report").await);
    let months = "SELECT month, count(*), sum(trips), CAST(round(sum(revenue) * 100) AS BIGINT) \
         FROM report GROUP BY month";
    let months = lab.table(lab.path("report"), "report", months).await;
    let names = ["2024-01", "2024-02", "2024-03"];
    let figures = names.iter().zip(&made.figures.months);
    let expected: Vec<String> = figures
        .map(|(name, month)| {
            format!("{name} | {} | {} | {}", month.buckets, month.trips, month.revenue_cents)
        })
        .collect();
    assert_eq!(months, expected);
}

/// The quarter's trips in files of the same number of rows.
async fn split(lab: &Lab) {
    let landing = lab.path("landing");
    std::fs::create_dir(&landing).unwrap();
    let mut batches = Vec::new();
    for name in FILES {
        let path = lab.path("quarter").join(name).display().to_string();
        let frame = lab.session.read_parquet(path, ParquetReadOptions::default()).await.unwrap();
        lab.session.register_table("file", frame.into_view()).unwrap();
        let sql = "SELECT tpep_pickup_datetime AS ts, \"PULocationID\" AS zone, total_amount AS amount \
             FROM file";
        batches.extend(lab.session.sql(sql).await.unwrap().collect().await.unwrap());
        lab.session.deregister_table("file").unwrap();
    }
    let all = datafusion::arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
    let size = all.num_rows().div_ceil(FILES_MADE);
    for file in 0..FILES_MADE {
        let from = file * size;
        let rows = all.slice(from, size.min(all.num_rows() - from));
        write_parquet(&landing.join(format!("{file:02}.parquet")), &rows);
    }
}
