//! `TRUNCATE TABLE` and `ALTER TABLE .. DROP PARTITION`: partitions end empty, nothing is read.

use std::time::Instant;

use datafusion::execution::context::SessionState;
use partwise_commit::{Coverage, Operation, RecordedOperation, Scope};
use partwise_table::PartwiseTable;

use super::{Planned, rowless};
use crate::plan::insert::write_spec;
use crate::plan::partitions::{Named, emptied};
use crate::statement::{PartitionItem, Truncate};
use crate::{Error, Result, lookup};

/// Empties a table, or partitions of it that may be there or not.
///
/// # Errors
/// What is wrong with the clause; a table that can't be written.
pub async fn truncate(state: &SessionState, truncate: &Truncate) -> Result<Planned> {
    let name = lookup::reference(&truncate.table.to_string());
    let provider = lookup::changed(state, &name).await?;
    let table = lookup::ours(&truncate.table, &provider)?;
    let (operation, scope) = match &truncate.partition {
        None => (Operation::Overwrite(Coverage::Matching(vec![])), None),
        Some(items) => emptied(&[Named::new(state, table.table_schema(), items)?]),
    };
    let what = (RecordedOperation::Truncate, operation, scope);
    empty(state, name.table(), table, what, Missing::Passed).await
}

/// Drops the partitions of one clause or several.
///
/// # Errors
/// As [`truncate`]; a clause that no partition matches, unless that is fine.
pub async fn drop_partitions(
    state: &SessionState,
    name: &str,
    table: &PartwiseTable,
    specs: &[Vec<PartitionItem>],
    if_exists: bool,
) -> Result<Planned> {
    let schema = table.table_schema();
    let named = specs.iter().map(|items| Named::new(state, schema, items));
    let named = named.collect::<Result<Vec<_>>>()?;
    let (operation, scope) = emptied(&named);
    let missing = if if_exists { Missing::Passed } else { Missing::Refused(&named) };
    empty(state, name, table, (RecordedOperation::DropPartition, operation, scope), missing).await
}

/// What becomes of clauses that no partition matches.
enum Missing<'a> {
    Passed,
    Refused(&'a [Named]),
}

async fn empty(
    state: &SessionState,
    name: &str,
    table: &PartwiseTable,
    (recorded_as, operation, scope): (RecordedOperation, Operation, Option<Scope>),
    missing: Missing<'_>,
) -> Result<Planned> {
    let started = Instant::now();
    let (schema, properties) = (table.table_schema(), table.properties().clone());
    let mut spec = write_spec(state, operation, table.table())?;
    spec.recorded_as = Some(recorded_as);
    spec.scope = scope;
    let committed = match rowless::applied(table.table(), &spec).await? {
        Some(committed) => committed,
        None => {
            if let Missing::Refused(named) = missing {
                refuse_missing(name, table, named).await?;
            }
            rowless::commit(state, table.table(), schema, properties, &spec).await?
        }
    };
    let report = rowless::report(name, schema, &spec, committed, started);
    Ok(Planned::Wrote(Box::new(report)))
}

async fn refuse_missing(name: &str, table: &PartwiseTable, named: &[Named]) -> Result<()> {
    let columns = table.table_schema().partition_columns();
    for Named { text, selector, .. } in named {
        let found = table.table().snapshot(columns, selector.as_ref()).await?;
        let keys: Vec<_> = found.partitions.iter().map(|p| p.key.values().to_vec()).collect();
        if !selector.select(&keys)?.contains(&true) {
            return Err(Error::invalid(format!(
                "{name} has no partition with {text}: say DROP IF EXISTS PARTITION where that is \
                 fine, or look at SHOW PARTITIONS {name}"
            )));
        }
    }
    Ok(())
}
