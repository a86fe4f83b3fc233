//! `PARTITION (..)`: from its items to typed constants, checked against the table.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::sql::sqlparser::ast::Expr as SQLExpr;
use partwise_commit::{
    Coverage, Operation, PartitionColumn, PartitionSelector, Scope, TableSchema, partition_path,
};
use partwise_table::config::OverwriteMode;
use partwise_table::{partition_scope, partition_value};

use super::scope::condition;
use super::{assign, fold};
use crate::statement::PartitionItem;
use crate::{Error, Result};

/// What a statement says of the partitions it writes.
#[derive(Default)]
pub struct PartitionSpec {
    /// Constants by the index of their partition column.
    pub constants: BTreeMap<usize, ScalarValue>,
    /// The partitions that the statement declares, where it has a predicate.
    pub scope: Option<Scope>,
}

impl PartitionSpec {
    /// Checks a clause against a table's partition columns.
    ///
    /// # Errors
    /// An unknown or repeated column, one left out (unless a predicate says what is written), a
    /// constant behind a dynamic column, a value that doesn't fit its type or can't be told from
    /// NULL, a predicate that doesn't decide on partitions.
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
        let Items { mut named, predicates } = Items::sort(state, columns, items)?;
        if !predicates.is_empty() {
            // The scope says what is written; a column that isn't named comes from the query.
            for index in 0..columns.len() {
                named.entry(index).or_insert(None);
            }
        }
        check_complete(columns, &named)?;
        let constants = named.into_iter().filter_map(|(i, v)| v.map(|v| (i, v))).collect();
        let mut spec = Self { constants, scope: None };
        if !predicates.is_empty() {
            let shown = spec.texts(columns).chain(predicates.iter().map(ToString::to_string));
            let shown = shown.collect::<Vec<_>>().join(" AND ");
            spec.scope = Some(Scope::new(spec.selector(state, columns, &predicates)?, shown));
        }
        Ok(spec)
    }

    /// The partitions that equal the constants.
    ///
    /// # Errors
    /// None that a checked clause can give.
    pub fn named(
        &self,
        state: &SessionState,
        columns: &[PartitionColumn],
    ) -> Result<Arc<dyn PartitionSelector>> {
        self.selector(state, columns, &[])
    }

    fn texts(&self, columns: &[PartitionColumn]) -> impl Iterator<Item = String> {
        self.constants.iter().map(|(index, value)| format!("{} = {value}", columns[*index].name))
    }

    /// The partitions that equal the constants and for which the predicates are true.
    pub(super) fn selector(
        &self,
        state: &SessionState,
        columns: &[PartitionColumn],
        predicates: &[&SQLExpr],
    ) -> Result<Arc<dyn PartitionSelector>> {
        let mut conditions: Vec<Arc<dyn PhysicalExpr>> = Vec::new();
        for (index, value) in &self.constants {
            let column = Arc::new(Column::new(&columns[*index].name, *index));
            let value = Arc::new(Literal::new(value.clone()));
            let equals = BinaryExpr::new(column, Operator::IsNotDistinctFrom, value);
            conditions.push(Arc::new(equals));
        }
        for predicate in predicates {
            conditions.push(condition(state, columns, predicate)?);
        }
        Ok(partition_scope(columns, &conditions)?)
    }

    /// Checks constants that a program gives; any of the partition columns may be left out.
    ///
    /// # Errors
    /// An unknown or repeated column, no column at all, a value that doesn't fit its type or can't
    /// be told from NULL.
    pub fn of_values(schema: &TableSchema, values: &[(String, ScalarValue)]) -> Result<Self> {
        let columns = schema.partition_columns();
        if columns.is_empty() || values.is_empty() {
            return Err(Error::invalid(
                "Overwrite::Partitions names partitions by a value for one partition column or \
                 more: give one, or use Overwrite::Static for all rows of the table",
            ));
        }
        let mut constants = BTreeMap::new();
        for (name, value) in values {
            let index = find(columns, name)?;
            let literal = Expr::Literal(value.clone(), None);
            let exact = assign::exact(&literal, &columns[index].ty.to_arrow());
            let value = checked(&columns[index], value, exact)?;
            if constants.insert(index, value).is_some() {
                return Err(Error::invalid(format!("Overwrite::Partitions names {name} twice")));
            }
        }
        Ok(Self { constants, scope: None })
    }

    /// The constants of columns that a query doesn't have: to be filled in.
    pub fn missing_in(&self, rows: &LogicalPlan, schema: &TableSchema) -> Self {
        let columns = schema.partition_columns();
        let given = |name: &str| {
            rows.schema().fields().iter().any(|field| field.name().eq_ignore_ascii_case(name))
        };
        let missing = self.constants.iter().filter(|(index, _)| !given(&columns[**index].name));
        let constants = missing.map(|(index, value)| (*index, value.clone())).collect();
        Self { constants, scope: None }
    }

    /// The constants as EXPLAIN shows them: column and value.
    pub fn shown(&self, schema: &TableSchema) -> Vec<(String, String)> {
        let columns = schema.partition_columns();
        self.constants.iter().map(|(i, v)| (columns[*i].name.clone(), v.to_string())).collect()
    }

    /// What the statement does to the table, by its mode. A scope says itself what is replaced.
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
        Ok(Operation::Overwrite(match mode {
            OverwriteMode::Dynamic if !self.names_all(columns) => Coverage::Written,
            _ => Coverage::Matching(matching),
        }))
    }

    /// Whether every partition column is a constant.
    pub fn names_all(&self, columns: &[PartitionColumn]) -> bool {
        self.constants.len() == columns.len()
    }
}

pub(super) fn find(columns: &[PartitionColumn], name: &str) -> Result<usize> {
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
                     {0} = constant{1}",
                    column.name,
                    as_scope(columns, named)
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

/// How to say the constants that are there as a scope, which needs no other column named.
fn as_scope(columns: &[PartitionColumn], named: &BTreeMap<usize, Option<ScalarValue>>) -> String {
    let constants =
        named.iter().filter_map(|(i, value)| Some((&columns[*i].name, value.as_ref()?)));
    let lists: Vec<String> =
        constants.map(|(name, value)| format!("{name} IN ({})", literal(value))).collect();
    match lists.is_empty() {
        true => String::new(),
        false => format!(
            "; or declare all that match as the scope of the write, PARTITION ({})",
            lists.join(", ")
        ),
    }
}

fn literal(value: &ScalarValue) -> String {
    match value.data_type() {
        ty if ty.is_string() || ty.is_temporal() => format!("'{value}'"),
        _ => value.to_string(),
    }
}

/// The items of a clause by what they are.
pub(super) struct Items<'a> {
    /// Columns by their index, with the constants of those that have one.
    pub named: BTreeMap<usize, Option<ScalarValue>>,
    /// Conditions.
    pub predicates: Vec<&'a SQLExpr>,
}

impl<'a> Items<'a> {
    /// Sorts the items of a clause.
    ///
    /// # Errors
    /// An unknown or repeated column, a value that doesn't fit its type.
    pub fn sort(
        state: &SessionState,
        columns: &[PartitionColumn],
        items: &'a [PartitionItem],
    ) -> Result<Self> {
        let (mut named, mut predicates) = (BTreeMap::new(), Vec::new());
        for item in items {
            let (name, value) = match item {
                PartitionItem::Dynamic(name) => (name, None),
                PartitionItem::Constant(name, value) => (name, Some(value)),
                PartitionItem::Predicate(predicate) => {
                    predicates.push(predicate);
                    continue;
                }
            };
            let index = find(columns, &name.value)?;
            let value = value.map(|value| constant(state, &columns[index], value)).transpose()?;
            if named.insert(index, value).is_some() {
                let name = &columns[index].name;
                return Err(Error::invalid(format!("PARTITION names {name} twice")));
            }
        }
        Ok(Self { named, predicates })
    }
}

/// Evaluates a constant to its column's type.
pub(super) fn constant(
    state: &SessionState,
    column: &PartitionColumn,
    sql: &SQLExpr,
) -> Result<ScalarValue> {
    checked(column, sql, evaluate(state, sql, &column.ty.to_arrow()))
}

/// A constant that is a value of its column, and that its directory can be told by.
fn checked(
    column: &PartitionColumn,
    given: &dyn Display,
    value: Result<ScalarValue>,
) -> Result<ScalarValue> {
    let wrong = |cause: Error| {
        Error::invalid(format!(
            "{} = {given} is not a value of type {}: {cause}",
            column.name, column.ty
        ))
    };
    let value = value.map_err(wrong)?;
    let key = vec![partition_value(&column.ty, &value).map_err(|e| wrong(e.into()))?].into();
    partition_path(std::slice::from_ref(column), &key)?;
    Ok(value)
}

/// A literal is taken as what it can be exactly; what is computed goes by the rule for a query's
/// columns.
fn evaluate(state: &SessionState, sql: &SQLExpr, to: &DataType) -> Result<ScalarValue> {
    let none = DFSchema::empty();
    let expr = fold::planned(state, sql, &none)?;
    let from = expr.get_type(&none)?;
    if !assign::literal_expr(&expr) && from != *to && !assign::widens(&from, to) {
        let (from, to) = (assign::type_name(&from), assign::type_name(to));
        return Err(Error::invalid(format!("{sql} is computed, and {from}: {}", hint(&from, &to))));
    }
    let given = fold::value(state, &fold::folded(state, expr, &none)?)?;
    assign::exact(&lit(given), to)
}

fn hint(from: &str, to: &str) -> String {
    match from {
        "BIGINT" | "DOUBLE" => "write a text or a date in quotes, '2024-01-15'".to_owned(),
        _ => format!("CAST it AS {to}"),
    }
}
