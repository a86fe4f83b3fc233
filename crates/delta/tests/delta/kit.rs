//! A lab for a test: a folder, a session, streams over files of invented trips, Delta tables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Decimal128Array, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use deltalake::DeltaTable;
use partwise_delta::DeltaSink;
use partwise_stream::{
    MemorySource, OutputMode, Result, StreamContext, StreamDefinition, StreamQuery, StreamWriter,
    WriteStream,
};
use tempfile::TempDir;
use url::Url;

pub struct Lab {
    folder: TempDir,
    pub session: SessionContext,
    pub streams: StreamContext,
}

impl Lab {
    pub fn new() -> Self {
        let config = SessionConfig::new().with_target_partitions(2);
        let session = SessionContext::new_with_config(config);
        let streams = StreamContext::new(&session);
        partwise_delta::register(&streams);
        Self { folder: tempfile::tempdir().unwrap(), session, streams }
    }

    /// The stream `trips` over so many files in a folder `landing`, two for each batch.
    pub async fn with_trips(files: usize) -> Self {
        let lab = Self::new();
        lab.land(0..files);
        lab.stream("trips", 2).await;
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn land(&self, files: std::ops::Range<usize>) {
        let landing = self.path("landing");
        std::fs::create_dir_all(&landing).unwrap();
        for file in files {
            write_parquet(&landing.join(format!("{file:03}.parquet")), &trips_of(file));
        }
    }

    /// A stream over the folder `landing`.
    pub async fn stream(&self, name: &str, per_trigger: usize) {
        self.stream_of(&self.path("landing"), name, per_trigger).await;
    }

    pub async fn stream_of(&self, landing: &Path, name: &str, per_trigger: usize) {
        let definition = StreamDefinition::files(name, landing.display().to_string())
            .option("max_files_per_trigger", per_trigger.to_string())
            .watermark("ts", std::time::Duration::from_secs(3_600));
        self.streams.create_stream(&definition).await.unwrap();
    }

    /// A stream over rows in memory, one added batch for each of the query's.
    pub fn memory(&self, name: &str, rows: &[RecordBatch]) -> MemorySource {
        let source = MemorySource::new(rows[0].schema()).max_batches_per_trigger(1);
        self.streams.add_stream(name, Arc::new(source.clone()), None).unwrap();
        for rows in rows {
            source.add(rows.clone()).unwrap();
        }
        source
    }

    /// A query with a checkpoint in the lab's folder.
    pub async fn query(&self, sql: &str, name: &str, mode: OutputMode) -> StreamWriter {
        let frame = self.session.sql(sql).await.unwrap();
        let writer = frame.write_stream().name(name).output_mode(mode);
        writer.checkpoint(self.path(&format!("ck-{name}")))
    }

    /// The Delta table of a name.
    pub fn sink(&self, table: &str) -> DeltaSink {
        sink_at(&self.path(table))
    }

    /// The rows of a query over the files at rest, as the stream would have them.
    pub async fn batch(&self, sql: &str) -> Vec<String> {
        let session = SessionContext::new();
        StreamContext::new(&session);
        let landing = self.path("landing").display().to_string();
        session.register_parquet("trips", &landing, ParquetReadOptions::default()).await.unwrap();
        lines(&session.sql(sql).await.unwrap().collect().await.unwrap())
    }

    /// The rows of a Delta table.
    pub async fn rows(&self, table: &str) -> Vec<String> {
        rows_of(&self.table(table).await, "SELECT * FROM t").await
    }

    pub async fn table(&self, table: &str) -> DeltaTable {
        open(&self.path(table)).await
    }
}

pub fn sink_at(path: &Path) -> DeltaSink {
    DeltaSink::new(path.to_str().unwrap(), &BTreeMap::new()).unwrap()
}

pub async fn open(path: &Path) -> DeltaTable {
    deltalake::open_table(Url::from_directory_path(path).unwrap()).await.unwrap()
}

pub async fn rows_of(table: &DeltaTable, sql: &str) -> Vec<String> {
    let session = SessionContext::new();
    table.update_datafusion_session(&session.state()).unwrap();
    session.register_table("t", table.table_provider().await.unwrap()).unwrap();
    lines(&session.sql(sql).await.unwrap().collect().await.unwrap())
}

/// Runs a query to its end.
pub async fn run(writer: StreamWriter) -> Result<StreamQuery> {
    let query = writer.start().await?;
    query.await_termination().await?;
    Ok(query)
}

/// Trips of a file: hours, zones with NULL, long tags that begin alike, prices to the cent.
pub fn trips_of(file: usize) -> RecordBatch {
    const ROWS: usize = 100;
    let number = |row: usize, salt: usize| (file * 7_919 + row * 104_729 + salt * 31) % 1_000;
    let time = |row: usize| {
        let hour = 473_352 + (file * 10 + row / 10) as i64;
        hour * 3_600_000_000 + (number(row, 1) as i64 % 4) * 900_000_001
    };
    let times: ArrayRef =
        Arc::new(TimestampMicrosecondArray::from_iter_values((0..ROWS).map(time)));
    let zone = |row| (!number(row, 2).is_multiple_of(10)).then_some(number(row, 2) as i32 % 9);
    let zones: ArrayRef = Arc::new((0..ROWS).map(zone).collect::<Int32Array>());
    let price = |row| number(row, 4) as i128 + 250;
    let prices = Decimal128Array::from_iter_values((0..ROWS).map(price));
    let prices: ArrayRef = Arc::new(prices.with_precision_and_scale(10, 2).unwrap());
    let tag = |row| {
        let tag = number(row, 5) % 17;
        (tag != 0).then(|| format!("{}{tag}", "a tag that is longer than statistics ".repeat(3)))
    };
    let tags: ArrayRef = Arc::new((0..ROWS).map(tag).collect::<StringArray>());
    let columns = [("ts", times), ("zone", zones), ("price", prices), ("tag", tags)];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
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
pub fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut lines = Vec::new();
    for batch in batches {
        let formatter = |column| ArrayFormatter::try_new(column, &options).unwrap();
        let columns: Vec<_> = batch.columns().iter().map(|c| formatter(c.as_ref())).collect();
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

pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}
