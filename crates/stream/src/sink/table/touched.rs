//! The partitions that rows are for.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::{Expr, lit};
use partwise_commit::{
    PartitionKey, PartitionSelector, PartitionValue, Scope, TableSchema, partition_path,
};
use partwise_table::{partition_value, scalar};

use crate::Result;

/// Exactly these partitions.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    keys: BTreeSet<PartitionKey>,
}

impl Touched {
    /// Those of rows whose columns are the table's.
    pub fn by(rows: &[RecordBatch], schema: &TableSchema) -> Result<Self> {
        let places = schema.partition_indices();
        let fields = places.iter().map(|at| schema.arrow().field(*at).data_type().clone());
        let converter = RowConverter::new(fields.map(SortField::new).collect())?;
        let mut keys = BTreeSet::new();
        for batch in rows {
            let columns: Vec<_> = places.iter().map(|at| Arc::clone(batch.column(*at))).collect();
            let values = converter.convert_columns(&columns)?;
            let mut seen = HashSet::new();
            for row in 0..batch.num_rows() {
                if seen.insert(values.row(row)) {
                    keys.insert(key(batch, row, schema)?);
                }
            }
        }
        Ok(Self { keys })
    }

    /// The scope of a write that may change these alone.
    pub fn scope(&self, schema: &TableSchema) -> Result<Scope> {
        let columns = schema.partition_columns();
        let paths = self.keys.iter().map(|key| partition_path(columns, key));
        let text = paths.collect::<Result<Vec<_>, _>>()?.join(", ");
        Ok(Scope::new(Arc::new(self.clone()), text))
    }

    /// The condition that a row is in one of them.
    pub fn condition(&self, schema: &TableSchema, relation: &str) -> Result<Expr> {
        let columns = schema.partition_columns();
        let mut any: Option<Expr> = None;
        for key in &self.keys {
            let mut all: Option<Expr> = None;
            for (column, value) in columns.iter().zip(key.values()) {
                let name = Expr::Column(Column::new(Some(relation), &column.name));
                let equal = match scalar(&column.ty, value)? {
                    null if null.is_null() => name.is_null(),
                    value => name.eq(Expr::Literal(value, None)),
                };
                all = Some(all.map_or(equal.clone(), |all| all.and(equal)));
            }
            let all = all.unwrap_or_else(|| lit(true));
            any = Some(any.map_or(all.clone(), |any| any.or(all)));
        }
        Ok(any.unwrap_or_else(|| lit(false)))
    }
}

fn key(batch: &RecordBatch, row: usize, schema: &TableSchema) -> Result<PartitionKey> {
    let columns = schema.partition_columns().iter().zip(schema.partition_indices());
    let value = |(column, at): (&partwise_commit::PartitionColumn, &usize)| {
        let value = ScalarValue::try_from_array(batch.column(*at), row)?;
        Ok(partition_value(&column.ty, &value)?)
    };
    Ok(PartitionKey::new(columns.map(value).collect::<Result<_>>()?))
}

impl PartitionSelector for Touched {
    fn select(&self, prefixes: &[Vec<PartitionValue>]) -> partwise_commit::Result<Vec<bool>> {
        let within = |prefix: &Vec<PartitionValue>| {
            let from = PartitionKey::new(prefix.clone());
            let first = self.keys.range(from..).next();
            first.is_some_and(|key| key.values().starts_with(prefix))
        };
        Ok(prefixes.iter().map(within).collect())
    }

    fn leading_values(&self) -> Vec<Vec<PartitionValue>> {
        let levels = self.keys.first().map_or(0, |key| key.values().len());
        let level = |at: usize| {
            let values: BTreeSet<PartitionValue> =
                self.keys.iter().filter_map(|key| key.values().get(at).cloned()).collect();
            values.into_iter().collect()
        };
        (0..levels).map(level).collect()
    }
}
