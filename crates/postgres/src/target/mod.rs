//! The table that rows go to: made, or checked.
//!
//! ```text
//! open: one transaction, one at a time
//!    |  make      not there: columns from the query, unique by key or by batch
//!    |  check     there: columns, types, the unique index
//!    v  ledger    claimed for the query
//! ```

mod check;
mod columns;
mod make;
mod name;

pub(crate) use name::{TableName, list, quoted};

use partwise_stream::sink::SinkQuery;
use partwise_stream::{Error, OutputMode, Result};
use tokio_postgres::{Client, Transaction};

use crate::kind::Kind;
use crate::ledger::Ledger;
use crate::trouble::Trouble;

/// The columns that a table has besides the query's.
pub(crate) const QUERY_ID: &str = "query_id";
pub(crate) const BATCH_ID: &str = "batch_id";
pub(crate) const ROW_ID: &str = "row_id";

/// The oldest version of the server.
const OLDEST: i32 = 120_000;
/// The one that can have two NULLs be the same.
const NULLS_NOT_DISTINCT: i32 = 150_000;
/// The number of the lock that those who make tables take: `partwise` in ASCII.
const LOCK: i64 = 0x7061_7274_7769_7365;

/// A column of the query in the table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Its name in the table.
    pub name: String,
    /// Its place among the query's.
    pub from: usize,
    /// The table's type, and the limits that it has there.
    pub kind: Kind,
    pub typmod: i32,
}

/// How a row is told apart, and what a batch does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// By query, batch and number: rows are added.
    Rows,
    /// The same: rows take the place of all of the query's.
    Whole,
    /// By these columns: rows take the place of those with equal keys. Where one batch may have
    /// several of one key, the last counts.
    Keyed { keys: Vec<String>, several: bool },
}

impl Layout {
    /// That of a query; `named` are the keys of the statement.
    ///
    /// # Errors
    /// An update without keys.
    pub fn of(query: &SinkQuery, named: &[String]) -> Result<Self> {
        let keyed = |several| Self::Keyed { keys: query.keys.clone(), several };
        match query.mode {
            OutputMode::Complete => Ok(Self::Whole),
            OutputMode::Append if named.is_empty() => Ok(Self::Rows),
            OutputMode::Append => Ok(keyed(true)),
            OutputMode::Update if query.keys.is_empty() => Err(Error::invalid(
                "OUTPUT MODE update replaces rows by their keys, and the query has no group columns: \
                 use complete, whose one row is the whole result",
            )),
            OutputMode::Update => Ok(keyed(false)),
        }
    }

    /// The columns that no two rows have the same values in.
    fn unique(&self) -> Vec<String> {
        match self {
            Self::Rows | Self::Whole => [QUERY_ID, BATCH_ID, ROW_ID].map(str::to_owned).to_vec(),
            Self::Keyed { keys, .. } => keys.clone(),
        }
    }

    /// The columns besides the query's, with their types.
    fn own(&self) -> &'static [(&'static str, Kind)] {
        const ALL: [(&str, Kind); 3] =
            [(QUERY_ID, Kind::Uuid), (BATCH_ID, Kind::Int8), (ROW_ID, Kind::Int8)];
        match self {
            Self::Rows | Self::Whole => &ALL,
            Self::Keyed { .. } => ALL.split_at(2).0,
        }
    }
}

/// A table and how a query's rows go into it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub name: TableName,
    pub columns: Vec<Column>,
    pub layout: Layout,
}

/// Makes or checks the table of a query, and claims it.
///
/// # Errors
/// A table that doesn't fit, or that isn't this query's; what the server says.
pub(crate) async fn open(
    client: &mut Client,
    name: &TableName,
    query: &SinkQuery,
    named: &[String],
) -> Result<Target, Trouble> {
    let layout = Layout::of(query, named)?;
    check_names(query, &layout)?;
    let transaction = client.transaction().await?;
    let alone = transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await;
    alone.map_err(|error| Trouble::of_lock(error, &format!("the advisory lock {LOCK}")))?;
    let version = version(&transaction).await?;
    let ledger = Ledger::of(name);
    ledger.make(&transaction).await?;
    if check::oid(&transaction, name).await?.is_none() {
        // It isn't made anew for a query that has written to it.
        ledger.check_without_table(query)?;
        make::table(&transaction, name, query, &layout, version).await?;
    }
    let target = check::table(&transaction, name, query, layout, version).await?;
    ledger.claim(&transaction, query, &target.layout).await?;
    transaction.commit().await?;
    Ok(target)
}

async fn version(transaction: &Transaction<'_>) -> Result<i32, Trouble> {
    let ask = "SELECT current_setting('server_version_num')::int4";
    let version: i32 = transaction.query_one(ask, &[]).await?.try_get(0)?;
    match version {
        OLDEST.. => Ok(version),
        older => Err(Error::unsupported(format!(
            "the server is PostgreSQL {}: it takes 12 or later",
            older / 10_000
        ))
        .into()),
    }
}

/// Checks the names of the query's columns.
fn check_names(query: &SinkQuery, layout: &Layout) -> Result<()> {
    for field in query.schema.fields() {
        name::check_length(field.name())?;
        if layout.own().iter().any(|(own, _)| field.name().eq_ignore_ascii_case(own)) {
            return Err(Error::invalid(format!(
                "the query's column {} has the name of one that the table has besides ({}, {} and \
                 {}): give it another with AS",
                field.name(),
                QUERY_ID,
                BATCH_ID,
                ROW_ID
            )));
        }
    }
    Ok(())
}
