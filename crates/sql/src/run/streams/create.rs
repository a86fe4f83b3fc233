//! `CREATE STREAM`, `DROP STREAM`.

use datafusion::common::TableReference;
use datafusion::execution::context::SessionState;
use partwise_commit::is_address;
use partwise_stream::{StreamDefinition, StreamTable, Watermark};

use super::{Planned, of_session, options_of};
use crate::plan::create::declared_schema;
use crate::statement::{CreateStream, DropStream};
use crate::{Error, PartwiseContext, Result, place};

/// Makes a stream known to the session.
///
/// # Errors
/// A name that is taken; a source, a column or an option that can't be.
pub async fn create(
    context: &PartwiseContext,
    state: &SessionState,
    create: &CreateStream,
    sql: &str,
) -> Result<Planned> {
    context.watch().keep_secrets(sql);
    let name = of_session(context, &create.name)?;
    let there = context.schema().named(name.table()).await?;
    let is_stream = there.as_ref().is_some_and(|there| there.as_ref().is::<StreamTable>());
    match there {
        Some(_) if is_stream && create.if_not_exists => {
            return Ok(Planned::Done(Some(format!("{name} exists, nothing was done"))));
        }
        Some(_) if is_stream && create.or_replace => {}
        Some(_) => return Err(taken(&name, is_stream)),
        None => {}
    }
    let definition = definition(state, create, &name).await?;
    let old = context.session().deregister_table(name.clone())?;
    let made = context.streams().create_stream(&definition).await;
    if let (Err(_), Some(old)) = (&made, old) {
        context.session().register_table(name.clone(), old)?;
    }
    made?;
    Ok(Planned::Done(Some(format!("{name} is a stream of this session: START QUERY reads it"))))
}

fn taken(name: &TableReference, is_stream: bool) -> Error {
    Error::invalid(match is_stream {
        true => {
            format!("there is a stream {name}: CREATE OR REPLACE STREAM, or DROP STREAM {name}")
        }
        false => format!("there is a table or view {name}: give the stream another name"),
    })
}

async fn definition(
    state: &SessionState,
    create: &CreateStream,
    name: &TableReference,
) -> Result<StreamDefinition> {
    let mut options = options_of(&create.options)?;
    if let Some(path) = create.path.as_deref().filter(|path| is_address(path)) {
        let given: Vec<(String, String)> = options.into_iter().collect();
        let (stores, rest) = place::split_options(&given, String::clone);
        place::register(state, path, &stores)?;
        options = rest.into_iter().collect();
    }
    let columns = match create.columns.is_empty() {
        true => None,
        false => Some(declared_schema(state, &create.columns).await?),
    };
    let watermark = create
        .watermark
        .as_ref()
        .map(|(column, delay)| Watermark { column: super::folded(column), delay: *delay });
    let mut definition = StreamDefinition::new(name.to_quoted_string(), create.kind.clone());
    definition.path.clone_from(&create.path);
    (definition.options, definition.columns, definition.watermark) = (options, columns, watermark);
    Ok(definition)
}

/// Forgets a stream; queries that run over it go on.
///
/// # Errors
/// No such stream, or a table.
pub async fn drop_stream(context: &PartwiseContext, dropped: &DropStream) -> Result<Planned> {
    let name = of_session(context, &dropped.name)?;
    match context.schema().named(name.table()).await? {
        None if dropped.if_exists => return Ok(Planned::Done(None)),
        None => return Err(Error::invalid(format!("there is no stream {name}: SHOW STREAMS"))),
        Some(_) => {}
    }
    context.streams().drop_stream(&name.to_quoted_string()).await?;
    Ok(Planned::Done(None))
}
