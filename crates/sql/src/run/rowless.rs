//! Commits of statements without rows: decided while they are planned, nothing read, no file
//! written.

use std::collections::BTreeMap;
use std::time::Instant;

use datafusion::execution::context::SessionState;
use partwise_commit::{Committed, Table, TableSchema};
use partwise_table::FooterRowCounter;
use partwise_table::write::WriteSpec;

use crate::Result;
use crate::report::WriteReport;

/// What the write of the spec's token committed, where it has been applied already; it counts as a
/// step of its job then.
pub async fn applied(table: &Table, spec: &WriteSpec) -> Result<Option<Committed>> {
    let Some(token) = &spec.token else { return Ok(None) };
    let applied = table.applied(token).await?;
    if let Some(committed) = &applied {
        spec.outcome.set(committed.clone());
    }
    Ok(applied)
}

/// Commits what `spec` says, without files, to a table of this schema and these properties.
///
/// # Errors
/// A conflict, or a table that can't be written.
pub async fn commit(
    state: &SessionState,
    table: &Table,
    schema: &TableSchema,
    properties: BTreeMap<String, String>,
    spec: &WriteSpec,
) -> Result<Committed> {
    let transaction = table.begin(schema, properties).await?;
    let change = spec.change(table.location(), vec![]);
    let committed = transaction.commit(change, &FooterRowCounter::new(state.runtime_env())).await?;
    spec.outcome.set(committed.clone());
    Ok(committed)
}

/// The report of such a commit.
pub fn report(
    target: &str,
    schema: &TableSchema,
    spec: &WriteSpec,
    committed: Committed,
    started: Instant,
) -> WriteReport {
    WriteReport {
        target: target.to_owned(),
        committed,
        partition_columns: schema.partition_columns().to_vec(),
        token: spec.token.clone(),
        restored: None,
        changes: None,
        elapsed: started.elapsed(),
    }
}
