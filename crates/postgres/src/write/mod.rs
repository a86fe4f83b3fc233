//! Rows into the table, within a transaction.
//!
//! ```text
//! rows     COPY ------------------------------------------------> table
//! whole    DELETE of the query's rows, COPY --------------------> table
//! keyed    few    one array for each column ---+
//!          many   COPY -> temporary table -----+- in order of the keys, INSERT .. ON CONFLICT -> table
//! ```

mod copy;
mod upsert;

use partwise_stream::sink::SinkBatch;
use tokio_postgres::Transaction;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use crate::ledger::{id, number};
use crate::rows::Rows;
use crate::target::{Layout, QUERY_ID, Target};
use crate::trouble::Trouble;

/// Which query and batch rows are of, as the table has it.
#[derive(Clone, Copy, Debug)]
struct Origin {
    query: Uuid,
    batch: i64,
}

/// Writes the rows of a batch; more than `direct` by key go through a temporary table.
pub(crate) async fn write(
    transaction: &Transaction<'_>,
    target: &Target,
    batch: &SinkBatch,
    rows: &Rows,
    direct: usize,
) -> Result<(), Trouble> {
    let origin = Origin { query: id(&batch.query)?, batch: number(batch.batch)? };
    match &target.layout {
        Layout::Rows => copy::into_table(transaction, target, rows, origin).await,
        Layout::Whole => {
            let delete = format!("DELETE FROM {} WHERE {QUERY_ID} = $1", target.name);
            let query: [(&(dyn ToSql + Sync), Type); 1] = [(&origin.query, Type::UUID)];
            let deleted = transaction.execute_typed(&delete, &query).await;
            let what = || format!("a row of {}", target.name);
            deleted.map_err(|error| Trouble::of_lock(error, &what()))?;
            copy::into_table(transaction, target, rows, origin).await
        }
        Layout::Keyed { keys, several } => {
            let upsert = upsert::Upsert { target, keys, several: *several, origin };
            let few = rows.count() <= direct as u64 && rows.are_here();
            match few && upsert.goes_as_arrays() {
                true => upsert.arrays(transaction, rows).await,
                false => upsert.staged(transaction, rows).await,
            }
        }
    }
}
