//! Making the table of a query.

use partwise_stream::Result;
use partwise_stream::sink::SinkQuery;
use tokio_postgres::Transaction;

use super::name::list;
use super::{Layout, NULLS_NOT_DISTINCT, TableName, quoted};
use crate::kind::declared;
use crate::trouble::Trouble;

/// Makes it, empty.
pub(super) async fn table(
    transaction: &Transaction<'_>,
    name: &TableName,
    query: &SinkQuery,
    layout: &Layout,
    version: i32,
) -> Result<(), Trouble> {
    Ok(transaction.batch_execute(&statement(name, query, layout, version)?).await?)
}

fn statement(name: &TableName, query: &SinkQuery, layout: &Layout, version: i32) -> Result<String> {
    let mut parts = Vec::new();
    for field in query.schema.fields() {
        parts.push(format!("{} {}", quoted(field.name()), declared(field)?));
    }
    for (own, kind) in layout.own() {
        parts.push(format!("{own} {}", kind.sql()));
    }
    parts.push(format!("{} ({})", constraint(query, layout, version), list(&layout.unique())));
    Ok(format!("CREATE TABLE {name} ({})", parts.join(", ")))
}

/// A primary key, unless a key may be NULL and the server can have two NULLs be the same.
fn constraint(query: &SinkQuery, layout: &Layout, version: i32) -> &'static str {
    let null = match layout {
        Layout::Keyed { keys, .. } => nullable(query, keys),
        Layout::Rows | Layout::Whole => false,
    };
    match null && version >= NULLS_NOT_DISTINCT {
        true => "UNIQUE NULLS NOT DISTINCT",
        false => "PRIMARY KEY",
    }
}

/// Whether one of the keys may be NULL.
pub(super) fn nullable(query: &SinkQuery, keys: &[String]) -> bool {
    let is_key = |name: &str| keys.iter().any(|key| key == name);
    query.schema.fields().iter().any(|field| is_key(field.name()) && field.is_nullable())
}
