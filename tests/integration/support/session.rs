//! A session in the test's own process: what each statement gave, as text.

use std::path::Path;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::TryStreamExt;
use partwise::{Execution, PartwiseContext, Result, Rows};

use super::Folder;

/// A session on a folder's lake.
pub struct Session(PartwiseContext);

/// What a statement gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Gave {
    /// Rows, cells set apart by `|`.
    Rows(Vec<String>),
    /// The commit line without its time.
    Line(String),
    /// A message.
    Message(String),
}

/// The rows of a query that was started, cells set apart by `|`.
pub async fn all_of(rows: Rows) -> Result<Vec<String>> {
    let batches: Vec<RecordBatch> = rows.stream.try_collect().await?;
    Ok(batches.iter().flat_map(lines).collect())
}

impl Session {
    pub async fn open(folder: &Folder) -> Self {
        Self::at(&folder.lake()).await
    }

    /// A session on a lake.
    pub async fn at(lake: &Path) -> Self {
        Self(PartwiseContext::open(lake).await.expect("a session"))
    }

    /// Runs one statement to its end.
    pub async fn run(&self, sql: &str) -> Result<Gave> {
        Ok(match self.0.execute(sql).await? {
            Execution::Rows(rows) => Gave::Rows(all_of(rows).await?),
            Execution::Wrote(report) => Gave::Line(report.untimed_line()),
            Execution::Done(message) => Gave::Message(message.unwrap_or_default()),
        })
    }

    /// Starts a query, whose rows are still to be asked for.
    pub async fn begin(&self, sql: &str) -> Rows {
        match self.0.execute(sql).await {
            Ok(Execution::Rows(rows)) => rows,
            Ok(_) => panic!("{sql} gives rows"),
            Err(error) => panic!("{sql}: {error}"),
        }
    }

    /// Runs a statement that writes: the number of rows that it says it changed.
    pub async fn count(&self, sql: &str) -> Result<u64> {
        match self.0.execute(sql).await? {
            Execution::Wrote(report) => Ok(report.rows()),
            _ => panic!("{sql} writes"),
        }
    }

    /// Runs statements that must succeed, one after the other; the last one's result.
    pub async fn all(&self, statements: &[&str]) -> Gave {
        let mut gave = Gave::Rows(Vec::new());
        for sql in statements {
            gave = self.run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        gave
    }

    /// The rows of a query.
    pub async fn rows(&self, sql: &str) -> Vec<String> {
        match self.all(&[sql]).await {
            Gave::Rows(rows) => rows,
            other => panic!("{sql} gives rows: {other:?}"),
        }
    }
}

fn lines(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns = batch.columns().iter();
    let columns: Vec<_> = columns
        .map(|column| ArrayFormatter::try_new(column, &options).expect("a column as text"))
        .collect();
    let cells = |row: usize| columns.iter().map(move |c| c.value(row).to_string());
    (0..batch.num_rows()).map(|row| cells(row).collect::<Vec<_>>().join("|")).collect()
}
