//! `START QUERY`.

use datafusion::dataframe::DataFrame;
use partwise_stream::{OutputMode, QueryDefinition, SinkDefinition, Trigger};

use super::{Planned, folded, options_of};
use crate::statement::{QuerySink, QueryTrigger, StartQuery};
use crate::{PartwiseContext, Result, lookup, plan, streams};

/// Starts a query in the background.
///
/// # Errors
/// What the query, its mode, its checkpoint or its sink don't allow, with the reason.
pub async fn start(context: &PartwiseContext, start: &StartQuery, sql: &str) -> Result<Planned> {
    context.watch().keep_secrets(sql);
    let definition = definition(start)?;
    let state = context.session().state();
    let rows = plan::query::plan_as_is(&state, start.query.as_ref().clone()).await?;
    let rows = DataFrame::new(state.clone(), rows);
    let query = context.streams().start(&definition, rows).await?;
    if definition.sink.kind == "TABLE"
        && let Some(location) = streams::location_of(&state, &definition.sink)?
        && let Some(name) = &definition.sink.target
    {
        let name = lookup::reference(name);
        context.schema().locate(name.table(), location, None);
    }
    let name = query.name();
    Ok(Planned::Done(Some(format!(
        "{name} runs: AWAIT QUERY {name} waits for its end, SHOW QUERIES tells how far it is"
    ))))
}

fn definition(start: &StartQuery) -> Result<QueryDefinition> {
    let mode = start.mode.as_deref().map(str::parse::<OutputMode>).transpose()?;
    Ok(QueryDefinition {
        name: folded(&start.name),
        mode: mode.unwrap_or_default(),
        trigger: match start.trigger {
            None | Some(QueryTrigger::AvailableNow) => Trigger::AvailableNow,
            Some(QueryTrigger::Every(every)) => Trigger::Every(every),
            Some(QueryTrigger::Once) => Trigger::Once,
        },
        checkpoint: start.checkpoint.clone().into(),
        sink: sink(&start.sink)?,
    })
}

fn sink(sink: &QuerySink) -> Result<SinkDefinition> {
    let mut given = sink.options.clone();
    given.extend(sink.location.iter().map(|path| ("location".to_owned(), path.clone())));
    let target = sink.target.as_ref().map(|name| lookup::reference(&name.to_string()));
    Ok(SinkDefinition {
        kind: sink.kind.clone(),
        target: target.map(|name| name.to_quoted_string()),
        partitioned_by: sink.partitioned_by.iter().map(folded).collect(),
        keys: sink.keys.iter().map(folded).collect(),
        options: options_of(&given)?,
    })
}
