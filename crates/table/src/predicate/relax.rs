//! The strongest condition over known columns that a predicate implies, as far as AND, OR and NOT
//! take us.

use std::sync::Arc;

use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, NotExpr};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::is_volatile;

/// A condition over columns for which `known` holds that is true wherever `expr` is true; none if
/// there is no such condition but "always".
///
/// Sound in three-valued logic: `NOT (a AND b)` is `NOT a OR NOT b` also where one side is NULL.
pub(crate) fn relax(
    expr: &Arc<dyn PhysicalExpr>,
    known: &dyn Fn(&str) -> bool,
) -> Option<Arc<dyn PhysicalExpr>> {
    relax_signed(expr, false, known)
}

fn relax_signed(
    expr: &Arc<dyn PhysicalExpr>,
    negated: bool,
    known: &dyn Fn(&str) -> bool,
) -> Option<Arc<dyn PhysicalExpr>> {
    if let Some(not) = expr.downcast_ref::<NotExpr>() {
        return relax_signed(not.arg(), !negated, known);
    }
    if let Some((op, left, right)) = as_logical(expr) {
        let op = if negated { opposite(op) } else { op };
        let left = relax_signed(left, negated, known);
        let right = relax_signed(right, negated, known);
        return combine(op, left, right);
    }
    if is_volatile(expr) || !collect_columns(expr).iter().all(|column| known(column.name())) {
        return None;
    }
    Some(if negated { Arc::new(NotExpr::new(Arc::clone(expr))) } else { Arc::clone(expr) })
}

/// AND or OR with its two sides.
pub(super) type Logical<'a> = (Operator, &'a Arc<dyn PhysicalExpr>, &'a Arc<dyn PhysicalExpr>);

pub(super) fn as_logical(expr: &Arc<dyn PhysicalExpr>) -> Option<Logical<'_>> {
    let binary = expr.downcast_ref::<BinaryExpr>()?;
    matches!(binary.op(), Operator::And | Operator::Or)
        .then(|| (*binary.op(), binary.left(), binary.right()))
}

fn opposite(op: Operator) -> Operator {
    if op == Operator::And { Operator::Or } else { Operator::And }
}

/// AND keeps whichever side is left; OR needs both.
fn combine(
    op: Operator,
    left: Option<Arc<dyn PhysicalExpr>>,
    right: Option<Arc<dyn PhysicalExpr>>,
) -> Option<Arc<dyn PhysicalExpr>> {
    match (left, right) {
        (Some(left), Some(right)) => Some(Arc::new(BinaryExpr::new(left, op, right))),
        (one, other) if op == Operator::And => one.or(other),
        _ => None,
    }
}
