//! Timestamps of a finer unit read as the table's, as long as no digit is lost.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::compute::cast;
use arrow::compute::kernels::cmp::not_distinct;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use super::Unfit;

/// Whether a file's timestamps may be read as the table's coarser ones, value by value: writers
/// that know nanoseconds only (pandas) mostly hold whole microseconds.
pub(crate) fn coarsens(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Timestamp(_, zone), DataType::Timestamp(_, other)) => {
            zone.is_some() == other.is_some()
        }
        _ => false,
    }
}

/// A timestamp column cast to a coarser unit; a value that would lose digits is an error.
#[derive(Debug, Eq)]
pub(crate) struct WholeUnits {
    arg: Arc<dyn PhysicalExpr>,
    column: String,
    target: FieldRef,
}

impl WholeUnits {
    pub(crate) fn new(arg: Arc<dyn PhysicalExpr>, column: &str, target: FieldRef) -> Self {
        Self { arg, column: column.to_owned(), target }
    }
}

impl PartialEq for WholeUnits {
    fn eq(&self, other: &Self) -> bool {
        self.arg.eq(&other.arg) && self.target == other.target
    }
}

impl Hash for WholeUnits {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.arg.hash(state);
        self.target.hash(state);
    }
}

impl fmt::Display for WholeUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CAST({} AS {})", self.arg, self.target.data_type())
    }
}

impl PhysicalExpr for WholeUnits {
    fn data_type(&self, _input_schema: &Schema) -> Result<DataType> {
        Ok(self.target.data_type().clone())
    }

    fn nullable(&self, input_schema: &Schema) -> Result<bool> {
        self.arg.nullable(input_schema)
    }

    fn return_field(&self, _input_schema: &Schema) -> Result<FieldRef> {
        Ok(Arc::clone(&self.target))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let fine = self.arg.evaluate(batch)?.into_array(batch.num_rows())?;
        let coarse = cast(&fine, self.target.data_type())?;
        let back = cast(&coarse, fine.data_type())?;
        let same = not_distinct(&fine, &back)?;
        if let Some(row) = same.iter().position(|same| same == Some(false)) {
            return Err(self.lost(&fine, row)?);
        }
        Ok(ColumnarValue::Array(coarse))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.arg]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let Some(arg) = children.pop() else {
            return Err(DataFusionError::Internal("a cast without its argument".to_owned()));
        };
        Ok(Arc::new(Self::new(arg, &self.column, Arc::clone(&self.target))))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl WholeUnits {
    fn lost(&self, fine: &dyn Array, row: usize) -> Result<DataFusionError> {
        let value = arrow::util::display::array_value_to_string(fine, row)?;
        Ok(DataFusionError::External(Box::new(Unfit::Value {
            column: self.column.clone(),
            value,
            table: self.target.data_type().clone(),
            file: fine.data_type().clone(),
        })))
    }
}
