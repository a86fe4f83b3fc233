//! Predicates in `PARTITION (..)`: the partitions that a statement declares it writes.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ToDFSchema};
use datafusion::execution::context::SessionState;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::sql::sqlparser::ast::{
    Expr as SQLExpr, ExprWithAlias, Ident, visit_expressions_mut,
};
use partwise_commit::PartitionColumn;
use partwise_table::scope_schema;

use crate::{Error, Result};

/// A predicate over partition columns, planned.
///
/// # Errors
/// Another column, a subquery, something that is neither true nor false.
pub fn condition(
    state: &SessionState,
    columns: &[PartitionColumn],
    predicate: &SQLExpr,
) -> Result<Arc<dyn PhysicalExpr>> {
    let wrong = |cause: &str| {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        Error::invalid(format!(
            "PARTITION ({predicate}) can't be a scope: {cause}; a scope is a condition on the \
             partition columns ({})",
            names.join(", ")
        ))
    };
    let schema = scope_schema(columns);
    let named = DFSchema::try_from(Arc::clone(&schema))?;
    let expr = ExprWithAlias { expr: spelled(predicate, columns), alias: None };
    let planned = state
        .create_logical_expr_from_sql_expr(expr, &named)
        .and_then(|expr| state.create_physical_expr(expr, &Arc::clone(&schema).to_dfschema()?))
        .map_err(|e| wrong(&Error::from(e).to_string()))?;
    match planned.data_type(&schema)? {
        DataType::Boolean | DataType::Null => Ok(planned),
        other => Err(wrong(&format!("it is of type {other}, neither true nor false"))),
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
