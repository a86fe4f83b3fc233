//! `RESTORE TABLE t TO VERSION n`: one more commit, with the content of an earlier one.

use std::time::Instant;

use datafusion::execution::context::SessionState;
use partwise_commit::Restore as Wanted;
use partwise_table::FooterRowCounter;
use partwise_table::config::PartwiseConfig;

use crate::report::{RestoredTo, WriteReport};
use crate::statement::Restore;
use crate::{Result, lookup, token};

/// Brings a table back to a version.
///
/// # Errors
/// A version that isn't there any more; another tool's files where the version's own are gone.
pub async fn restore(
    state: &SessionState,
    restore: &Restore,
    started: Instant,
) -> Result<WriteReport> {
    let name = lookup::reference(&restore.table.to_string());
    let provider = lookup::table(state, &name).await?;
    let table = lookup::ours(&restore.table, &provider)?;
    let config = PartwiseConfig::of(state.config_options());
    let wanted = Wanted {
        statement: token::text(state),
        lock_timeout: config.lock_timeout,
        ..Wanted::to(restore.version)
    };
    let rows = FooterRowCounter::new(state.runtime_env());
    let done = table.table().restore(&wanted, &rows).await?;
    Ok(WriteReport {
        target: name.table().to_owned(),
        committed: done.committed,
        partition_columns: table.table_schema().partition_columns().to_vec(),
        token: None,
        restored: Some(RestoredTo { version: restore.version, taken_back: done.tokens }),
        elapsed: started.elapsed(),
    })
}
