//! Streams over files of invented trips, in the lab that all tests of streams have.

use std::ops::Deref;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use partwise_stream::{StreamDefinition, Watermark};
use partwise_streamkit::rows_of;
pub use partwise_streamkit::{forget_last_commit, rows, run, until_done, write_parquet};

/// Trips by hour and zone, with the month that the table is partitioned by.
pub const REPORT: &str = "SELECT tumble(ts, INTERVAL '1 hour') AS hour, zone, \
     to_char(tumble(ts, INTERVAL '1 hour'), '%Y-%m') AS month, count(*) AS trips, \
     sum(amount) AS revenue FROM trips GROUP BY tumble(ts, INTERVAL '1 hour'), zone";

/// What is compared of it: to the cent.
pub const TO_THE_CENT: &str =
    "SELECT hour, zone, month, trips, CAST(round(revenue * 100) AS BIGINT) AS cents FROM report";

pub struct Lab(partwise_streamkit::Lab);

impl Deref for Lab {
    type Target = partwise_streamkit::Lab;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Lab {
    pub fn new() -> Self {
        Self(partwise_streamkit::Lab::new(|_| {}))
    }

    /// Files of trips in a folder `landing`, and the stream `trips` over them.
    pub async fn trips(&self, files: usize, per_trigger: usize) -> &Self {
        let landing = self.path("landing");
        std::fs::create_dir_all(&landing).unwrap();
        for file in 0..files {
            write_parquet(&landing.join(format!("{file:03}.parquet")), &trips_of(file));
        }
        self.stream_over("trips", per_trigger, None).await
    }

    /// A stream over the folder `landing`.
    pub async fn stream_over(
        &self,
        name: &str,
        per_trigger: usize,
        watermark: Option<Watermark>,
    ) -> &Self {
        let landing = self.path("landing").display().to_string();
        let mut definition = StreamDefinition::files(name, landing)
            .option("max_files_per_trigger", per_trigger.to_string());
        definition.watermark = watermark;
        self.streams.create_stream(&definition).await.unwrap();
        self
    }

    /// The rows of a query over the files at rest, asked once more as the table `as_name`.
    pub async fn batch(&self, sql: &str, then: &str, as_name: &str) -> Vec<String> {
        let session = self.at_rest().await;
        let report = session.sql(sql).await.unwrap().into_view();
        session.register_table(as_name, report).unwrap();
        rows_of(&session, then).await
    }

    /// The report as the batch query gives it.
    pub async fn expected(&self) -> Vec<String> {
        self.batch(REPORT, TO_THE_CENT, "report").await
    }
}

/// Trips of a file: mostly of a day and a half, in order of time, with some late by days.
pub fn trips_of(file: usize) -> RecordBatch {
    const ROWS: usize = 120;
    let start = 1_704_067_200_i64 + file as i64 * 129_600;
    let number = |row: usize, salt: usize| (file * 7_919 + row * 104_729 + salt * 31) % 1_000;
    let time = |row: usize| {
        let late = if number(row, 3) < 30 { 5 * 86_400 } else { 0 };
        (start + (row * 129_600 / ROWS) as i64 - late) * 1_000_000 + number(row, 1) as i64
    };
    let times: ArrayRef =
        Arc::new((0..ROWS).map(time).map(Some).collect::<TimestampMicrosecondArray>());
    let zone = |row| (number(row, 2) != 0).then_some(number(row, 2) as i32 % 9);
    let zones: ArrayRef = Arc::new((0..ROWS).map(zone).collect::<Int32Array>());
    let amount = |row| Some(f64::from(number(row, 4) as u32 + 250) / 100.0);
    let amounts: ArrayRef = Arc::new((0..ROWS).map(amount).collect::<Float64Array>());
    let tag = |row| Some(format!("tag{}", number(row, 5) % 17));
    let tags: ArrayRef = Arc::new((0..ROWS).map(tag).collect::<StringArray>());
    RecordBatch::try_from_iter([("ts", times), ("zone", zones), ("amount", amounts), ("tag", tags)])
        .unwrap()
}

/// A timestamp column and an integer one, from minutes and values.
pub fn events(rows: &[(Option<i64>, i32)]) -> RecordBatch {
    let at = rows.iter().map(|(minute, _)| minute.map(|m| m * 60_000_000));
    let at: ArrayRef = Arc::new(at.collect::<TimestampMicrosecondArray>());
    let n: ArrayRef = Arc::new(rows.iter().map(|(_, n)| Some(*n)).collect::<Int32Array>());
    RecordBatch::try_from_iter_with_nullable([("ts", at, true), ("n", n, true)]).unwrap()
}

/// A watermark of so many minutes over `ts`.
pub fn watermark(minutes: u64) -> Option<Watermark> {
    let delay = std::time::Duration::from_secs(minutes * 60);
    Some(Watermark { column: "ts".to_owned(), delay })
}
