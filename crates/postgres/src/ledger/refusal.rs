//! Why a query may not write to a table, with the ways on.

use partwise_stream::Error;
use partwise_stream::sink::SinkQuery;
use partwise_stream::sink::delivery::Place;
use uuid::Uuid;

use super::Ledger;

/// A refusal by what the ledger says, with the ways on.
pub(super) fn of(
    ledger: &Ledger,
    query: &SinkQuery,
    refusal: impl FnOnce(Place<'_>) -> Error,
) -> Error {
    let Ledger { table, name } = ledger;
    let oid = table.to_string().replace('\'', "''");
    let text = query.name.replace('\'', "''");
    let empty = format!(
        "DROP TABLE {table}, or empty it and DELETE FROM {name} WHERE table_oid = \
         '{oid}'::regclass AND query_name = '{text}',"
    );
    let restore = format!(
        "bring it and {name} back to how they were (after a restore from a dump, UPDATE {name} SET \
         table_oid = '{oid}'::regclass WHERE table_name = '{oid}')"
    );
    refusal(Place { name: table, query: &query.name, empty: &empty, restore: &restore })
}

/// The row that is there from the start of the query on isn't.
pub(super) fn gone(ledger: &Ledger, query: &SinkQuery) -> Error {
    Error::refused(format!(
        "{} or its row in {} is gone while the query {} writes to it: start the query anew with a new \
         CHECKPOINT, and it writes all rows again",
        ledger.table, ledger.name, query.name
    ))
}

/// Rows are there of a query that the ledger doesn't know.
pub(super) fn strangers(ledger: &Ledger, query: &SinkQuery, stranger: Uuid) -> Error {
    let table = &ledger.table;
    Error::refused(format!(
        "{table} holds rows of a streaming query ({stranger}) that {} doesn't know, and {} would add \
         its own beside them: DELETE FROM {table} WHERE query_id = '{stranger}'; or bring the ledger's \
         row back and start with the checkpoint of that query; or write to another table",
        ledger.name, query.name
    ))
}
