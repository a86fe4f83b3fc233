//! A condition over partition columns as the scope that a statement declares.

use std::sync::Arc;

use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use partwise_commit::{Error, PartitionColumn, PartitionSelector};

use super::PartitionPredicate;
use crate::error::external;
use crate::value::partition_schema;

/// The schema that a scope's conditions are planned over: the partition columns, in level order.
pub fn scope_schema(columns: &[PartitionColumn]) -> arrow::datatypes::SchemaRef {
    partition_schema(columns)
}

/// The partitions for which all `conditions` (over [`scope_schema`]) are true.
///
/// # Errors
/// A condition over other columns, or whose answer changes from one time to the next.
pub fn partition_scope(
    columns: &[PartitionColumn],
    conditions: &[Arc<dyn PhysicalExpr>],
) -> Result<Arc<dyn PartitionSelector>> {
    conditions.iter().try_for_each(|condition| check(columns, condition))?;
    Ok(Arc::new(PartitionPredicate::new(columns, conditions)?))
}

fn check(columns: &[PartitionColumn], condition: &Arc<dyn PhysicalExpr>) -> Result<()> {
    if is_volatile(condition) {
        return Err(refused(format!("{condition} answers differently each time it is asked")));
    }
    let known = |name: &str| columns.iter().any(|column| column.name == name);
    match collect_columns(condition).iter().find(|column| !known(column.name())) {
        Some(other) => Err(refused(format!("{} is not a partition column", other.name()))),
        None => Ok(()),
    }
}

fn refused(why: String) -> DataFusionError {
    external(Error::invalid(format!("PARTITION can't decide on partitions: {why}")))
}
