//! `INTO TABLE t`: the table is found as INSERT finds it; one that isn't there is made.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::common::TableReference;
use datafusion::execution::context::{SessionContext, SessionState};
use partwise_commit::Location;
use partwise_stream::sink::{Sink, SinkFactory};
use partwise_stream::{SinkDefinition, TableSink};
use partwise_table::PartwiseTable;

use crate::{Error, PartwiseContext, Result, lookup, path_table, place};

/// The option that says where a table lies, as LOCATION does.
const LOCATION: &str = "location";

/// Makes the sinks of tables of the lake and the session.
#[derive(Clone, Copy, Debug)]
pub(super) struct LakeTables;

#[async_trait]
impl SinkFactory for LakeTables {
    async fn sink(
        &self,
        session: &SessionContext,
        definition: &SinkDefinition,
    ) -> partwise_stream::Result<Arc<dyn Sink>> {
        Ok(Arc::new(table_of(session, definition).await?))
    }
}

async fn table_of(session: &SessionContext, definition: &SinkDefinition) -> Result<TableSink> {
    let context = PartwiseContext::of(session)?;
    let state = session.state();
    let target = definition.target.as_deref();
    let target = target.ok_or_else(|| Error::invalid("INTO TABLE lacks the table's name"))?;
    let name = lookup::reference(target);
    let (stores, mut options) = options_of(definition);
    let said = options.remove(LOCATION).map(|path| place::location(&state, &path, &stores));
    let said = said.transpose()?;
    let there = there(&context, &name).await?;
    let location = match (&there, said) {
        (Some(table), said) => {
            check_said(&name, table, said.as_ref())?;
            check_options(&name, table, &options)?;
            table.location().clone()
        }
        (None, Some(said)) => said,
        (None, None) => new_location(&context, &state, &name, &stores)?,
    };
    let sink = TableSink::new(location)
        .partition_by(definition.partitioned_by.clone())
        .with_keys(definition.keys.clone());
    Ok(options.into_iter().fold(sink, |sink, (name, value)| sink.option(name, value)))
}

/// Options of stores, and those of the table.
fn options_of(definition: &SinkDefinition) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let options: Vec<(String, String)> = definition.options.clone().into_iter().collect();
    let (stores, rest) = place::split_options(&options, String::clone);
    (stores, rest.into_iter().collect())
}

/// The table of that name; none where it is to be made.
async fn there(context: &PartwiseContext, name: &TableReference) -> Result<Option<PartwiseTable>> {
    if path_table::looks_like_path(name.table()) {
        return match place::names_files(name.table()) {
            true => Err(lookup::not_ours(&name)),
            false => Ok(None),
        };
    }
    if !context.is_of_lake(name) {
        return Err(Error::invalid(format!(
            "{name}: tables are made in the session's own schema alone, leave the rest of the name \
             out"
        )));
    }
    let found = context.schema().named(name.table()).await?;
    found.map(|found| lookup::ours(name, &found).cloned()).transpose()
}

/// Where a table lies that is made.
fn new_location(
    context: &PartwiseContext,
    state: &SessionState,
    name: &TableReference,
    stores: &BTreeMap<String, String>,
) -> Result<Location> {
    if path_table::looks_like_path(name.table()) {
        return place::location(state, name.table(), stores);
    }
    context.schema().lake().location(name.table())?.ok_or_else(|| {
        Error::invalid(format!(
            "there is no lake to put {name} in: INTO TABLE {name} LOCATION 'dir/', or start with \
             --lake DIR"
        ))
    })
}

fn check_said(name: &TableReference, table: &PartwiseTable, said: Option<&Location>) -> Result<()> {
    let there = table.location().display();
    match said.map(Location::display) {
        Some(said) if said.trim_end_matches('/') != there.trim_end_matches('/') => {
            Err(Error::invalid(format!(
                "{name} lies in {there}, not in {said}: leave LOCATION out, or take another name"
            )))
        }
        _ => Ok(()),
    }
}

/// A table keeps the options it was made with.
fn check_options(
    name: &TableReference,
    table: &PartwiseTable,
    options: &BTreeMap<String, String>,
) -> Result<()> {
    let differs = |(option, value): &(&String, &String)| {
        table.properties().get(*option).is_none_or(|there| there != *value)
    };
    match options.iter().find(differs) {
        None => Ok(()),
        Some((option, value)) => Err(Error::invalid(format!(
            "{name} is there, and its {option} is {}: leave the option out, or say ALTER TABLE \
             {name} SET TBLPROPERTIES ('{option}' = '{value}')",
            table.properties().get(option).map_or("not set", String::as_str)
        ))),
    }
}

/// The location that `INTO TABLE t LOCATION '..'` gives; none without one.
///
/// # Errors
/// An address that is none, options that don't fit.
pub(crate) fn location_of(
    state: &SessionState,
    definition: &SinkDefinition,
) -> Result<Option<Location>> {
    let (stores, options) = options_of(definition);
    options.get(LOCATION).map(|path| place::location(state, path, &stores)).transpose()
}
