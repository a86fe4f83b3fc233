//! `partwise_streams`: which batches of which query a table holds.
//!
//! A row for each table and query, in the schema of the table. The table is told by its oid, so that
//! one that was dropped and made anew has no rows here.

mod entry;
mod refusal;

pub(crate) use entry::Decision;

use entry::{Entry, check, decide};
use partwise_stream::sink::{SinkBatch, SinkQuery};
use partwise_stream::{Error, Result};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Transaction};
use uuid::Uuid;

use crate::target::{Layout, QUERY_ID, TableName};
use crate::trouble::Trouble;

/// The ledger's name.
const NAME: &str = "partwise_streams";
/// Batches before the last one whose digests are kept.
const EARLIER: usize = 16;

/// The ledger beside a table.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    table: TableName,
    name: TableName,
}

impl Ledger {
    /// That of a table.
    pub fn of(table: &TableName) -> Self {
        Self { table: table.clone(), name: table.beside(NAME) }
    }

    /// Makes it, if it is missing. Whoever calls this holds the lock of `target::open`.
    pub async fn make(&self, transaction: &Transaction<'_>) -> Result<(), Trouble> {
        let there = "SELECT to_regclass($1) IS NOT NULL";
        let there = transaction.query_one(there, &[&self.name.to_string()]).await?;
        // CREATE TABLE IF NOT EXISTS needs the right to create also where the table exists.
        if there.try_get::<_, bool>(0)? {
            return Ok(());
        }
        let make = format!(
            "CREATE TABLE {0} (table_oid oid NOT NULL, table_name text NOT NULL, \
             query_name text NOT NULL, query_id uuid NOT NULL, batch_id bigint, digest text, \
             earlier jsonb NOT NULL DEFAULT '[]', written_at timestamptz, \
             PRIMARY KEY (table_oid, query_name)); \
             COMMENT ON TABLE {0} IS 'Partwise: the last batch of each streaming query in each table'",
            self.name
        );
        Ok(transaction.batch_execute(&make).await?)
    }

    /// Checks a query whose table isn't there.
    ///
    /// # Errors
    /// `Refused` where it has delivered batches.
    pub fn check_without_table(&self, query: &SinkQuery) -> Result<()> {
        check(None, query, self)
    }

    /// Claims the table for a query, or finds that it has it already.
    ///
    /// # Errors
    /// `Refused`: rows of the same query name with another id; batches that were delivered and
    /// aren't in the table; rows that would stay beside those of a query that begins.
    pub async fn claim(
        &self,
        transaction: &Transaction<'_>,
        query: &SinkQuery,
        layout: &Layout,
    ) -> Result<(), Trouble> {
        let (place, id) = (self.table.to_string(), id(query)?);
        let entry = self.entry(transaction, query, "FOR UPDATE").await?;
        check(entry.as_ref(), query, self)?;
        if entry.is_none() && !matches!(layout, Layout::Keyed { .. }) {
            self.check_strangers(transaction, query).await?;
        }
        let tidy = format!(
            "DELETE FROM {} WHERE table_name = $1 AND query_name = $2 \
             AND table_oid <> to_regclass($1)::oid",
            self.name
        );
        transaction.execute(&tidy, &[&place, &query.name]).await?;
        let claim = format!(
            "INSERT INTO {} AS l (table_oid, table_name, query_name, query_id) \
             VALUES (to_regclass($1)::oid, $1, $2, $3) \
             ON CONFLICT (table_oid, query_name) DO UPDATE SET query_id = EXCLUDED.query_id \
             WHERE l.query_id <> EXCLUDED.query_id AND l.batch_id IS NULL",
            self.name
        );
        transaction.execute(&claim, &[&place, &query.name, &id]).await?;
        Ok(())
    }

    /// Checks that all rows are of queries that the ledger knows: those of another may be what the
    /// query is about to write again. From one id to the next in the unique index, not row by row.
    async fn check_strangers(
        &self,
        transaction: &Transaction<'_>,
        query: &SinkQuery,
    ) -> Result<(), Trouble> {
        let ask = format!(
            "WITH RECURSIVE ids AS ((SELECT {QUERY_ID} AS id FROM {table} \
             WHERE {QUERY_ID} IS NOT NULL ORDER BY {QUERY_ID} LIMIT 1) \
             UNION ALL SELECT (SELECT t.{QUERY_ID} FROM {table} t WHERE t.{QUERY_ID} > ids.id \
             ORDER BY t.{QUERY_ID} LIMIT 1) FROM ids WHERE ids.id IS NOT NULL) \
             SELECT id FROM ids WHERE id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {ledger} l \
             WHERE l.table_oid = to_regclass($1)::oid AND l.query_id = ids.id) LIMIT 1",
            table = self.table,
            ledger = self.name,
        );
        match transaction.query_opt(&ask, &[&self.table.to_string()]).await? {
            None => Ok(()),
            Some(row) => {
                let stranger: Uuid = row.try_get(0)?;
                Err(refusal::strangers(self, query, stranger).into())
            }
        }
    }

    /// Whether a batch is to be written; until the transaction ends, nobody else decides on this
    /// query.
    ///
    /// # Errors
    /// `Refused`: the table was made anew; the query's rows are another checkpoint's; the batch is in
    /// with other input; the one before it is not in, as where a standby took over that lacked it.
    pub async fn decide(
        &self,
        transaction: &Transaction<'_>,
        batch: &SinkBatch,
    ) -> Result<Decision, Trouble> {
        let entry = self.entry(transaction, &batch.query, "FOR UPDATE").await?;
        Ok(decide(entry.as_ref(), batch, self)?)
    }

    /// The same without waiting for those who write.
    pub async fn look(&self, client: &mut Client, batch: &SinkBatch) -> Result<Decision, Trouble> {
        let transaction = client.transaction().await?;
        let entry = self.entry(&transaction, &batch.query, "").await?;
        Ok(decide(entry.as_ref(), batch, self)?)
    }

    /// Notes that a batch is in.
    pub async fn record(
        &self,
        transaction: &Transaction<'_>,
        batch: &SinkBatch,
    ) -> Result<(), Trouble> {
        let record = format!(
            "UPDATE {} SET earlier = CASE WHEN batch_id IS NULL THEN earlier ELSE jsonb_path_query_array(\
             jsonb_build_array(jsonb_build_array(batch_id, digest)) || earlier, \
             '$[0 to {}]') END, batch_id = $3, digest = $4, written_at = now() \
             WHERE table_oid = to_regclass($1)::oid AND query_name = $2",
            self.name,
            EARLIER - 1
        );
        let (place, number) = (self.table.to_string(), number(batch.batch)?);
        let values: [(&(dyn ToSql + Sync), Type); 4] = [
            (&place, Type::TEXT),
            (&batch.query.name, Type::TEXT),
            (&number, Type::INT8),
            (&batch.digest, Type::TEXT),
        ];
        let changed = transaction.execute_typed(&record, &values).await?;
        match changed {
            1 => Ok(()),
            _ => Err(refusal::gone(self, &batch.query).into()),
        }
    }

    async fn entry(
        &self,
        transaction: &Transaction<'_>,
        query: &SinkQuery,
        lock: &str,
    ) -> Result<Option<Entry>, Trouble> {
        let ask = format!(
            "SELECT query_id, batch_id, digest, earlier FROM {} \
             WHERE table_oid = to_regclass($1)::oid AND query_name = $2 {lock}",
            self.name
        );
        let place = self.table.to_string();
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&place, Type::TEXT), (&query.name, Type::TEXT)];
        let row = transaction.query_typed_opt(&ask, &values).await;
        let what = || format!("the row of {} in {}", query.name, self.name);
        let row = row.map_err(|error| Trouble::of_lock(error, &what()))?;
        Ok(row.as_ref().map(Entry::read).transpose()?)
    }
}

/// A batch's number as the server keeps it.
pub(crate) fn number(batch: u64) -> Result<i64> {
    i64::try_from(batch).map_err(|_| Error::internal("a batch number beyond a bigint"))
}

/// A query's id as the server keeps it.
pub(crate) fn id(query: &SinkQuery) -> Result<Uuid> {
    Uuid::parse_str(&query.id)
        .map_err(|_| Error::internal(format!("the id of {} is no uuid: {}", query.name, query.id)))
}
