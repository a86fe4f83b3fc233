//! A lab for a test: a folder, a session, streams over files of invented trips.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use partwise_commit::Location;
use partwise_stream::{
    MemorySource, OutputMode, Result, StreamContext, StreamDefinition, StreamQuery, StreamWriter,
    Watermark, WriteStream,
};
use partwise_table::{OpenOptions, PartwiseTable};
use tempfile::TempDir;

/// Trips by hour and zone, with the month that the table is partitioned by.
pub const REPORT: &str = "SELECT tumble(ts, INTERVAL '1 hour') AS hour, zone, \
     to_char(tumble(ts, INTERVAL '1 hour'), '%Y-%m') AS month, count(*) AS trips, \
     sum(amount) AS revenue FROM trips GROUP BY tumble(ts, INTERVAL '1 hour'), zone";

/// What is compared of it: to the cent.
pub const TO_THE_CENT: &str =
    "SELECT hour, zone, month, trips, CAST(round(revenue * 100) AS BIGINT) AS cents FROM report";

pub struct Lab {
    folder: TempDir,
    pub session: SessionContext,
    pub streams: StreamContext,
}

impl Lab {
    pub fn new() -> Self {
        let session =
            SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
        let streams = StreamContext::new(&session);
        Self { folder: tempfile::tempdir().unwrap(), session, streams }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
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

    /// A stream over rows in memory, one added batch for each of the query's.
    pub fn memory(
        &self,
        name: &str,
        schema: SchemaRef,
        watermark: Option<Watermark>,
    ) -> MemorySource {
        let source = MemorySource::new(schema).max_batches_per_trigger(1);
        self.streams.add_stream(name, Arc::new(source.clone()), watermark).unwrap();
        source
    }

    /// A query with a checkpoint in the lab's folder.
    pub async fn query(&self, sql: &str, name: &str, mode: OutputMode) -> StreamWriter {
        let frame = self.session.sql(sql).await.unwrap();
        frame
            .write_stream()
            .name(name)
            .output_mode(mode)
            .checkpoint(self.path(&format!("ck-{name}")))
    }

    /// The rows of a query over a table of Partwise, in order.
    pub async fn table(&self, dir: impl AsRef<Path>, name: &str, sql: &str) -> Vec<String> {
        let location = Location::local(dir.as_ref());
        let session = SessionContext::new();
        let state = session.state();
        let table = PartwiseTable::open(location, OpenOptions::default(), &state).await.unwrap();
        session.register_table(name, Arc::new(table.unwrap())).unwrap();
        rows(session.sql(sql).await.unwrap().collect().await.unwrap())
    }

    /// The rows of the same query over the files at rest.
    pub async fn batch(&self, sql: &str, then: &str, as_name: &str) -> Vec<String> {
        let session = SessionContext::new();
        StreamContext::new(&session);
        let landing = self.path("landing").display().to_string();
        session.register_parquet("trips", &landing, ParquetReadOptions::default()).await.unwrap();
        let report = session.sql(sql).await.unwrap().into_view();
        session.register_table(as_name, report).unwrap();
        rows(session.sql(then).await.unwrap().collect().await.unwrap())
    }

    /// The report as the batch query gives it.
    pub async fn expected(&self) -> Vec<String> {
        self.batch(REPORT, TO_THE_CENT, "report").await
    }
}

/// Runs a query to its end.
pub async fn run(writer: StreamWriter) -> Result<StreamQuery> {
    let query = writer.start().await?;
    query.await_termination().await?;
    Ok(query)
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

pub fn write_parquet(path: &Path, rows: &RecordBatch) {
    let temporary = path.with_file_name("_writing");
    let file = std::fs::File::create(&temporary).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    std::fs::rename(temporary, path).unwrap();
}

/// Rows as lines, in order.
pub fn rows(batches: Vec<RecordBatch>) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut lines = Vec::new();
    for batch in &batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let line: Vec<String> = columns.iter().map(|c| c.value(row).to_string()).collect();
            lines.push(line.join(" | "));
        }
    }
    lines.sort();
    lines
}

/// Takes the last commit of a checkpoint away, as if the process had died before writing it.
pub fn forget_last_commit(checkpoint: &Path) -> u64 {
    let commits = checkpoint.join("commits");
    let names = std::fs::read_dir(&commits).unwrap().map(|e| e.unwrap().file_name());
    let last = names.map(|name| name.to_string_lossy().parse::<u64>().unwrap()).max().unwrap();
    std::fs::remove_file(commits.join(last.to_string())).unwrap();
    last
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
