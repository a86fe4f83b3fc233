//! `RESTORE TABLE t TO VERSION n`: one more commit, with the content of an earlier one.

use std::time::Instant;

use datafusion::common::ScalarValue;
use datafusion::execution::context::SessionState;
use partwise_commit::{Restore as Wanted, TableSchema};
use partwise_table::FooterRowCounter;
use partwise_table::config::PartwiseConfig;

use crate::report::{RestoredTo, WriteReport};
use crate::statement::{Restore, RestorePoint};
use crate::{Error, Result, functions, lookup, token};

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
    let provider = lookup::changed(state, &name).await?;
    let table = lookup::ours(&restore.table, &provider)?;
    let config = PartwiseConfig::of(state.config_options());
    let version = match &restore.to {
        RestorePoint::Version(version) => *version,
        RestorePoint::Time(text) => {
            let point = functions::point_of(&ScalarValue::from(text.as_str()))
                .map_err(|_| Error::invalid(format!("'{text}' is not a date and time")))?;
            table.table().version_at(point).await?.version
        }
    };
    let wanted = Wanted {
        statement: token::text(state),
        lock_timeout: config.lock_timeout,
        ..Wanted::to(version)
    };
    let rows = FooterRowCounter::new(state.runtime_env());
    let done = table.table().restore(&wanted, &rows).await?;
    let columns = done.schema.partition_columns().to_vec();
    let names = |schema: &TableSchema| -> Vec<String> {
        schema.arrow().fields().iter().map(|field| field.name().clone()).collect()
    };
    let restored = names(&done.schema);
    let restored = (restored != names(table.table_schema())).then_some(restored);
    let relaid = columns != table.table_schema().partition_columns();
    Ok(WriteReport {
        target: name.table().to_owned(),
        committed: done.committed,
        partition_columns: columns,
        token: None,
        restored: Some(RestoredTo { version, undone: done.undone, relaid, columns: restored }),
        changes: None,
        elapsed: started.elapsed(),
    })
}
