//! Predicates in `PARTITION (..)`: the partitions that a statement declares it writes.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::sql::sqlparser::ast::{Expr as SQLExpr, Ident, visit_expressions_mut};
use partwise_commit::PartitionColumn;
use partwise_table::scope_schema;

use super::{assign, fold};
use crate::{Error, Result};

/// A predicate over partition columns, planned.
///
/// # Errors
/// Another column, a query in it, operands of different kinds, a constant that can't be evaluated,
/// something that is neither true nor false, or never true.
pub fn condition(
    state: &SessionState,
    columns: &[PartitionColumn],
    predicate: &SQLExpr,
) -> Result<Arc<dyn PhysicalExpr>> {
    decided(state, columns, predicate, &|cause| {
        Error::invalid(format!(
            "PARTITION ({predicate}) can't be a scope: {cause}; a scope is a condition on the \
             partition columns ({})",
            listed(columns)
        ))
    })
}

/// The same of the WHERE of a statement that takes whole partitions.
///
/// # Errors
/// As [`condition`], in other words.
pub fn whole_partitions(
    state: &SessionState,
    columns: &[PartitionColumn],
    statement: &str,
    predicate: &SQLExpr,
) -> Result<Arc<dyn PhysicalExpr>> {
    decided(state, columns, predicate, &|cause| {
        Error::invalid(format!(
            "{statement} takes whole partitions, which {predicate} doesn't tell: {cause}; use a \
             condition on the partition columns ({})",
            listed(columns)
        ))
    })
}

fn listed(columns: &[PartitionColumn]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    names.join(", ")
}

fn decided(
    state: &SessionState,
    columns: &[PartitionColumn],
    predicate: &SQLExpr,
    wrong: &dyn Fn(&str) -> Error,
) -> Result<Arc<dyn PhysicalExpr>> {
    let schema = scope_schema(columns);
    let named = DFSchema::try_from(Arc::clone(&schema))?;
    let folded = fold::planned(state, &spelled(predicate, columns), &named)
        .and_then(|expr| fold::folded(state, expr, &named))
        .map_err(|e| wrong(&e.to_string()))?;
    if is_never_true(&folded) {
        return Err(wrong("it is true for no partition at all"));
    }
    let planned = state.create_physical_expr(folded, &named)?;
    match planned.data_type(&schema)? {
        DataType::Boolean => Ok(planned),
        other => {
            Err(wrong(&format!("it is a {}, neither true nor false", assign::type_name(&other))))
        }
    }
}

/// A condition that contradicts itself, or compares with NULL.
fn is_never_true(folded: &Expr) -> bool {
    match folded {
        Expr::Literal(ScalarValue::Boolean(value), _) => *value != Some(true),
        Expr::Literal(value, _) => value.is_null(),
        _ => false,
    }
}

/// Column names match without case.
fn spelled(predicate: &SQLExpr, columns: &[PartitionColumn]) -> SQLExpr {
    let mut predicate = predicate.clone();
    let _ = visit_expressions_mut(&mut predicate, |expr| {
        if let SQLExpr::Identifier(name) = expr
            && let Some(column) = columns.iter().find(|c| c.name.eq_ignore_ascii_case(&name.value))
        {
            *name = Ident::with_quote('"', &column.name);
        }
        ControlFlow::<()>::Continue(())
    });
    predicate
}
