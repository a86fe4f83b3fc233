//! Whether a group may stop passing what stands above the aggregate.

use datafusion::common::Column;
use datafusion::logical_expr::{Aggregate, Expr, Join, JoinType, LogicalPlan};

use super::path::{path, resolve_until};

/// What an expression above the aggregate depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Depends {
    /// The group's own columns: the same as long as there is the group.
    Groups,
    /// A table at rest.
    Others,
    /// The group's values, which change with each batch.
    Values,
}

/// Whether a condition between the aggregate and the root leaves groups out by their values, or by
/// what a join finds by them.
pub(super) fn values(plan: &LogicalPlan, aggregate: &Aggregate) -> bool {
    let is_it = |node: &&LogicalPlan| matches!(node, LogicalPlan::Aggregate(a) if a == aggregate);
    let above: Vec<&LogicalPlan> = path(plan).into_iter().take_while(|node| !is_it(node)).collect();
    let by_values =
        |node: &LogicalPlan, join: &Join| depends(on_of(join), node, aggregate) == Depends::Values;
    let found_by_values = above.iter().any(|node| match node {
        LogicalPlan::Join(join) => by_values(node, join),
        _ => false,
    });
    above.iter().any(|node| match node {
        LogicalPlan::Filter(filter) => {
            match depends(vec![filter.predicate.clone()], &filter.input, aggregate) {
                Depends::Groups => false,
                Depends::Others => found_by_values,
                Depends::Values => true,
            }
        }
        LogicalPlan::Join(join) => drops_rows(join.join_type) && by_values(node, join),
        _ => false,
    })
}

/// Whether a row without a match is left out.
fn drops_rows(join: JoinType) -> bool {
    use JoinType::{Full, Left, LeftMark, Right, RightMark};
    !matches!(join, Full | Left | LeftMark | Right | RightMark)
}

fn on_of(join: &Join) -> Vec<Expr> {
    let sides = join.on.iter().flat_map(|(left, right)| [left.clone(), right.clone()]);
    sides.chain(join.filter.clone()).collect()
}

fn depends(exprs: Vec<Expr>, plan: &LogicalPlan, aggregate: &Aggregate) -> Depends {
    let columns = exprs.iter().flat_map(Expr::column_refs);
    let of = |column: &Column| depends_column(column, plan, aggregate);
    columns.map(of).max().unwrap_or(Depends::Groups)
}

fn depends_column(column: &Column, plan: &LogicalPlan, aggregate: &Aggregate) -> Depends {
    let ends = |node: &LogicalPlan| matches!(node, LogicalPlan::Aggregate(a) if a == aggregate);
    let Some((expr, end)) = resolve_until(Expr::Column(column.clone()), plan, &ends) else {
        return Depends::Values;
    };
    if !ends(end) {
        return Depends::Others;
    }
    let groups = aggregate.group_expr.len();
    let is_group = |column: &&Column| {
        end.schema().maybe_index_of_column(column).is_some_and(|place| place < groups)
    };
    match expr.column_refs().iter().all(is_group) {
        true => Depends::Groups,
        false => Depends::Values,
    }
}
