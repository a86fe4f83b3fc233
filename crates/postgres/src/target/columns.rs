//! A table's columns, and the query's among them.

use datafusion::arrow::datatypes::FieldRef;
use partwise_stream::sink::SinkQuery;
use partwise_stream::{Error, Result};
use tokio_postgres::Transaction;

use super::{Column, TableName, quoted};
use crate::kind::{Kind, declared};
use crate::trouble::Trouble;

/// A column of the table, as the catalog has it.
pub(super) struct Found {
    pub name: String,
    pub oid: u32,
    pub typmod: i32,
    pub not_null: bool,
    pub filled: bool,
    pub sql: String,
    /// Two texts are the same where their bytes are.
    by_bytes: bool,
}

/// Reads them.
pub(super) async fn read(transaction: &Transaction<'_>, oid: u32) -> Result<Vec<Found>, Trouble> {
    let ask = "SELECT attname::text, atttypid, atttypmod, attnotnull, \
               atthasdef OR attidentity <> '' AS filled, format_type(atttypid, atttypmod), \
               NOT EXISTS (SELECT 1 FROM pg_collation c WHERE c.oid = attcollation \
               AND NOT c.collisdeterministic) \
               FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped \
               ORDER BY attnum";
    let rows = transaction.query(ask, &[&oid]).await?;
    let read = |row: &tokio_postgres::Row| -> Result<Found, tokio_postgres::Error> {
        Ok(Found {
            name: row.try_get(0)?,
            oid: row.try_get(1)?,
            typmod: row.try_get(2)?,
            not_null: row.try_get(3)?,
            filled: row.try_get(4)?,
            sql: row.try_get(5)?,
            by_bytes: row.try_get(6)?,
        })
    };
    Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
}

fn find<'a>(found: &'a [Found], name: &str) -> Option<&'a Found> {
    let same = found.iter().find(|column| column.name == name);
    same.or_else(|| found.iter().find(|column| column.name.eq_ignore_ascii_case(name)))
}

/// The query's columns in the table.
///
/// # Errors
/// One that the table lacks, or whose values would change there.
pub(super) fn matched(name: &TableName, query: &SinkQuery, found: &[Found]) -> Result<Vec<Column>> {
    let column = |(from, field): (usize, &FieldRef)| -> Result<Column> {
        let Some(there) = find(found, field.name()) else {
            return Err(Error::invalid(format!(
                "{name} has no column {}: name the query's columns as the table's, or ALTER TABLE \
                 {name} ADD COLUMN {} {}",
                field.name(),
                quoted(field.name()),
                declared(field)?
            )));
        };
        let kind = Kind::of_oid(there.oid);
        match kind.filter(|kind| kind.takes(field.data_type(), there.typmod)) {
            Some(kind) => Ok(Column { name: there.name.clone(), from, kind, typmod: there.typmod }),
            None => Err(Error::invalid(format!(
                "the column {} of {name} is {}, and the query gives {}, which would be {}: CAST it in \
                 the query, or ALTER TABLE the column",
                there.name,
                there.sql,
                field.data_type(),
                declared(field)?
            ))),
        }
    };
    query.schema.fields().iter().enumerate().map(column).collect()
}

/// Checks that two keys that differ in the query differ in the table: else the rows of two groups
/// would be one.
///
/// # Errors
/// A key column that may take two for the same.
pub(super) fn check_keys(
    name: &TableName,
    query: &SinkQuery,
    columns: &[Column],
    keys: &[String],
    found: &[Found],
) -> Result<()> {
    let merges = |column: &&Column| {
        let by_bytes = |found: &Found| found.name != column.name || found.by_bytes;
        let values = query.schema.field(column.from).data_type();
        !column.kind.tells_apart(values) || !found.iter().all(by_bytes)
    };
    match columns.iter().filter(|column| keys.contains(&column.name)).find(merges) {
        None => Ok(()),
        Some(column) => {
            let field = query.schema.field(column.from);
            let sql = found.iter().find(|found| found.name == column.name);
            Err(Error::invalid(format!(
                "the column {0} of {name} is a key and {1}, where two values of the query ({2}) may \
                 be the same, so that the row of one group would take the place of another's: ALTER \
                 TABLE {name} ALTER COLUMN {3} TYPE {4}, or CAST it in the query to a type of one \
                 spelling for each value",
                column.name,
                sql.map(|found| found.sql.as_str()).unwrap_or_default(),
                field.data_type(),
                quoted(&column.name),
                declared(field)?
            )))
        }
    }
}
