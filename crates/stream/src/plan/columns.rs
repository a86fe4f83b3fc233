//! What the columns of a query's output are: group columns, what follows from them, values.

use std::collections::BTreeSet;

use datafusion::common::Column;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};

use super::path::resolve_until;

/// What an output column is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnRole {
    /// A group column, by its place among them.
    Group(usize),
    /// Computed from these group columns alone.
    OfGroups(BTreeSet<usize>),
    /// Anything else: it may change while its group stays.
    Value,
}

/// The role of each output column.
pub(super) fn roles(plan: &LogicalPlan, aggregate: Option<&Aggregate>) -> Vec<ColumnRole> {
    let columns = plan.schema().iter();
    let role = |column: Column| aggregate.and_then(|aggregate| role(plan, column, aggregate));
    columns.map(|column| role(column.into()).unwrap_or(ColumnRole::Value)).collect()
}

fn role(plan: &LogicalPlan, column: Column, aggregate: &Aggregate) -> Option<ColumnRole> {
    let ends = |node: &LogicalPlan| matches!(node, LogicalPlan::Aggregate(a) if a == aggregate);
    let (expr, end) = resolve_until(Expr::Column(column), plan, &ends)?;
    if !ends(end) || expr.is_volatile() {
        return None;
    }
    let place = |column: &Column| end.schema().maybe_index_of_column(column);
    if let Expr::Column(column) = &expr {
        return place(column).filter(|i| *i < aggregate.group_expr.len()).map(ColumnRole::Group);
    }
    let places = expr.column_refs().into_iter().map(place).collect::<Option<BTreeSet<_>>>()?;
    let of_groups = places.iter().all(|place| *place < aggregate.group_expr.len());
    of_groups.then_some(ColumnRole::OfGroups(places))
}
