//! What a filter is good for before it is planned.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};

/// How a scan uses a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterUse {
    /// Over partition columns alone: applied exactly, nobody asks again.
    Partition,
    /// Helps to select partitions, files and row groups; applied above the scan as well.
    Hint,
    /// Not before the query runs: volatile, or with a subquery in it.
    Above,
}

impl From<FilterUse> for TableProviderFilterPushDown {
    fn from(filter_use: FilterUse) -> Self {
        match filter_use {
            FilterUse::Partition => Self::Exact,
            FilterUse::Hint => Self::Inexact,
            FilterUse::Above => Self::Unsupported,
        }
    }
}

/// The use of `filter` in a table with these partition columns.
pub(crate) fn classify(
    filter: &Expr,
    is_partition_column: &dyn Fn(&str) -> bool,
) -> Result<FilterUse> {
    if filter.is_volatile() || needs_run_time(filter)? {
        return Ok(FilterUse::Above);
    }
    let columns = filter.column_refs();
    let partition_only =
        !columns.is_empty() && columns.iter().all(|column| is_partition_column(&column.name));
    Ok(if partition_only { FilterUse::Partition } else { FilterUse::Hint })
}

fn needs_run_time(filter: &Expr) -> Result<bool> {
    let mut found = false;
    filter.apply(|node| {
        found |= match node {
            Expr::ScalarSubquery(_)
            | Expr::InSubquery(_)
            | Expr::Exists(_)
            | Expr::SetComparison(_)
            | Expr::OuterReferenceColumn(..)
            | Expr::Placeholder(_)
            | Expr::Unnest(_)
            | Expr::AggregateFunction(_)
            | Expr::WindowFunction(_) => true,
            Expr::ScalarFunction(call) => call.func.as_async().is_some(),
            _ => false,
        };
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
