//! `AWAIT QUERY`, `STOP QUERY`, `DROP CHECKPOINT`.

use datafusion::sql::sqlparser::ast::Ident;
use partwise_stream::StreamQuery;

use super::{Planned, folded};
use crate::report::counted;
use crate::statement::{DropCheckpoint, QueryOrder};
use crate::{Error, PartwiseContext, Result};

/// Waits for a query's end, or has it end.
///
/// # Errors
/// No such query; what it ended with.
pub async fn order(context: &PartwiseContext, order: &QueryOrder) -> Result<Planned> {
    let (query, verb) = match order {
        QueryOrder::Await(name) => (query(context, name)?, "has ended"),
        QueryOrder::Stop(name) => {
            let query = query(context, name)?;
            // How it ended is told below.
            let _ = query.stop().await;
            (query, "is stopped")
        }
    };
    context.await_query(&query).await?;
    let totals = query.totals();
    let (batches, rows) = (totals.batches, totals.input_rows);
    let done =
        format!("{} {verb}: {}, {}", query.name(), batch_count(batches), counted(rows, "row"));
    Ok(Planned::Done(Some(done)))
}

fn batch_count(batches: u64) -> String {
    match batches {
        0 => "no new batches".to_owned(),
        1 => "1 batch".to_owned(),
        many => format!("{many} batches"),
    }
}

fn query(context: &PartwiseContext, name: &Ident) -> Result<StreamQuery> {
    let name = folded(name);
    context.streams().query(&name).ok_or_else(|| {
        let queries = context.streams().queries();
        let names: Vec<&str> = queries.iter().map(StreamQuery::name).collect();
        no_query(&name, &names)
    })
}

/// The error for a name that no query of the session has.
pub(crate) fn no_query(name: &str, known: &[&str]) -> Error {
    Error::invalid(match known {
        [] => format!("no query {name} was started in this session, nor any other: START QUERY"),
        [one] => format!("no query {name} was started in this session; there is {one}"),
        many => {
            format!("no query {name} was started in this session; there are {}", many.join(", "))
        }
    })
}

/// Removes a checkpoint.
///
/// # Errors
/// A query that runs on it; a folder that is none.
pub async fn drop_checkpoint(dropped: &DropCheckpoint) -> Result<Planned> {
    let path = &dropped.path;
    match partwise_stream::drop_checkpoint(path).await? {
        true => Ok(Planned::Done(Some(format!(
            "{path} is gone: a query that starts with it begins anew"
        )))),
        false if dropped.if_exists => Ok(Planned::Done(None)),
        false => Err(Error::invalid(format!("there is no checkpoint {path}"))),
    }
}
