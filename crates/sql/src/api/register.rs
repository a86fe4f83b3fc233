//! Partwise in a session that is there already.

use datafusion::dataframe::DataFrame;
use datafusion::execution::context::SessionContext;

use crate::{Error, Lake, PartwiseContext, Result, place};

/// Gives an existing session Partwise's tables and settings, over the lake `./lake`: see
/// [`register_lake`].
///
/// # Errors
/// As [`register_lake`].
pub fn register(session: &SessionContext) -> Result<()> {
    register_lake(session, "lake")
}

/// Gives an existing session Partwise's tables and settings.
///
/// - The directories of the lake are tables of the session's default schema, and so is any directory
///   by its path in quotes; what the session has registered itself goes first.
/// - `SET partwise.max_shrink = 1` and the other settings are there.
/// - `session.sql("INSERT INTO t ..")` and `INSERT OVERWRITE t` write as one commit. Everything else
///   of Partwise's SQL, such as `PARTITION (..)` or a job's token, goes through [`sql`].
///
/// ```
/// use partwise::datafusion::prelude::SessionContext;
///
/// # #[tokio::main]
/// # async fn main() -> partwise::Result<()> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let lake = folder.path().join("lake");
/// let session = SessionContext::new();
/// partwise::register_lake(&session, lake)?;
/// let create = "CREATE TABLE report (zone INT, month STRING) USING parquet PARTITIONED BY (month)";
/// partwise::sql(&session, create).await?.collect().await?;
/// session.sql("INSERT INTO report VALUES (7, '2024-01')").await?.collect().await?;
/// assert_eq!(session.table("report").await?.count().await?, 1);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// A lake that is a file; a session that Partwise is registered with already; a session whose
/// default catalog takes no schema.
pub fn register_lake(session: &SessionContext, lake: impl Into<Lake>) -> Result<()> {
    if PartwiseContext::of(session).is_ok() {
        return Err(Error::invalid("Partwise is registered with this session already"));
    }
    let lake = place::lake(lake.into())?;
    PartwiseContext::attach(session.clone(), lake).map(drop)
}

/// Plans one statement of Partwise's SQL in a session that it is [registered](register) with. A
/// query or a write runs when the frame is collected; any other statement has been run when this
/// returns.
///
/// # Errors
/// What is wrong with the statement; a session that Partwise isn't registered with.
pub async fn sql(session: &SessionContext, statement: &str) -> Result<DataFrame> {
    PartwiseContext::of(session)?.sql(statement).await
}
