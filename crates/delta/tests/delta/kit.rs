//! Delta tables, and streams over files of invented trips, in the lab that all tests of streams have.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Decimal128Array, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use datafusion::prelude::SessionContext;
use deltalake::DeltaTable;
use partwise_delta::DeltaSink;
use partwise_stream::{MemorySource, StreamDefinition};
use partwise_streamkit::write_parquet;
pub use partwise_streamkit::{copy_folder, forget_last_commit, run};
use url::Url;

pub struct Lab(partwise_streamkit::Lab);

impl Deref for Lab {
    type Target = partwise_streamkit::Lab;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Lab {
    pub fn new() -> Self {
        Self(partwise_streamkit::Lab::new(partwise_delta::register))
    }

    /// The stream `trips` over so many files in a folder `landing`, two for each batch.
    pub async fn with_trips(files: usize) -> Self {
        let lab = Self::new();
        lab.land(0..files);
        lab.stream("trips", 2).await;
        lab
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
        let source = self.0.memory(name, rows[0].schema(), None);
        rows.iter().for_each(|rows| source.add(rows.clone()).unwrap());
        source
    }

    /// The Delta table of a name.
    pub fn sink(&self, table: &str) -> DeltaSink {
        sink_at(&self.path(table))
    }

    /// The rows of a query over the files at rest, as the stream would have them.
    pub async fn batch(&self, sql: &str) -> Vec<String> {
        partwise_streamkit::rows_of(&self.at_rest().await, sql).await
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
    partwise_streamkit::rows_of(&session, sql).await
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
