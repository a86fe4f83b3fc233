//! A number for each row of a scan, so that equal rows are told apart.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::array::UInt64Array;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result as DFResult;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// A number that no other row of the same plan has; numbers are dense.
pub fn row_number() -> Expr {
    let signature = Signature::nullary(Volatility::Volatile);
    ScalarUDF::from(RowNumber { next: Arc::default(), signature }).call(vec![])
}

#[derive(Debug)]
struct RowNumber {
    next: Arc<AtomicU64>,
    signature: Signature,
}

impl PartialEq for RowNumber {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.next, &other.next)
    }
}

impl Eq for RowNumber {}

impl Hash for RowNumber {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.next).hash(state);
    }
}

impl ScalarUDFImpl for RowNumber {
    fn name(&self) -> &str {
        "row_number"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DFResult<DataType> {
        Ok(DataType::UInt64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DFResult<ColumnarValue> {
        let rows = args.number_rows as u64;
        let first = self.next.fetch_add(rows, Ordering::Relaxed);
        let numbers = UInt64Array::from_iter_values(first..first + rows);
        Ok(ColumnarValue::Array(Arc::new(numbers)))
    }
}
