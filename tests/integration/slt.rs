//! `tests/slt/*.slt`: the record of SQL behaviour, each on a local disk and on a memory store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::TryStreamExt;
use object_store::memory::InMemory;
use partwise::sql::{ContextOptions, Execution, Lake, PartwiseContext};
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, Runner};

struct Database(PartwiseContext);

#[async_trait]
impl AsyncDB for Database {
    type Error = partwise::sql::Error;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Self::Error> {
        match self.0.execute(sql).await? {
            Execution::Rows(rows) => {
                let types = vec![DefaultColumnType::Any; rows.schema.fields().len()];
                let batches: Vec<RecordBatch> = rows.stream.try_collect().await?;
                let mut lines = Vec::new();
                for batch in &batches {
                    lines.extend(lines_of(batch)?);
                }
                Ok(DBOutput::Rows { types, rows: lines })
            }
            Execution::Wrote(report) => Ok(DBOutput::StatementComplete(report.rows())),
            Execution::Done(_) => Ok(DBOutput::StatementComplete(0)),
        }
    }

    async fn shutdown(&mut self) {}

    fn engine_name(&self) -> &str {
        "partwise"
    }
}

fn lines_of(batch: &RecordBatch) -> Result<Vec<Vec<String>>, partwise::sql::Error> {
    let options = FormatOptions::default().with_null("NULL");
    let columns = batch.columns().iter();
    let columns: Vec<_> =
        columns.map(|c| ArrayFormatter::try_new(c, &options)).collect::<Result<_, _>>()?;
    let cell = |column: &ArrayFormatter<'_>, row: usize| match column.value(row).to_string() {
        text if text.is_empty() => "(empty)".to_owned(),
        text => text,
    };
    Ok((0..batch.num_rows()).map(|row| columns.iter().map(|c| cell(c, row)).collect()).collect())
}

fn scripts() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let entries = std::fs::read_dir(dir).expect("the scripts");
    let mut found: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    found.retain(|path| path.extension().is_some_and(|e| e == "slt"));
    found.sort();
    assert!(!found.is_empty());
    found
}

async fn run_all(lake: impl Fn() -> Lake) {
    for script in scripts() {
        let lake = lake();
        let mut runner = Runner::new(|| {
            let options =
                ContextOptions { lake: lake.clone(), threads: Some(2), ..Default::default() };
            async move { PartwiseContext::with_options(options).await.map(Database) }
        });
        if let Err(error) = runner.run_file_async(&script).await {
            panic!("{}", error.display(false));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_of_sql_behaviour_holds_on_a_local_disk() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let counter = std::sync::atomic::AtomicUsize::new(0);
    run_all(|| {
        let n = counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Lake::Directory(folder.path().join(format!("lake{n}")))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_of_sql_behaviour_holds_on_a_memory_store() {
    run_all(|| Lake::Store { store: Arc::new(InMemory::new()), prefix: "lake".into() }).await;
}
