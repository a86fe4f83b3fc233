//! A query's columns in a table that is there, for all sinks alike.

use std::fmt::Display;

use datafusion::arrow::datatypes::{Field, Schema};

use crate::{Error, Result};

/// For each column of a table its place among the query's; none where the query lacks it. `add` says
/// how a column is added to the table.
///
/// # Errors
/// A column of the query that the table doesn't have; one of the table that can't be NULL and that
/// the query lacks.
pub fn places(
    table: &Schema,
    query: &Schema,
    place: &dyn Display,
    add: &str,
) -> Result<Vec<Option<usize>>> {
    let find = |schema: &Schema, name: &str| {
        schema.fields().iter().position(|field| field.name().eq_ignore_ascii_case(name))
    };
    if let Some(field) = query.fields().iter().find(|field| find(table, field.name()).is_none()) {
        let columns: Vec<&str> = table.fields().iter().map(|f| f.name().as_str()).collect();
        return Err(Error::invalid(format!(
            "{place} has no column {}: name the query's columns as the table's ({}), or {add}",
            field.name(),
            columns.join(", ")
        )));
    }
    let place_of = |column: &Field| match find(query, column.name()) {
        None if !column.is_nullable() => Err(Error::invalid(format!(
            "{place} has the column {}, NOT NULL, and the query doesn't give it",
            column.name()
        ))),
        found => Ok(found),
    };
    table.fields().iter().map(|column| place_of(column)).collect()
}

/// Checks that a table is partitioned as the statement says, where it does.
///
/// # Errors
/// Other columns, or another order.
pub fn check_parts<N: AsRef<str>>(
    parts: &[N],
    named: &[String],
    place: &dyn Display,
) -> Result<()> {
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    let same = parts.len() == named.len()
        && parts.iter().zip(named).all(|(a, b)| a.eq_ignore_ascii_case(b));
    match named.is_empty() || same {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "{place} is partitioned by ({}), not by ({}): leave PARTITIONED BY out, or write to \
             another table",
            parts.join(", "),
            named.join(", ")
        ))),
    }
}
