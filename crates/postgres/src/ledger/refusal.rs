//! Why a query may not write to a table, with the ways on.

use partwise_stream::Error;
use partwise_stream::sink::SinkQuery;

use uuid::Uuid;

use super::Ledger;

/// Its rows are of a query of the same name with another id.
pub(super) fn lost_checkpoint(ledger: &Ledger, query: &SinkQuery, last: u64) -> Error {
    Error::refused(format!(
        "{table} holds batches 0 to {last} of a query {name} with another checkpoint than this one: \
         going on would write its rows a second time. Ways on: start with the checkpoint that wrote \
         them; or, to do it all again, DROP TABLE {table}, or empty it and DELETE FROM {ledger} WHERE \
         table_oid = '{oid}'::regclass AND query_name = '{text}'; or, to add what this one reads, \
         start it under another name",
        table = ledger.table,
        name = query.name,
        ledger = ledger.name,
        oid = ledger.table.to_string().replace('\'', "''"),
        text = query.name.replace('\'', "''"),
    ))
}

/// A batch that was delivered isn't there.
pub(super) fn rebuilt(ledger: &Ledger, query: &SinkQuery, batch: u64) -> Error {
    Error::refused(format!(
        "{table} lacks batch {batch} of {name}, which its checkpoint says was delivered: the table or \
         {ledger} was made anew or emptied since. Ways on: bring both back to how they were (after a \
         restore from a dump, UPDATE {ledger} SET table_oid = '{oid}'::regclass WHERE table_name = \
         '{oid}'); or start the query anew with a new CHECKPOINT, and it writes all rows again; or \
         write to another table",
        table = ledger.table,
        name = query.name,
        ledger = ledger.name,
        oid = ledger.table.to_string().replace('\'', "''"),
    ))
}

/// A batch is there that isn't the same.
pub(super) fn other_input(ledger: &Ledger, query: &SinkQuery, batch: u64) -> Error {
    Error::refused(format!(
        "batch {batch} of {} is in {} already with other input, or is older than what {} remembers: \
         the checkpoint is not the one that the table was written from. Restore the checkpoint, or \
         empty the table and start the query anew with a new CHECKPOINT",
        query.name, ledger.table, ledger.name
    ))
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
