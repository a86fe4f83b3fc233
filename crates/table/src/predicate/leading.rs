//! The values that a predicate names for the first partition columns: `k = 77`, `k IN (1, 2)`.

use std::sync::Arc;

use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{Guarantee, LiteralGuarantee};
use partwise_commit::{PartitionColumn, PartitionValue};

use crate::value::value_at;

/// The values that a column has wherever all `conjuncts` are true; none where they don't name them.
pub(super) fn named_values<'a>(
    column: &PartitionColumn,
    conjuncts: impl Iterator<Item = &'a Arc<dyn PhysicalExpr>>,
) -> Option<Vec<PartitionValue>> {
    let guarantees = conjuncts.flat_map(LiteralGuarantee::analyze);
    let of_column = guarantees
        .filter(|found| found.column.name == column.name && found.guarantee == Guarantee::In);
    of_column.filter_map(|found| values(column, &found)).min_by_key(Vec::len)
}

/// The values of a guarantee, sorted; none if one is of another type than the column.
fn values(column: &PartitionColumn, found: &LiteralGuarantee) -> Option<Vec<PartitionValue>> {
    let mut values = Vec::with_capacity(found.literals.len());
    for literal in found.literals.iter().filter(|literal| !literal.is_null()) {
        if literal.data_type() != column.ty.to_arrow() {
            return None;
        }
        values.push(value_at(&column.ty, &literal.to_array().ok()?, 0));
    }
    values.sort_unstable();
    Some(values)
}
