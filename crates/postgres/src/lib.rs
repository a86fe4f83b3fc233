//! PostgreSQL tables as sinks of streaming queries: `INTO POSTGRES OPTIONS ('url' '..', 'table'
//! 'schema.name') KEYS (..)`.
//!
//! ```text
//! batch n, digest
//!    |  rows          the query runs: up to 32 MiB of rows here, more in a temporary file
//!    v
//! BEGIN                                                   <---- again after a lost connection
//!    |  ledger        partwise_streams: this query's row, locked
//!    |                  n is in, same digest ----------------> skipped
//!    |                  n is in, another digest -------------> error
//!    |                  the batch before n isn't in ---------> error
//!    v
//!    |  write         rows     COPY --------------------------------------> table
//!    |                keyed    arrays, or COPY -> temporary table --upsert-> table
//!    |                whole    DELETE own rows; COPY ---------------------> table
//!    v
//!    |  ledger        last batch: n, digest
//! COMMIT
//! ```
//! The rows and the note that they are in are one transaction: a replay, a second instance and a
//! commit whose answer was lost are all settled by the ledger, and readers see a batch wholly or not
//! at all.
//!
//! | module | what it is |
//! |---|---|
//! | `factory` | the options of the statement |
//! | `server` | the url: where the server is, how to connect, what may be shown of it; TLS |
//! | `sink` | the order of the steps, and what is tried again |
//! | `ledger` | which batches of which query a table holds |
//! | `target` | the table: made, or checked against the query |
//! | `kind`, `encode` | PostgreSQL's types, and Arrow's values in its binary format |
//! | `rows` | a batch's rows, kept so that they can be written again |
//! | `write` | rows into the table |
//!
//! # What a table has besides the query's columns
//!
//! | how rows are told apart | when | columns | unique |
//! |---|---|---|---|
//! | by the batch | append, complete | `query_id uuid`, `batch_id bigint`, `row_id bigint` | the three |
//! | by key | update; rows without an aggregate, with `KEYS` | `query_id uuid`, `batch_id bigint` | the keys |
//!
//! `query_id` and `batch_id` say which query wrote the row and in which of its batches: numbers of
//! different queries can't be compared, so that an upsert keeps the row of the later batch of one
//! query, and the later writer among several. `row_id` numbers the rows of a batch; those of the
//! plan's partition p begin at p * 2^40.
//!
//! An append with `KEYS`, and an update without an aggregate, which is the same, replace rows of equal
//! keys; of several in one batch the last counts: the one with the highest `row_id`.
//!
//! The table `partwise_streams` in the same schema has one row for each table and query: the last
//! batch with its digest, and the sixteen before. A table that is dropped and made anew doesn't
//! count as the same.
//!
//! # Guarantees
//!
//! - Each batch is in the table once, whatever is repeated; an older batch changes nothing, and one
//!   whose forerunner isn't in is refused: a standby that took over without it, a table made anew.
//! - A checkpoint is tied to schema and table, not to the address of the server: the ledger beside
//!   the table says whose it is.
//! - A value is stored as it is or the batch fails: nothing is rounded, cut, padded or shifted. A
//!   column that keeps fewer digits of a number or of a second than the query's type has is refused
//!   when the query starts; a text has to fit a `varchar(n)`, fill a `char(n)`, and be a `uuid` in
//!   PostgreSQL's own spelling. Text in a `jsonb` column is the document that it says.
//! - Keys that differ in the query differ in the table: key columns of `json`, of intervals with days
//!   and of lists of floats, and those that compare texts by other than their bytes, are refused.
//! - The password of the url is in no message, checkpoint or debug output.
//!
//! # Known limits
//!
//! - PostgreSQL 12 and later. Keys that can be NULL need version 15 (`NULLS NOT DISTINCT`); before
//!   it, the keys are `NOT NULL` and a batch with a NULL in them is an error.
//! - `complete` deletes and writes all rows of the query with each batch: autovacuum has to follow.
//! - Structs, maps and lists of lists have no column type here.
#![deny(missing_docs)]

mod encode;
mod factory;
mod kind;
mod ledger;
mod rows;
mod server;
mod sink;
mod target;
mod trouble;
mod write;

pub use factory::PostgresFactory;
pub use sink::PostgresSink;

use std::sync::Arc;

use partwise_stream::StreamContext;

/// Has `INTO POSTGRES` of a session write to PostgreSQL.
///
/// ```
/// use datafusion::prelude::SessionContext;
/// use partwise_stream::StreamContext;
///
/// let streams = StreamContext::new(&SessionContext::new());
/// partwise_postgres::register(&streams);
/// ```
pub fn register(streams: &StreamContext) {
    streams.register_sink("POSTGRES", Arc::new(PostgresFactory));
}
