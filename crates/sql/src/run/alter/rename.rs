//! `ALTER TABLE t RENAME TO u`: the directory and its log under another name; of a table that the
//! session knows by its LOCATION, the name alone.

use datafusion::common::TableReference;
use datafusion::execution::context::SessionState;
use partwise_commit::{Location, Table};
use partwise_table::config::PartwiseConfig;

use crate::run::Planned;
use crate::run::ddl::check_schema;
use crate::{Error, PartwiseContext, Result, missing, path_table, token};

/// Gives a table another name.
///
/// # Errors
/// No such table, a name that is taken or can't be one, an object store.
pub async fn rename(
    context: &PartwiseContext,
    state: &SessionState,
    from: &TableReference,
    to: &TableReference,
    if_exists: bool,
) -> Result<Planned> {
    check_schema(context, from)?;
    check_schema(context, to)?;
    if context.schema().is_of_session(to.table()) {
        return Err(Error::invalid(format!(
            "{to} is a table or view of this session: DROP it first, or take another name"
        )));
    }
    if context.schema().is_of_session(from.table()) {
        context.schema().refuse_stream(from.table()).await?;
        return match context.schema().rename_located(from.table(), to.table()) {
            true => Ok(Planned::Done(Some(format!(
                "{from} is known as {to} in this session; its files stay where they are"
            )))),
            false => Err(Error::unsupported(format!(
                "{from} is a view, or was registered by the program: make it anew under the other \
                 name"
            ))),
        };
    }
    if path_table::looks_like_path(from.table()) {
        return Err(Error::invalid(format!(
            "'{from}' is a path: rename the table by its name, with the lake that it lies in"
        )));
    }
    let lake = context.schema().lake();
    let (old, new) = (lake.location(from.table())?, lake.location(to.table())?);
    match (old, new) {
        (Some(old), Some(new)) if Table::new(old.clone()).describe().await?.exists => {
            move_table(state, from, to, (old, new)).await
        }
        _ if if_exists => {
            Ok(Planned::Done(Some(format!("there is no table {from}, nothing was done"))))
        }
        _ => Err(missing::no_table(state, &from.to_string()).await),
    }
}

async fn move_table(
    state: &SessionState,
    from: &TableReference,
    to: &TableReference,
    (old, new): (Location, Location),
) -> Result<Planned> {
    let timeout = PartwiseConfig::of(state.config_options()).lock_timeout;
    Table::new(old).rename(&new, timeout, &token::text(state)).await?;
    Ok(Planned::Done(Some(format!("{from} is {to} now, with its history"))))
}
