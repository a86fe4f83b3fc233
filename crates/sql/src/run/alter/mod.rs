//! `ALTER TABLE`: each action one commit, or a rename.

mod edit;
mod rename;

use datafusion::execution::context::SessionState;

use super::{Planned, empty};
use crate::statement::{Alter, AlterAction};
use crate::{Error, PartwiseContext, Result, lookup};

/// Does what the statement says.
///
/// # Errors
/// No such table; what a table can't, with the way on.
pub async fn alter(
    context: &PartwiseContext,
    state: &SessionState,
    alter: &Alter,
) -> Result<Planned> {
    let name = lookup::reference(&alter.table.to_string());
    if let AlterAction::Refused { words, instead } = &alter.action {
        return Err(Error::unsupported(format!(
            "ALTER TABLE {name} {words} is not what a directory of files can do; instead: {instead}"
        )));
    }
    if let AlterAction::RenameTo(to) = &alter.action {
        let to = lookup::reference(&to.to_string());
        return rename::rename(context, state, &name, &to, alter.if_exists).await;
    }
    if alter.if_exists && lookup::find(state, &name).await?.is_none() {
        return Ok(Planned::Done(Some(format!("there is no table {name}, nothing was done"))));
    }
    let provider = lookup::changed(state, &name).await?;
    let table = lookup::ours(&alter.table, &provider)?;
    match &alter.action {
        AlterAction::DropPartitions { specs, if_exists } => {
            empty::drop_partitions(state, name.table(), table, specs, *if_exists).await
        }
        AlterAction::Recover => Ok(Planned::Done(Some(
            "nothing to do: each statement lists the table's directory anew".to_owned(),
        ))),
        action => edit::edit(context, state, &name, table, action).await,
    }
}
