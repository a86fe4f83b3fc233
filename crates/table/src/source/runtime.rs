//! Filters whose constants are known only while the query runs: joins, subqueries, TopK.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{FieldRef, Schema};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::utils::{collect_columns, split_conjunction};
use datafusion::physical_expr_adapter::replace_columns_with_literals;
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion_datasource::{PartitionedFile, TableSchema};

use crate::predicate::relax;

/// The conjuncts of a source's filter that may rule out a partition at run time.
#[derive(Debug)]
pub(super) struct RuntimeFilter {
    columns: Vec<FieldRef>,
    conjuncts: Vec<Arc<dyn PhysicalExpr>>,
}

impl RuntimeFilter {
    /// None if nothing in the filter waits for run time and touches a partition column.
    pub(super) fn new(filter: Option<Arc<dyn PhysicalExpr>>, schema: &TableSchema) -> Option<Self> {
        let columns: Vec<FieldRef> = schema.table_partition_cols().iter().cloned().collect();
        let touches_partition = |expr: &Arc<dyn PhysicalExpr>| {
            collect_columns(expr)
                .iter()
                .any(|column| columns.iter().any(|field| field.name() == column.name()))
        };
        let conjuncts: Vec<_> = split_conjunction(&filter?)
            .into_iter()
            .filter(|conjunct| touches_partition(conjunct) && waits_for_run_time(conjunct))
            .cloned()
            .collect();
        (!conjuncts.is_empty()).then_some(Self { columns, conjuncts })
    }

    /// Whether no row of the file can match, by what its partition's values say at this moment.
    /// What can't be decided or evaluated may match.
    pub(super) fn excludes(&self, file: &PartitionedFile) -> bool {
        let values: HashMap<String, ScalarValue> = self
            .columns
            .iter()
            .zip(&file.partition_values)
            .map(|(field, value)| (field.name().clone(), value.clone()))
            .collect();
        self.conjuncts.iter().any(|conjunct| refuted(conjunct, &values).unwrap_or(false))
    }
}

fn waits_for_run_time(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut waits = false;
    // The closure never fails.
    let _ = expr.apply(|node| {
        waits |= node.downcast_ref::<ScalarSubqueryExpr>().is_some()
            || node.downcast_ref::<DynamicFilterPhysicalExpr>().is_some();
        Ok(if waits { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    waits
}

/// Whether the condition is false or NULL for every row of a partition with these values.
fn refuted(expr: &Arc<dyn PhysicalExpr>, values: &HashMap<String, ScalarValue>) -> Result<bool> {
    let current = snapshot_physical_expr(Arc::clone(expr))?;
    let bound = replace_columns_with_literals(current, values)?;
    let row = one_row()?;
    for conjunct in split_conjunction(&bound) {
        let Some(condition) = relax(conjunct, &|_| false) else { continue };
        let Ok(value) = condition.evaluate(&row) else { continue };
        let answer = ScalarValue::try_from_array(&value.into_array(1)?, 0)?;
        if matches!(answer, ScalarValue::Boolean(Some(false) | None) | ScalarValue::Null) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A row without columns, for expressions that have become constant.
fn one_row() -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)?)
}
