//! A condition that is asked of rows alone.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

/// The condition itself, but opaque to whoever looks for what statistics or bloom filters say of
/// it: what isn't known to them may be true anywhere.
#[derive(Debug, Eq)]
pub(super) struct RowsOnly {
    condition: Arc<dyn PhysicalExpr>,
}

impl RowsOnly {
    pub(super) fn new(condition: Arc<dyn PhysicalExpr>) -> Self {
        Self { condition }
    }
}

impl PartialEq for RowsOnly {
    fn eq(&self, other: &Self) -> bool {
        self.condition.eq(&other.condition)
    }
}

impl Hash for RowsOnly {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.condition.hash(state);
    }
}

impl fmt::Display for RowsOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(f)
    }
}

impl PhysicalExpr for RowsOnly {
    fn data_type(&self, input_schema: &Schema) -> Result<DataType> {
        self.condition.data_type(input_schema)
    }

    fn nullable(&self, input_schema: &Schema) -> Result<bool> {
        self.condition.nullable(input_schema)
    }

    fn return_field(&self, input_schema: &Schema) -> Result<FieldRef> {
        self.condition.return_field(input_schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.condition.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.condition]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let Some(condition) = children.pop() else {
            return Err(DataFusionError::Internal("a condition that is gone".to_owned()));
        };
        Ok(Arc::new(Self::new(condition)))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt_sql(f)
    }
}
