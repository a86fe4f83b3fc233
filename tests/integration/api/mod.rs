//! The Rust API, as an application uses it: through the facade alone.

mod hooks;
mod programs;
mod register;
mod save;
mod statements;
mod table;
mod wrong;

use std::path::PathBuf;

use partwise::datafusion::arrow::util::pretty::pretty_format_batches;
use partwise::datafusion::prelude::{DataFrame, SessionContext};
use partwise::{PartitionedWrite, SaveMode, Table, WritePartitioned};
use tempfile::TempDir;

/// Six rows in three partitions.
const ROWS: &str =
    "SELECT * FROM (VALUES (1, 'a'), (2, 'a'), (3, 'a'), (4, 'b'), (5, 'b'), (6, 'c')) AS v (n, p)";

/// A folder with a table's path in it, which nothing is at.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// With the six rows, written by a session that knows nothing of Partwise.
    async fn filled() -> Self {
        let place = Self::new();
        let write = place.write(ROWS).await.partition_by(["p"]);
        write.save().await.expect("the six rows");
        place
    }

    fn lake(&self) -> PathBuf {
        self.folder.path().join("lake")
    }

    fn path(&self) -> PathBuf {
        self.lake().join("t")
    }

    /// A write of a query's rows.
    async fn write(&self, sql: &str) -> PartitionedWrite {
        frame(sql).await.write_partitioned(self.path())
    }

    /// A write that overwrites.
    async fn overwrite(&self, sql: &str) -> PartitionedWrite {
        self.write(sql).await.mode(SaveMode::Overwrite)
    }

    async fn table(&self) -> Table {
        Table::open(self.path()).await.expect("the table")
    }

    /// Partition and rows, as text: `p=a: 3`.
    async fn partitions(&self) -> Vec<String> {
        let partitions = self.table().await.partitions().await.expect("the partitions");
        partitions.iter().map(|found| format!("{}: {}", found.values, found.rows)).collect()
    }
}

/// A frame of a session that knows nothing of Partwise.
async fn frame(sql: &str) -> DataFrame {
    SessionContext::new().sql(sql).await.expect(sql)
}

/// The rows of a frame as text, cell by cell, without the frame's lines.
async fn rows(frame: DataFrame) -> Vec<String> {
    let batches = frame.collect().await.expect("rows");
    let table = pretty_format_batches(&batches).expect("a table").to_string();
    let lines = table.lines().filter(|line| line.starts_with('|')).skip(1);
    lines
        .map(|line| line.replace('|', " ").split_whitespace().collect::<Vec<_>>().join(","))
        .collect()
}
