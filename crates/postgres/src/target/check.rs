//! Checking a table that is there.

use partwise_stream::sink::SinkQuery;
use partwise_stream::{Error, Result};
use tokio_postgres::Transaction;

use super::columns::{self, Found};
use super::make::nullable;
use super::name::list;
use super::{Column, Layout, NULLS_NOT_DISTINCT, TableName, Target};
use crate::kind::Kind;
use crate::trouble::Trouble;

/// The oid of a table; none where it isn't there.
///
/// # Errors
/// A view or something else that isn't a table.
pub(super) async fn oid(
    transaction: &Transaction<'_>,
    name: &TableName,
) -> Result<Option<u32>, Trouble> {
    let ask = "SELECT oid, relkind::text FROM pg_class WHERE oid = to_regclass($1)";
    let Some(row) = transaction.query_opt(ask, &[&name.to_string()]).await? else {
        return Ok(None);
    };
    match row.try_get(1)? {
        "r" | "p" => Ok(Some(row.try_get(0)?)),
        _ => Err(Error::invalid(format!("{name} is no table: name a table")).into()),
    }
}

/// How a query's rows go into a table that is there.
///
/// # Errors
/// Columns, types or unique indexes that don't fit, with the statement that makes them fit.
pub(super) async fn table(
    transaction: &Transaction<'_>,
    name: &TableName,
    query: &SinkQuery,
    layout: Layout,
    version: i32,
) -> Result<Target, Trouble> {
    let Some(oid) = oid(transaction, name).await? else {
        return Err(Error::internal(format!("{name} is gone")).into());
    };
    let found = columns::read(transaction, oid).await?;
    let columns = columns::matched(name, query, &found)?;
    own(name, &layout, &found)?;
    check_filled(name, query, &layout, &found)?;
    let layout = spelled(layout, query, &columns, &found);
    if let Layout::Keyed { keys, .. } = &layout {
        columns::check_keys(name, query, &columns, keys, &found)?;
    }
    let unique = unique(transaction, oid, version).await?;
    check_unique(name, query, &layout, &found, &unique, version)?;
    Ok(Target { name: name.clone(), columns, layout })
}

/// Checks the columns that say which query and batch a row is of.
fn own(name: &TableName, layout: &Layout, found: &[Found]) -> Result<()> {
    let fits = |(own, kind): &&(&str, Kind)| {
        found.iter().any(|column| column.name == *own && column.oid == kind.element().oid())
    };
    let missing: Vec<String> = layout
        .own()
        .iter()
        .filter(|own| !fits(own))
        .map(|(own, kind)| format!("ADD COLUMN {own} {}", kind.sql()))
        .collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "{name} lacks columns that say which query and batch a row is of: ALTER TABLE {name} {}",
            missing.join(", ")
        ))),
    }
}

/// Checks that what the query doesn't give may be left out.
fn check_filled(
    name: &TableName,
    query: &SinkQuery,
    layout: &Layout,
    found: &[Found],
) -> Result<()> {
    let given = |column: &Found| {
        let fields = query.schema.fields();
        fields.iter().any(|field| field.name().eq_ignore_ascii_case(&column.name))
            || layout.own().iter().any(|(own, _)| column.name == *own)
    };
    match found.iter().find(|column| column.not_null && !column.filled && !given(column)) {
        None => Ok(()),
        Some(column) => Err(Error::invalid(format!(
            "{name} has the column {}, NOT NULL without a default, and the query doesn't give it",
            column.name
        ))),
    }
}

/// The keys as the table spells them, in the order of its columns: the order in which every writer
/// takes the locks of rows.
fn spelled(layout: Layout, query: &SinkQuery, columns: &[Column], found: &[Found]) -> Layout {
    let Layout::Keyed { keys, several } = layout else { return layout };
    let fields = query.schema.fields();
    let is_key = |column: &&Column| keys.contains(fields[column.from].name());
    let names: Vec<&String> = columns.iter().filter(is_key).map(|column| &column.name).collect();
    let in_order = found.iter().filter(|found| names.contains(&&found.name));
    Layout::Keyed { keys: in_order.map(|found| found.name.clone()).collect(), several }
}

/// The columns of a unique index, and whether two NULLs are the same in it.
type Unique = (Vec<String>, bool);

async fn unique(
    transaction: &Transaction<'_>,
    oid: u32,
    version: i32,
) -> Result<Vec<Unique>, Trouble> {
    let same = if version >= NULLS_NOT_DISTINCT { "i.indnullsnotdistinct" } else { "false" };
    let ask = format!(
        "SELECT ARRAY(SELECT a.attname::text FROM generate_subscripts(i.indkey, 1) n \
         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[n] \
         WHERE n < i.indnkeyatts), {same} FROM pg_index i WHERE i.indrelid = $1 AND i.indisunique \
         AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL"
    );
    let rows = transaction.query(&ask, &[&oid]).await?;
    let read = |row: &tokio_postgres::Row| Ok((row.try_get(0)?, row.try_get(1)?));
    Ok(rows.iter().map(read).collect::<Result<_, tokio_postgres::Error>>()?)
}

/// Checks that the server refuses two rows of one key.
fn check_unique(
    name: &TableName,
    query: &SinkQuery,
    layout: &Layout,
    found: &[Found],
    unique: &[Unique],
    version: i32,
) -> Result<()> {
    let wanted = layout.unique();
    let same = |columns: &[String]| {
        columns.len() == wanted.len() && wanted.iter().all(|key| columns.contains(key))
    };
    let not_null = |key: &String| found.iter().any(|column| column.name == *key && column.not_null);
    let null = match layout {
        Layout::Keyed { keys, .. } => !keys.iter().all(not_null) && nullable(query, &query.keys),
        Layout::Rows | Layout::Whole => false,
    };
    let fits = |(columns, nulls): &Unique| same(columns) && (!null || *nulls);
    if unique.iter().any(fits) {
        return Ok(());
    }
    let nulls = match (null, version >= NULLS_NOT_DISTINCT) {
        (true, true) => " NULLS NOT DISTINCT",
        (true, false) => {
            return Err(Error::invalid(format!(
                "the keys ({}) of {name} may be NULL, and before version 15 PostgreSQL takes two rows \
                 with NULL for different: declare them NOT NULL in the table",
                wanted.join(", ")
            )));
        }
        (false, _) => "",
    };
    Err(Error::invalid(format!(
        "{name} has no unique index on ({0}), which is what tells its rows apart: \
         CREATE UNIQUE INDEX ON {name} ({1}){nulls}",
        wanted.join(", "),
        list(&wanted)
    )))
}
