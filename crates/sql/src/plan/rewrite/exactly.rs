//! A value as a table's column takes it: what would lose a part of it fails, as in the write.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::Result as DFResult;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use partwise_table::write::RowCast;

/// `expr`, which is of the type `from`, as a value of `field`'s type. NULL may still be refused
/// later.
pub fn exactly(expr: Expr, from: &DataType, field: &FieldRef) -> Expr {
    let signature = Signature::exact(vec![from.clone()], Volatility::Immutable);
    let to = Arc::new(field.as_ref().clone().with_nullable(true));
    ScalarUDF::from(Exactly { to, signature }).call(vec![expr])
}

#[derive(Debug, PartialEq, Eq)]
struct Exactly {
    to: FieldRef,
    signature: Signature,
}

impl Hash for Exactly {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to.hash(state);
    }
}

impl ScalarUDFImpl for Exactly {
    fn name(&self) -> &str {
        "exactly"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DFResult<DataType> {
        Ok(self.to.data_type().clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DFResult<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let fields =
            arrays.iter().map(|array| Field::new(self.to.name(), array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let rows = RecordBatch::try_new(schema, arrays)?;
        let to = Arc::new(Schema::new(vec![Arc::clone(&self.to)]));
        let cast = RowCast::new(&rows.schema(), to).and_then(|cast| cast.apply(&rows));
        let cast = cast.map_err(|error| DataFusionError::External(Box::new(error)))?;
        let scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let column = Arc::clone(cast.column(0));
        Ok(match scalar && !column.is_empty() {
            true => {
                ColumnarValue::Scalar(datafusion::common::ScalarValue::try_from_array(&column, 0)?)
            }
            false => ColumnarValue::Array(column),
        })
    }
}
