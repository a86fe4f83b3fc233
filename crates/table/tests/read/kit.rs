//! Foreign trees, made with the Parquet writer alone, and sessions to query them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::physical_plan::metrics::MetricValue;
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use partwise_commit::{Location, TableSchema};
use partwise_table::config::PartwiseConfig;
use partwise_table::{CountTotals, OpenOptions, PartwiseTable};
use tempfile::TempDir;

/// A directory that is removed at the end of the test.
pub struct Tree {
    dir: TempDir,
}

impl Tree {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("t")
    }

    pub fn file(&self, path: &str, batch: &RecordBatch) -> &Self {
        self.file_with(path, batch, WriterProperties::default())
    }

    pub fn file_with(
        &self,
        path: &str,
        batch: &RecordBatch,
        properties: WriterProperties,
    ) -> &Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_parquet(&path, batch, properties);
        self
    }

    /// `v` from 1 to `rows`, `x` half of it.
    pub fn rows(&self, path: &str, rows: i64) -> &Self {
        self.file(path, &numbers(rows))
    }

    pub async fn open(&self) -> PartwiseTable {
        open(&self.path(), None).await.unwrap()
    }
}

pub fn write_parquet(path: &Path, batch: &RecordBatch, properties: WriterProperties) {
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

pub fn numbers(rows: i64) -> RecordBatch {
    let v: ArrayRef = Arc::new(Int64Array::from_iter_values(1..=rows));
    let x: ArrayRef = Arc::new(Float64Array::from_iter_values((1..=rows).map(|v| v as f64 / 2.0)));
    RecordBatch::try_from_iter([("v", v), ("x", x)]).unwrap()
}

pub async fn open(
    path: &Path,
    schema: Option<TableSchema>,
) -> datafusion::error::Result<PartwiseTable> {
    let context = SessionContext::new();
    let options = OpenOptions { schema };
    let table = PartwiseTable::open(Location::local(path), options, &context.state()).await?;
    Ok(table.expect("a table is there"))
}

/// A session in which `t` is the table. Totals are counted, as under EXPLAIN.
pub fn session(table: PartwiseTable) -> SessionContext {
    session_with(table, true, |_| ())
}

pub fn session_with(
    table: PartwiseTable,
    prune: bool,
    settings: impl FnOnce(&mut SessionConfig),
) -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(2);
    config.set_extension(Arc::new(CountTotals));
    let partwise = PartwiseConfig { prune, ..PartwiseConfig::default() };
    config.options_mut().extensions.insert(partwise);
    settings(&mut config);
    let context = SessionContext::new_with_config(config);
    context.register_table("t", Arc::new(table)).unwrap();
    context
}

/// Rows as text, values joined by `|`, in order of the text.
pub fn sorted_rows(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let values: Vec<_> = columns.iter().map(|c| c.value(row).to_string()).collect();
            rows.push(values.join("|"));
        }
    }
    rows.sort();
    rows
}

pub async fn query(context: &SessionContext, sql: &str) -> Vec<String> {
    sorted_rows(&context.sql(sql).await.unwrap().collect().await.unwrap())
}

pub async fn error(context: &SessionContext, sql: &str) -> String {
    let planned = match context.sql(sql).await {
        Ok(frame) => frame.collect().await,
        Err(error) => Err(error),
    };
    planned.expect_err("an error").to_string()
}

pub async fn plan(context: &SessionContext, sql: &str) -> Arc<dyn ExecutionPlan> {
    context.sql(sql).await.unwrap().create_physical_plan().await.unwrap()
}

/// The scan's line of the indented plan.
pub async fn scan_line(context: &SessionContext, sql: &str) -> String {
    let plan = plan(context, sql).await;
    let text = displayable(plan.as_ref()).indent(false).to_string();
    text.lines().find(|line| line.contains("DataSourceExec")).unwrap().trim().to_string()
}

/// `partitions=n/m` of the scan.
pub async fn partitions(context: &SessionContext, sql: &str) -> String {
    let line = scan_line(context, sql).await;
    let from = line.find("partitions=").unwrap() + "partitions=".len();
    line[from..].split(',').next().unwrap().to_string()
}

/// Runs the query and gives a figure of its scans, summed.
pub async fn figure(context: &SessionContext, sql: &str, name: &str) -> usize {
    let plan = plan(context, sql).await;
    collect(Arc::clone(&plan), context.task_ctx()).await.unwrap();
    sum_of(plan.as_ref(), name)
}

fn sum_of(plan: &dyn ExecutionPlan, name: &str) -> usize {
    let own: usize = plan
        .metrics()
        .map(|metrics| metrics.iter().map(|metric| value_of(metric.value(), name)).sum())
        .unwrap_or(0);
    own + plan.children().iter().map(|child| sum_of(child.as_ref(), name)).sum::<usize>()
}

fn value_of(value: &MetricValue, name: &str) -> usize {
    if value.name() == name { value.as_usize() } else { 0 }
}
