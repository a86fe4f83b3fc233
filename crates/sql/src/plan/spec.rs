//! `PARTITION (..)`: from its items to typed constants, checked against the table.

use std::collections::BTreeMap;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::execution::context::SessionState;
use datafusion::sql::sqlparser::ast::{Expr as SQLExpr, ExprWithAlias};
use partwise_commit::{Coverage, Operation, PartitionColumn, TableSchema, partition_path};
use partwise_table::config::OverwriteMode;
use partwise_table::partition_value;

use super::assign;
use crate::statement::PartitionItem;
use crate::{Error, Result};

/// What a statement says of the partitions it writes.
#[derive(Debug, Default)]
pub struct PartitionSpec {
    /// Constants by the index of their partition column.
    pub constants: BTreeMap<usize, ScalarValue>,
}

impl PartitionSpec {
    /// Checks a clause against a table's partition columns.
    ///
    /// # Errors
    /// An unknown or repeated column, one left out, a constant behind a dynamic column, a value
    /// that doesn't fit its type or can't be told from NULL, a predicate.
    pub fn new(
        state: &SessionState,
        schema: &TableSchema,
        items: &[PartitionItem],
    ) -> Result<Self> {
        let columns = schema.partition_columns();
        if columns.is_empty() {
            return Err(Error::invalid(
                "the table isn't partitioned: leave the PARTITION clause out",
            ));
        }
        let mut named: BTreeMap<usize, Option<ScalarValue>> = BTreeMap::new();
        for item in items {
            let (index, constant) = match item {
                PartitionItem::Dynamic(name) => (find(columns, &name.value)?, None),
                PartitionItem::Constant(name, value) => {
                    let index = find(columns, &name.value)?;
                    (index, Some(constant(state, &columns[index], value)?))
                }
                PartitionItem::Predicate(predicate) => {
                    return Err(Error::unsupported(format!(
                        "PARTITION ({predicate}): a predicate as the scope is not part of this \
                         version; name one partition with column = constant, or run the statement \
                         once for each"
                    )));
                }
            };
            if named.insert(index, constant).is_some() {
                let name = &columns[index].name;
                return Err(Error::invalid(format!("PARTITION names {name} twice")));
            }
        }
        check_complete(columns, &named)?;
        let constants = named.into_iter().filter_map(|(i, v)| v.map(|v| (i, v))).collect();
        Ok(Self { constants })
    }

    /// The constants as EXPLAIN shows them: column and value.
    pub fn shown(&self, schema: &TableSchema) -> Vec<(String, String)> {
        let columns = schema.partition_columns();
        self.constants.iter().map(|(i, v)| (columns[*i].name.clone(), v.to_string())).collect()
    }

    /// What the statement does to the table, by its mode.
    ///
    /// # Errors
    /// A constant that isn't a value of its column.
    pub fn operation(
        &self,
        schema: &TableSchema,
        overwrite: bool,
        mode: OverwriteMode,
    ) -> Result<Operation> {
        if !overwrite {
            return Ok(Operation::Append);
        }
        let columns = schema.partition_columns();
        let mut matching = Vec::with_capacity(self.constants.len());
        for (index, value) in &self.constants {
            matching.push((*index, partition_value(&columns[*index].ty, value)?));
        }
        let whole = matching.len() == columns.len();
        Ok(Operation::Overwrite(match mode {
            OverwriteMode::Dynamic if !whole => Coverage::Written,
            _ => Coverage::Matching(matching),
        }))
    }
}

fn find(columns: &[PartitionColumn], name: &str) -> Result<usize> {
    let found = columns.iter().position(|c| c.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        Error::invalid(format!(
            "{name} is not a partition column; the table is partitioned by {}",
            names.join(", ")
        ))
    })
}

fn check_complete(
    columns: &[PartitionColumn],
    named: &BTreeMap<usize, Option<ScalarValue>>,
) -> Result<()> {
    let mut dynamic: Option<&str> = None;
    for (index, column) in columns.iter().enumerate() {
        match (named.get(&index), dynamic) {
            (None, _) => {
                return Err(Error::invalid(format!(
                    "PARTITION doesn't name {0}: add {0} (its values come from the query) or \
                     {0} = constant",
                    column.name
                )));
            }
            (Some(Some(_)), Some(before)) => {
                return Err(Error::invalid(format!(
                    "PARTITION gives a constant for {} behind {before}, which comes from the \
                     query: constants go to the leading partition columns",
                    column.name
                )));
            }
            (Some(None), _) => dynamic = Some(&column.name),
            _ => {}
        }
    }
    Ok(())
}

/// Evaluates a constant to its column's type.
fn constant(state: &SessionState, column: &PartitionColumn, sql: &SQLExpr) -> Result<ScalarValue> {
    let wrong = |cause: Error| {
        Error::invalid(format!(
            "{} = {sql} is not a value of type {}: {cause}",
            column.name, column.ty
        ))
    };
    let to = column.ty.to_arrow();
    let value = evaluate(state, sql, &to).map_err(wrong)?;
    let key = vec![partition_value(&column.ty, &value).map_err(|e| wrong(e.into()))?].into();
    partition_path(std::slice::from_ref(column), &key)?;
    Ok(value)
}

fn evaluate(state: &SessionState, sql: &SQLExpr, to: &DataType) -> Result<ScalarValue> {
    let with_alias = ExprWithAlias { expr: sql.clone(), alias: None };
    let expr = state.create_logical_expr_from_sql_expr(with_alias, &DFSchema::empty())?;
    assign::exact(&expr, to)
}
