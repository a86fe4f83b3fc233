//! `at('t', 12)`, `at('t', TIMESTAMP '2024-02-01 06:00:00')`: a table as it was.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result as DFResult, ScalarValue};
use partwise_commit::At;

use super::call;
use crate::{Error, Result, lookup};

/// The function.
#[derive(Debug)]
pub(super) struct AtFunction;

impl TableFunctionImpl for AtFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> DFResult<Arc<dyn TableProvider>> {
        let constants = call::constants("at", args.exprs())?;
        let [name, point] = constants[..] else { return Err(usage().into()) };
        let name = call::text(name).ok_or_else(usage)?;
        let point = point_of(point)?;
        let found = call::table(call::state_of(&args)?, name)?;
        let table = lookup::ours(&name, &found)?;
        let past = call::wait(table.at(point))?.map_err(Error::from)?;
        Ok(Arc::new(past))
    }
}

fn usage() -> Error {
    Error::invalid(
        "at takes the table's name and a version or a time: at('t', 12), \
         at('t', TIMESTAMP '2024-02-01 06:00:00')",
    )
}

/// A number is a version; a timestamp, a date or their text is a time, UTC unless it says another.
pub(crate) fn point_of(value: &ScalarValue) -> Result<At> {
    if value.is_null() {
        return Err(usage());
    }
    if value.data_type().is_integer() {
        return match value.cast_to(&DataType::UInt64) {
            Ok(ScalarValue::UInt64(Some(version))) => Ok(At::Version(version)),
            _ => Err(Error::invalid(format!("{value} is no version: they are counted from 1"))),
        };
    }
    let utc = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    match value.cast_to(&utc).map_err(|_| usage())? {
        ScalarValue::TimestampMillisecond(Some(time_ms), _) => Ok(At::TimeMs(time_ms)),
        _ => Err(usage()),
    }
}
