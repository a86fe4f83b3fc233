//! `now()` in the unit of the tables' timestamps, so that it can be written to one.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The time when the statement began, microseconds, in the session's time zone if it has one: as
/// DataFusion's own, which gives nanoseconds.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Now {
    signature: Signature,
    aliases: Vec<String>,
    zone: Option<Arc<str>>,
}

impl Now {
    /// The function in a session of these options.
    pub fn new(config: &ConfigOptions) -> Self {
        let zone = config.execution.time_zone.as_deref().map(Arc::from);
        let aliases = vec!["current_timestamp".to_owned()];
        Self { signature: Signature::nullary(Volatility::Stable), aliases, zone }
    }
}

impl ScalarUDFImpl for Now {
    fn name(&self) -> &str {
        "now"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        Some(Self::new(config).into())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Timestamp(TimeUnit::Microsecond, self.zone.clone()))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("now() is a constant of the statement's plan")
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let Some(now) = info.query_execution_start_time() else {
            return Ok(ExprSimplifyResult::Original(args));
        };
        let micros = Some(now.timestamp_micros());
        let value = ScalarValue::TimestampMicrosecond(micros, self.zone.clone());
        Ok(ExprSimplifyResult::Simplified(Expr::Literal(value, None)))
    }
}
