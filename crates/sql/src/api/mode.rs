//! What a write does with what is there.

use datafusion::common::ScalarValue;

/// What a write does where the path has data already. Where there is none, each makes the table.
///
/// ```
/// use partwise::datafusion::prelude::SessionContext;
/// use partwise::{SaveMode, Table, WritePartitioned};
///
/// # #[tokio::main]
/// # async fn main() -> partwise::Result<()> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("lake/five");
/// let five = SessionContext::new().sql("SELECT value FROM generate_series(1, 5)").await?;
/// for (mode, rows) in [
///     (SaveMode::ErrorIfExists, 5),
///     (SaveMode::Append, 10),
///     (SaveMode::Ignore, 10),
///     (SaveMode::Overwrite, 5),
/// ] {
///     five.clone().write_partitioned(&path).mode(mode).save().await?;
///     assert_eq!(Table::open(&path).await?.partitions().await?[0].rows, rows);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SaveMode {
    /// An error that names the path; nothing is touched. `CREATE TABLE t AS`.
    #[default]
    ErrorIfExists,
    /// Nothing: the query isn't run. `CREATE TABLE IF NOT EXISTS t AS`.
    Ignore,
    /// Replaces what [`Overwrite`] says. `INSERT OVERWRITE t`.
    Overwrite,
    /// Adds the rows. `INSERT INTO t`.
    Append,
}

/// What [`SaveMode::Overwrite`] replaces.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Overwrite {
    /// The partitions that receive rows, each as a whole; the others stay. The guard watches: a
    /// partition that would lose most of its rows is [`Refused`](crate::ErrorKind::Refused). A table
    /// without partition columns is replaced as a whole.
    Dynamic,
    /// All rows of the table; its columns stay. `INSERT OVERWRITE` in static mode.
    Static,
    /// The table: its rows, columns, partition columns and options. `CREATE OR REPLACE TABLE t AS`.
    Table,
    /// Exactly the partitions with these values in these columns. They end empty if no row is for
    /// them, rows for others are [`Refused`](crate::ErrorKind::Refused), and a column that the query
    /// doesn't have is filled in. `PARTITION (pickup_month = '2024-02')`.
    Partitions(Vec<(String, ScalarValue)>),
}

impl Overwrite {
    /// The partitions with these values.
    ///
    /// ```
    /// use partwise::Overwrite;
    ///
    /// let february = Overwrite::partitions([("pickup_month", "2024-02")]);
    /// ```
    pub fn partitions<N: Into<String>, V: Into<ScalarValue>>(
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        Self::Partitions(values.into_iter().map(|(name, v)| (name.into(), v.into())).collect())
    }
}
