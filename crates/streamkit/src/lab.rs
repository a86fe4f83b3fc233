//! A folder, a session, streams and queries in them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use partwise_commit::Location;
use partwise_stream::{
    MemorySource, OutputMode, StreamContext, StreamWriter, Watermark, WriteStream,
};
use partwise_table::{OpenOptions, PartwiseTable};
use tempfile::TempDir;

/// A folder of a test's own, and a session with streams.
pub struct Lab {
    folder: TempDir,
    /// The session, of two threads.
    pub session: SessionContext,
    /// Its streams.
    pub streams: StreamContext,
}

impl Lab {
    /// A lab whose session has what `register` puts into it.
    pub fn new(register: impl FnOnce(&StreamContext)) -> Self {
        let config = SessionConfig::new().with_target_partitions(2);
        let session = SessionContext::new_with_config(config);
        let streams = StreamContext::new(&session);
        register(&streams);
        Self { folder: tempfile::tempdir().expect("a folder"), session, streams }
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A stream over rows in memory, one added batch for each of the query's.
    pub fn memory(
        &self,
        name: &str,
        schema: SchemaRef,
        watermark: Option<Watermark>,
    ) -> MemorySource {
        let source = MemorySource::new(schema).max_batches_per_trigger(1);
        self.streams.add_stream(name, Arc::new(source.clone()), watermark).expect("a new stream");
        source
    }

    /// A query with a checkpoint `ck-<name>` in the folder.
    pub async fn query(&self, sql: &str, name: &str, mode: OutputMode) -> StreamWriter {
        let frame = self.session.sql(sql).await.expect("a plan");
        let writer = frame.write_stream().name(name).output_mode(mode);
        writer.checkpoint(self.path(&format!("ck-{name}")))
    }

    /// The rows of a query over the table of Partwise in a directory, which it calls `name`.
    pub async fn table(&self, dir: impl AsRef<Path>, name: &str, sql: &str) -> Vec<String> {
        let session = SessionContext::new();
        let (location, options) = (Location::local(dir.as_ref()), OpenOptions::default());
        let table = PartwiseTable::open(location, options, &session.state()).await;
        let table = table.expect("a table").expect("a table that is there");
        session.register_table(name, Arc::new(table)).expect("a new name");
        rows_of(&session, sql).await
    }

    /// A session with the Parquet files of the folder `landing` as the table `trips`, at rest.
    pub async fn at_rest(&self) -> SessionContext {
        let session = SessionContext::new();
        StreamContext::new(&session);
        let landing = self.path("landing").display().to_string();
        let options = ParquetReadOptions::default();
        session.register_parquet("trips", &landing, options).await.expect("files");
        session
    }
}

/// The rows of a query as lines, in order.
pub async fn rows_of(session: &SessionContext, sql: &str) -> Vec<String> {
    let frame = session.sql(sql).await.expect("a plan");
    rows(frame.collect().await.expect("rows"))
}

/// Rows as lines, in order.
pub fn rows(batches: impl AsRef<[RecordBatch]>) -> Vec<String> {
    let mut lines: Vec<String> = batches.as_ref().iter().flat_map(lines).collect();
    lines.sort();
    lines
}

fn lines(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let formatter = |column| ArrayFormatter::try_new(column, &options).expect("a type with a text");
    let columns: Vec<_> = batch.columns().iter().map(|c| formatter(c.as_ref())).collect();
    let value = |row| move |column: &ArrayFormatter<'_>| column.value(row).to_string();
    (0..batch.num_rows())
        .map(|row| columns.iter().map(value(row)).collect::<Vec<_>>().join(" | "))
        .collect()
}
