//! A lab for a test: a schema of its own on a shared server, a folder, a session.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, Int32Array, Int64Array, RecordBatch, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::prelude::SessionContext;
use partwise_postgres::PostgresSink;
use partwise_stream::sink::{Sink, SinkBatch, SinkQuery, Written};
use partwise_stream::{
    MemorySource, OutputMode, Result, StreamContext, StreamQuery, StreamWriter, Watermark,
    WriteStream,
};
use partwise_testkit::PostgresServer;
use tempfile::TempDir;

pub struct Lab {
    pub server: Arc<PostgresServer>,
    pub schema: String,
    folder: TempDir,
    pub session: SessionContext,
    pub streams: StreamContext,
}

impl Lab {
    /// On the server that the tests share; none where there is none.
    pub fn new(schema: &str) -> Option<Self> {
        let server = PostgresServer::shared("streams into PostgreSQL").unwrap()?;
        Some(Self::on(server, schema))
    }

    pub fn on(server: Arc<PostgresServer>, schema: &str) -> Self {
        let session = SessionContext::new();
        let streams = StreamContext::new(&session);
        partwise_postgres::register(&streams);
        let folder = tempfile::tempdir().unwrap();
        let lab = Self { server, schema: schema.to_owned(), folder, session, streams };
        lab.server.psql(&format!("CREATE SCHEMA \"{schema}\"")).unwrap();
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
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

    /// A stream `pairs` of keys and values, in batches.
    pub fn pairs(&self, batches: &[&[(Option<i32>, i64)]]) -> MemorySource {
        let source = self.memory("pairs", pairs(&[]).schema(), None);
        batches.iter().for_each(|batch| source.add(pairs(batch)).unwrap());
        source
    }

    pub async fn query(&self, sql: &str, name: &str, mode: OutputMode) -> StreamWriter {
        let frame = self.session.sql(sql).await.unwrap();
        frame
            .write_stream()
            .name(name)
            .output_mode(mode)
            .checkpoint(self.path(&format!("ck-{name}")))
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

/// Runs a query to its end.
pub async fn run(writer: StreamWriter) -> Result<StreamQuery> {
    let query = writer.start().await?;
    query.await_termination().await?;
    Ok(query)
}

/// Takes the last commit of a checkpoint away, as if the process had died before writing it.
pub fn forget_last_commit(checkpoint: &Path) -> u64 {
    let commits = checkpoint.join("commits");
    let names = std::fs::read_dir(&commits).unwrap().map(|e| e.unwrap().file_name());
    let last = names.map(|name| name.to_string_lossy().parse::<u64>().unwrap()).max().unwrap();
    std::fs::remove_file(commits.join(last.to_string())).unwrap();
    last
}

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
