//! Rows in the place of those with equal keys.
//!
//! Every writer goes through the keys in one order, that of the server's `ORDER BY` over the key
//! columns as they stand in the table, so that two never wait for each other.

use partwise_stream::Result;
use tokio_postgres::Transaction;
use tokio_postgres::types::{ToSql, Type};

use super::{Origin, copy};
use crate::encode::ArrayParameter;
use crate::kind::Kind;
use crate::rows::{Piece, Rows};
use crate::target::{BATCH_ID, QUERY_ID, Target, list, quoted};
use crate::trouble::Trouble;

/// The temporary table; it goes with the transaction.
const STAGING: &str = "pg_temp.partwise_staging";

/// An upsert of a batch.
pub(super) struct Upsert<'a> {
    pub target: &'a Target,
    pub keys: &'a [String],
    pub several: bool,
    pub origin: Origin,
}

impl Upsert<'_> {
    /// Lists don't: `unnest` takes them apart to the last.
    pub fn goes_as_arrays(&self) -> bool {
        !self.target.columns.iter().any(|column| matches!(column.kind, Kind::List(_)))
    }

    /// In one statement, an array for each column.
    pub async fn arrays(&self, transaction: &Transaction<'_>, rows: &Rows) -> Result<(), Trouble> {
        let pieces = rows.pieces()?.collect::<Result<Vec<_>>>()?;
        let numbers: Vec<i64> = pieces.iter().flat_map(numbers).collect();
        let mut arrays = Vec::new();
        for column in &self.target.columns {
            let values = pieces.iter().map(|(_, rows)| rows.column(column.from));
            let array = ArrayParameter::new(column, numbers.len(), values)?;
            arrays.push((array, column.kind.array()));
        }
        let mut values: Vec<(&(dyn ToSql + Sync), Type)> =
            arrays.iter().map(|(array, ty)| (array as _, ty.clone())).collect();
        values.push((&numbers, Type::INT8_ARRAY));
        let places: Vec<String> = (1..=values.len()).map(|n| format!("${n}")).collect();
        let from =
            format!("unnest({}) AS s({})", places.join(", "), self.staged_names().join(", "));
        let statement = self.statement(&from, values.len() + 1);
        values.extend(self.origin_values());
        self.run(transaction, &statement, &values).await
    }

    /// By way of a temporary table.
    pub async fn staged(&self, transaction: &Transaction<'_>, rows: &Rows) -> Result<(), Trouble> {
        let columns = self.target.columns.iter().zip(self.staged_names());
        let mut declared: Vec<String> =
            columns.map(|(column, name)| format!("{name} {}", column.kind.sql())).collect();
        declared.push("row_id bigint".to_owned());
        let make =
            format!("CREATE TEMPORARY TABLE {STAGING} ({}) ON COMMIT DROP", declared.join(", "));
        transaction.batch_execute(&make).await?;
        let copy = format!("COPY {STAGING} FROM STDIN (FORMAT binary)");
        copy::into_staging(transaction, &copy, &self.target.columns, rows).await?;
        let statement = self.statement(&format!("{STAGING} AS s"), 1);
        self.run(transaction, &statement, &self.origin_values()).await
    }

    async fn run(
        &self,
        transaction: &Transaction<'_>,
        statement: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<(), Trouble> {
        let done = transaction.execute_typed(statement, values).await;
        let what = || format!("a row of {}", self.target.name);
        done.map(drop).map_err(|error| Trouble::of_lock(error, &what()))
    }

    /// The columns as the statement calls them, whatever they are called.
    fn staged_names(&self) -> Vec<String> {
        let columns = (0..self.target.columns.len()).map(|at| format!("c{at}"));
        columns.chain(["row_id".to_owned()]).collect()
    }

    fn origin_values(&self) -> [(&(dyn ToSql + Sync), Type); 2] {
        [(&self.origin.query, Type::UUID), (&self.origin.batch, Type::INT8)]
    }

    /// The statement over staged rows; query and batch are the parameters from `next` on.
    fn statement(&self, from: &str, next: usize) -> String {
        let columns = &self.target.columns;
        let own = [QUERY_ID, BATCH_ID].map(str::to_owned);
        let names: Vec<&String> = columns.iter().map(|column| &column.name).chain(&own).collect();
        let staged = |key: &String| {
            let at = columns.iter().position(|column| column.name == *key);
            format!("s.c{}", at.unwrap_or_default())
        };
        let keys = self.keys.iter().map(staged).collect::<Vec<_>>().join(", ");
        let (distinct, last) = match self.several {
            true => (format!("DISTINCT ON ({keys}) "), ", s.row_id DESC"),
            false => (String::new(), ""),
        };
        let values: Vec<String> = (0..columns.len()).map(|at| format!("s.c{at}")).collect();
        let set = names.iter().filter(|name| !self.keys.contains(name));
        let set: Vec<String> =
            set.map(|name| format!("{0} = EXCLUDED.{0}", quoted(name))).collect();
        format!(
            "INSERT INTO {table} AS t ({names}) \
             SELECT {distinct}{values}, ${next}::uuid, ${after}::int8 FROM {from} ORDER BY {keys}{last} \
             ON CONFLICT ({on}) DO UPDATE SET {set} \
             WHERE t.{QUERY_ID} IS DISTINCT FROM EXCLUDED.{QUERY_ID} \
             OR t.{BATCH_ID} IS NULL OR t.{BATCH_ID} < EXCLUDED.{BATCH_ID}",
            table = self.target.name,
            names = list(names.iter().copied()),
            values = values.join(", "),
            after = next + 1,
            on = list(self.keys),
            set = set.join(", "),
        )
    }
}

fn numbers((first, rows): &Piece) -> std::ops::Range<i64> {
    *first..*first + rows.num_rows() as i64
}
