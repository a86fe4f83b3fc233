//! Which group column is a window over the stream's event time.

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Aggregate, Expr};

use super::time::{in_unit, numbers};
use super::tumble::{TUMBLE, width_of};
use crate::Result;
use crate::plan::{StreamScan, resolve};

/// A group column that is a window over event time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WindowKey {
    /// Its place among the group columns.
    pub column: usize,
    /// From the value to the end of what can still belong to the group, in the time's unit.
    pub width: i64,
}

impl WindowKey {
    /// Which windows the watermark has passed: no row to come is for them, as those older than the
    /// watermark are dropped. None for a column of NULLs alone is ever passed.
    pub fn closed(&self, starts: &ArrayRef, watermark: i64) -> Result<BooleanArray> {
        let starts = numbers(starts)?;
        let closed = |start: i64| start.saturating_add(self.width) <= watermark;
        Ok(starts.iter().map(|start| Some(start.is_some_and(closed))).collect())
    }
}

/// The first group column that is a window over the event time of the scan below.
pub(crate) fn window_key(aggregate: &Aggregate, scan: &StreamScan) -> Option<WindowKey> {
    let time = scan.stream.event_time()?;
    let DataType::Timestamp(unit, zone) = &time.ty else { return None };
    let in_utc = zone.as_deref().is_none_or(|zone| matches!(zone, "UTC" | "+00:00" | "Z"));
    let name = scan.stream.schema_ref().field(time.column).name().clone();
    aggregate.group_expr.iter().enumerate().find_map(|(column, expr)| {
        let (expr, end) = resolve(expr.clone(), &aggregate.input)?;
        let from_scan = scan.is(end);
        let is_time = |expr: &Expr| matches!(bare(expr), Expr::Column(c) if c.name == name);
        // A day of a zone with summer time is no fixed length.
        let is_call =
            |name| matches!(bare(&expr), Expr::ScalarFunction(call) if call.name() == name);
        if !from_scan || (is_call("date_trunc") && !in_utc) {
            return None;
        }
        let width = width(bare(&expr), unit, &is_time)?;
        Some(WindowKey { column, width })
    })
}

/// The width of the window that an expression is; none if it is something else.
fn width(expr: &Expr, unit: &TimeUnit, is_time: &dyn Fn(&Expr) -> bool) -> Option<i64> {
    if is_time(expr) {
        return Some(1);
    }
    let Expr::ScalarFunction(call) = expr else { return None };
    match (call.name(), call.args.as_slice()) {
        (TUMBLE, [time, width]) if is_time(time) => width_of(constant(width)?, unit).ok(),
        ("date_bin", [width, time]) if is_time(time) => width_of(constant(width)?, unit).ok(),
        ("date_trunc", [part, time]) if is_time(time) => {
            let part = constant(part)?.try_as_str()??.to_ascii_lowercase();
            fixed_part(&part).map(|seconds| in_unit(std::time::Duration::from_secs(seconds), unit))
        }
        _ => None,
    }
}

/// Seconds of the parts of a date that have one length.
fn fixed_part(part: &str) -> Option<u64> {
    match part {
        "second" => Some(1),
        "minute" => Some(60),
        "hour" => Some(3_600),
        "day" => Some(86_400),
        "week" => Some(7 * 86_400),
        _ => None,
    }
}

fn constant(expr: &Expr) -> Option<&ScalarValue> {
    if let Expr::Literal(value, _) = bare(expr) { Some(value) } else { None }
}

/// An expression without its aliases.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => bare(&alias.expr),
        other => other,
    }
}
