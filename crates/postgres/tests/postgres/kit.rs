//! A schema of its own on a shared server, with the lab that all tests of streams have.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, Int32Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
};
use partwise_postgres::PostgresSink;
use partwise_stream::sink::{Sink, SinkBatch, SinkQuery, Written};
use partwise_stream::{MemorySource, OutputMode, Result};
pub use partwise_streamkit::{forget_last_commit, run};
use partwise_testkit::PostgresServer;

pub struct Lab {
    pub server: Arc<PostgresServer>,
    pub schema: String,
    streams: partwise_streamkit::Lab,
}

impl Deref for Lab {
    type Target = partwise_streamkit::Lab;

    fn deref(&self) -> &Self::Target {
        &self.streams
    }
}

impl Lab {
    /// On the server that the tests share; none where there is none.
    pub fn new(schema: &str) -> Option<Self> {
        let server = PostgresServer::shared("streams into PostgreSQL").unwrap()?;
        Some(Self::on(server, schema))
    }

    pub fn on(server: Arc<PostgresServer>, schema: &str) -> Self {
        let streams = partwise_streamkit::Lab::new(partwise_postgres::register);
        let lab = Self { server, schema: schema.to_owned(), streams };
        lab.server.psql(&format!("CREATE SCHEMA \"{schema}\"")).unwrap();
        lab
    }

    /// What a script gives, in lines, errors among them.
    pub fn sql(&self, script: &str) -> Vec<String> {
        let script = format!(
            "\\set QUIET on\nSET search_path = \"{}\";\nSET timezone = 'UTC';\n{script};\n",
            self.schema
        );
        let said = self.server.psql(&script).unwrap();
        said.lines().map(str::to_owned).collect()
    }

    pub fn sink(&self, table: &str) -> PostgresSink {
        PostgresSink::new(&self.server.url(), &format!("\"{}\".{table}", self.schema)).unwrap()
    }

    /// A stream `pairs` of keys and values, in batches.
    pub fn pairs(&self, batches: &[&[(Option<i32>, i64)]]) -> MemorySource {
        let source = self.memory("pairs", pairs(&[]).schema(), None);
        batches.iter().for_each(|batch| source.add(pairs(batch)).unwrap());
        source
    }

    /// The batches that a query gives to a sink, which gets none of them.
    pub async fn recorded(
        &self,
        sql: &str,
        mode: OutputMode,
        sink: &PostgresSink,
    ) -> Vec<SinkBatch> {
        let recorder = Recorder { inner: sink.clone(), seen: Arc::default() };
        let seen = Arc::clone(&recorder.seen);
        run(self.query(sql, "q", mode).await.sink(recorder)).await.unwrap();
        let seen = seen.lock().unwrap();
        seen.clone()
    }
}

/// Sums and counts by key.
pub const SUMS: &str = "SELECT k, count(*) AS n, sum(v) AS total FROM pairs GROUP BY k";

pub fn pairs(rows: &[(Option<i32>, i64)]) -> RecordBatch {
    let k: ArrayRef = Arc::new(rows.iter().map(|(k, _)| *k).collect::<Int32Array>());
    let v: ArrayRef = Arc::new(rows.iter().map(|(_, v)| Some(*v)).collect::<Int64Array>());
    RecordBatch::try_from_iter_with_nullable([("k", k, true), ("v", v, true)]).unwrap()
}

/// A timestamp column in minutes and an integer one.
pub fn events(rows: &[(i64, i32)]) -> RecordBatch {
    let ts = rows.iter().map(|(minute, _)| Some(minute * 60_000_000));
    let ts: ArrayRef = Arc::new(ts.collect::<TimestampMicrosecondArray>());
    let n: ArrayRef = Arc::new(rows.iter().map(|(_, n)| Some(*n)).collect::<Int32Array>());
    RecordBatch::try_from_iter_with_nullable([("ts", ts, true), ("n", n, true)]).unwrap()
}

/// Opens a sink and keeps what would be written to it.
#[derive(Debug)]
struct Recorder {
    inner: PostgresSink,
    seen: Arc<Mutex<Vec<SinkBatch>>>,
}

#[async_trait]
impl Sink for Recorder {
    fn describe(&self) -> String {
        self.inner.describe()
    }

    fn keys(&self) -> &[String] {
        self.inner.keys()
    }

    async fn open(&self, query: &SinkQuery) -> Result<()> {
        self.inner.open(query).await
    }

    async fn write(&self, batch: SinkBatch) -> Result<Written> {
        self.seen.lock().unwrap().push(batch);
        Ok(Written::Rows(0))
    }
}
