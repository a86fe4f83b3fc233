//! Statements of streams and streaming queries.

mod create;
mod order;
mod show;
mod start;

pub(super) use create::{create, drop_stream};
pub(crate) use order::no_query;
pub(super) use order::{drop_checkpoint, order};
pub(super) use show::{show_queries, show_streams, show_tables};
pub(super) use start::start;

use std::collections::BTreeMap;

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};

use super::{Planned, ddl};
use crate::{Error, PartwiseContext, Result, lookup};

/// A name that isn't quoted counts without case.
fn folded(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}

/// The name of a stream or a table of the session.
fn of_session(context: &PartwiseContext, name: &ObjectName) -> Result<TableReference> {
    let reference = lookup::reference(&name.to_string());
    ddl::check_schema(context, &reference)?;
    Ok(TableReference::bare(reference.table()))
}

/// Options by their lower-case names.
///
/// # Errors
/// One that is given twice.
fn options_of(options: &[(String, String)]) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for (name, value) in options {
        if found.insert(name.to_ascii_lowercase(), value.clone()).is_some() {
            return Err(Error::invalid(format!("the option {name} is given twice")));
        }
    }
    Ok(found)
}
