//! `year(d)`, `month(d)` and the like, as Spark and DuckDB have them: DataFusion's `date_part` under
//! their names.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::common::types::{NativeType, logical_date, logical_string};
use datafusion::common::{Result as DFResult, ScalarValue};
use datafusion::functions::datetime::date_part::DatePartFunc;
use datafusion::functions::datetime::expr_fn::date_part;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    Coercion, ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, TypeSignatureClass, Volatility, lit,
};

/// Each function's name and the part it takes.
const PARTS: [(&str, &str); 10] = [
    ("year", "year"),
    ("quarter", "quarter"),
    ("month", "month"),
    ("weekofyear", "week"),
    ("day", "day"),
    ("dayofmonth", "day"),
    ("dayofyear", "doy"),
    ("hour", "hour"),
    ("minute", "minute"),
    ("second", "second"),
];

/// The functions, to be registered.
pub(super) fn all() -> impl Iterator<Item = ScalarUDF> {
    PARTS.into_iter().map(|(name, part)| ScalarUDF::from(DatePart::new(name, part)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DatePart {
    name: &'static str,
    part: &'static str,
    signature: Signature,
}

impl DatePart {
    fn new(name: &'static str, part: &'static str) -> Self {
        let date = Coercion::new_exact(TypeSignatureClass::Native(logical_date()));
        let timestamp = Coercion::new_implicit(
            TypeSignatureClass::Timestamp,
            vec![TypeSignatureClass::Native(logical_string())],
            NativeType::Timestamp(TimeUnit::Microsecond, None),
        );
        let one_of = [timestamp, date].map(|taken| TypeSignature::Coercible(vec![taken]));
        let signature = Signature::one_of(one_of.to_vec(), Volatility::Immutable);
        Self { name, part, signature }
    }
}

impl ScalarUDFImpl for DatePart {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DFResult<DataType> {
        Ok(DataType::Int32)
    }

    /// The optimizer knows `date_part`, and what a comparison with it says of the date.
    fn simplify(&self, mut args: Vec<Expr>, _: &SimplifyContext) -> DFResult<ExprSimplifyResult> {
        match (args.pop(), args.is_empty()) {
            (Some(arg), true) => Ok(ExprSimplifyResult::Simplified(date_part(lit(self.part), arg))),
            (last, _) => {
                args.extend(last);
                Ok(ExprSimplifyResult::Original(args))
            }
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> DFResult<ColumnarValue> {
        args.args.insert(0, ColumnarValue::Scalar(ScalarValue::from(self.part)));
        args.arg_fields.insert(0, Arc::new(Field::new("part", DataType::Utf8, false)));
        DatePartFunc::new().invoke_with_args(args)
    }
}
